import Foundation
import Primitives
import Testing

@Suite struct JSONNumberTests {
    private func number(_ text: String) throws -> JSONNumber { try #require(JSONNumber(text: text)) }

    @Test(arguments: [
        "", " 1", "1 ", "1\n", "\t1", "1,2", "[1]", "true", "null", "\"1\"", "+1", "1.", "01", "NaN", "١", "1 2", "-",
    ])
    func `text that is not exactly a number is refused`(text: String) {
        #expect(JSONNumber(text: text) == nil)
    }

    @Test(arguments: ["0", "-0", "1e3", "1.50", "-12.5E-7", "123456789012345678901234567890"])
    func `a number keeps its text`(text: String) throws {
        #expect(try number(text).text == text)
        #expect(JSONValue.number(try number(text)).text() == text)
    }

    @Test(arguments: [
        ("1", "1.0"), ("1", "1e0"), ("10", "1e1"), ("100", "0.1e3"), ("0", "-0"), ("0", "0.000e999"), ("0.1", "1e-1"),
        ("1.50", "15e-1"), ("-2.5", "-25E-1"), ("9007199254740993", "9007199254740993.0"),
        ("123456789012345678901234567890", "1.2345678901234567890123456789e29"), ("1e400", "10e399"),
        ("1e99999999999999999999", "1e+099999999999999999999"),
    ])
    func `two spellings of one number are equal and have the same hash`(one: String, other: String) throws {
        #expect(try number(one) == number(other))
        #expect(try number(one).hashValue == number(other).hashValue)
        #expect(try Set([number(one), number(other)]).count == 1)
    }

    /// Each pair has one `Double`, or two infinite ones.
    @Test(arguments: [
        ("9007199254740993", "9007199254740992.0"), ("9007199254740993", "9007199254740992"),
        ("12345678901234567890", "12345678901234567891"), ("0.1", "0.10000000000000000000001"), ("1e400", "2e400"),
        ("1e-400", "0"), ("1", "1.00000000000000000000000001"), ("1e400", "-1e400"),
        ("1e99999999999999999999", "1e99999999999999999998"), ("1", "-1"), ("1", "10"), ("1e1", "1e2"),
    ])
    func `two numbers are different however close they are`(one: String, other: String) throws {
        #expect(try number(one) != number(other))
    }

    @Test(arguments: [
        (0.0, "0"), (-0.0, "0"), (1.0, "1"), (-1.5, "-1.5"), (0.1, "0.1"), (1e14, "100000000000000"),
        (1e15, "1000000000000000.0"), (1e16, "1e+16"),
        (1e300, "1e+300"), (.leastNonzeroMagnitude, "5e-324"), (.infinity, "0"), (-.infinity, "0"), (.nan, "0"),
    ])
    func `a Double is written as a JSON number, and one that is not finite as 0`(value: Double, text: String) throws {
        #expect(JSONNumber(value).text == text)
        #expect(try JSONValue(parsing: JSONNumber(value).text).doubleValue == (value.isFinite ? value : 0))
    }

    @Test func `the largest integers are written and read exactly`() throws {
        #expect(JSONNumber(Int64.min).text == "-9223372036854775808")
        #expect(JSONNumber(UInt64.max).text == "18446744073709551615")
        #expect(JSONNumber(Int64.min).int == .min)
        #expect(JSONNumber(UInt64.max).int == nil)
        #expect(JSONNumber(UInt64.max).decimal == Decimal(UInt64.max))
    }

    @Test func `a decimal keeps the digits that a Double loses`() throws {
        #expect(try number("0.1").decimal == Decimal(1) / 10)
        #expect(try number("4.99").decimal == Decimal(string: "4.99"))
        #expect(try number("12345678901234567890.12").decimal == Decimal(string: "12345678901234567890.12"))
    }
}

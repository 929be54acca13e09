import Foundation
import Primitives
import Testing

@Suite struct RFC3339Tests {
    @Test(arguments: [
        (0.0, "1970-01-01T00:00:00Z"), (1_763_649_600, "2025-11-20T14:40:00Z"), (-1, "1969-12-31T23:59:59Z"),
        (951_782_400, "2000-02-29T00:00:00Z"), (0.25, "1970-01-01T00:00:00.250Z"),
        (-62_167_219_200, "0000-01-01T00:00:00Z"), (253_402_300_799.5, "9999-12-31T23:59:59.500Z"),
    ])
    func `a date is written and read back`(seconds: Double, text: String) {
        #expect(RFC3339.string(from: Date(timeIntervalSince1970: seconds)) == text)
        #expect(RFC3339.date(from: text) == Date(timeIntervalSince1970: seconds))
    }

    @Test func `offsets are subtracted`() {
        #expect(RFC3339.date(from: "2026-01-01T02:00:00+02:00") == RFC3339.date(from: "2026-01-01T00:00:00Z"))
        #expect(RFC3339.date(from: "2025-12-31T22:30:00-01:30") == RFC3339.date(from: "2026-01-01T00:00:00Z"))
    }

    @Test(arguments: [
        (1e300, "9999-12-31T23:59:59.999Z"), (.infinity, "9999-12-31T23:59:59.999Z"),
        (253_402_300_800, "9999-12-31T23:59:59.999Z"), (-1e300, "0000-01-01T00:00:00Z"), (.nan, "0000-01-01T00:00:00Z"),
    ])
    func `an instant that RFC 3339 cannot express is written as the nearest one that it can`(
        seconds: Double, text: String
    ) {
        #expect(RFC3339.string(from: Date(timeIntervalSince1970: seconds)) == text)
    }

    @Test(arguments: [
        "", "2026-02-30T00:00:00Z", "2026-01-01", "2026-01-01T00:00:00", "2026-01-01T25:00:00Z", "x",
        "9999-12-31T23:59:59-00:01", "9999-12-31T23:59:59.9996Z", "0000-01-01T00:00:00+00:01",
    ])
    func `text that is not a date is refused`(text: String) {
        #expect(RFC3339.date(from: text) == nil)
    }
}

@Suite struct DigestTests {
    @Test func `SHA-256 gives the values of FIPS 180-4`() {
        #expect(
            Hex.encode(SHA256.hash("abc".utf8)) == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad")
        #expect(
            Hex.encode(SHA256.hash([UInt8](repeating: 0x61, count: 1_000_000)))
                == "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0")
    }

    @Test func `a message in parts has the same digest as the whole`() {
        let bytes = (0..<1000).map { UInt8(truncatingIfNeeded: $0) }
        var digest = SHA256()
        for start in stride(from: 0, to: 1000, by: 77) { digest.update(bytes[start..<min(start + 77, 1000)]) }
        #expect(digest.finalize() == SHA256.hash(bytes))
    }
}

@Suite struct Base64Tests {
    @Test(arguments: 0..<20)
    func `bytes are decoded as they were encoded, in both alphabets`(count: Int) {
        let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 73 &+ 250) }
        #expect(Base64.decodeURL(Base64.encodeURL(bytes)) == bytes)
        #expect(Base64.decode(Base64.encode(bytes)) == bytes)
        #expect(Base64.encode(bytes) == Data(bytes).base64EncodedString())
    }

    @Test(arguments: ["A", "AB==", "AAB", "A A", "A+A_"])
    func `base64url that is not canonical is refused`(text: String) {
        #expect(Base64.decodeURL(text) == nil)
    }

    @Test(arguments: ["A", "AA", "AB==", "A===", "AAA", "AA=A", "-_AA"])
    func `base64 that is not canonical is refused`(text: String) {
        #expect(Base64.decode(text) == nil)
    }
}

@Suite struct JSONTests {
    @Test func `the order of members and the text of numbers are kept`() throws {
        let text = #"{"b":1.50,"a":[1e3,-0,true,null,"\u00e9\n"],"c":{}}"#
        let value = try JSONValue(parsing: text)
        #expect(value.text() == #"{"b":1.50,"a":[1e3,-0,true,null,"é\n"],"c":{}}"#)
        #expect(value["a"]?[0]?.intValue == 1000)
    }

    @Test func `a whole number is read exactly from its digits`() {
        let cases: [(String, Int?)] = [
            ("0", 0), ("-0", 0), ("0.0e99", 0), ("1.50e2", 150), ("-12e0", -12), ("120E-1", 12), ("0.012e+3", 12),
            ("9007199254740993.0", 9_007_199_254_740_993), ("9223372036854775807", .max),
            ("922337203685477580.7e1", .max),
            ("-9223372036854775808", .min), ("9223372036854775808", nil), ("-9223372036854775809", nil),
            ("1e18", 1_000_000_000_000_000_000), ("1e19", nil), ("1e-400000000", nil), ("1e99999999999999999999", nil),
            ("1e-9223372036854775808", nil), ("0.5", nil), ("1.000000000000000000001", nil), ("125e-2", nil),
            (String(repeating: "9", count: 5000), nil), ("1" + String(repeating: "0", count: 5000) + "e-5000", 1),
        ]
        for (text, value) in cases { #expect((try? JSONValue(parsing: text))?.intValue == value, "\(text.prefix(40))") }
    }

    @Test(arguments: [
        (#"{"a":1,"a":2}"#, "twice"), ("[1,]", "begin"), ("01", "after the end"), ("[", "ends"),
        (#""\ud800""#, "surrogate"),
        ("\"\u{1}\"", "control"), ("1 2", "after the end"), ("{\"a\" 1}", "colon"), ("nul", "begin"), ("-", "digit"),
    ])
    func `an error has a reason`(text: String, reason: String) {
        let error = #expect(throws: JSONError.self) { try JSONValue(parsing: text) }
        #expect(error?.reason.contains(reason) == true)
    }

    @Test func `an error has a position`() {
        #expect(throws: JSONError(reason: "a value cannot begin here", line: 2, column: 3)) {
            try JSONValue(parsing: "[\n  ?]")
        }
    }

    @Test func `the depth of nesting is limited`() {
        let deep = String(repeating: "[", count: 200) + String(repeating: "]", count: 200)
        #expect(throws: JSONError.self) { try JSONValue(parsing: deep) }
        #expect(throws: Never.self) { try JSONValue(parsing: deep, depth: 200) }
    }

    @Test func `equality ignores the order of members and the spelling of numbers`() throws {
        #expect(try JSONValue(parsing: #"{"a":1.0,"b":2}"#) == ["b": 2, "a": 1])
    }

    @Test func `Codable gives the same document as the parser`() throws {
        let text = #"{"a":[1,2.5,"x",true,null],"b":{"c":"d"}}"#
        let decoded = try JSONDecoder().decode(JSONValue.self, from: Data(text.utf8))
        #expect(try decoded == JSONValue(parsing: text))
        #expect(try JSONValue(encoding: decoded) == decoded)
    }

    @Test func `pretty text is the same document`() throws {
        let value: JSONValue = ["b": [1, 2], "a": [:], "c": ["d": nil]]
        #expect(try JSONValue(parsing: value.text(pretty: true)) == value)
        #expect(value.text(sortedKeys: true) == #"{"a":{},"b":[1,2],"c":{"d":null}}"#)
    }
}

import Foundation
import Primitives
import Testing

@Suite struct JSONParserTests {
    private func parse(_ text: String) throws -> JSONValue { try JSONValue(parsing: text) }

    @Test(arguments: ["true", " true", "true\n", "\t\r\n true \t\r\n"])
    func `white space of JSON is allowed around a value`(text: String) throws {
        #expect(try parse(text) == true)
    }

    @Test(arguments: ["\u{A0}1", "\u{B}1", "\u{C}1", "1\u{2028}", "\u{FEFF}1", "\0 1", "1\0"])
    func `other space, a byte order mark and NUL are no white space`(text: String) {
        #expect(throws: JSONError.self) { try parse(text) }
    }

    @Test(arguments: [
        "", " ", "True", "tru", "truee", "nul", "nulls", "undefined", "NaN", "-Infinity", "'a'", "// x\n1", "/* */1",
        "{a:1}", "{\"a\":1,}", "{,}", "{\"a\"}", "{\"a\":}", "{\"a\":1 \"b\":2}", "{1:2}", "[1 2]", "[,1]", "[", "{",
        "]", "}", "[}", "{]", "[1]]", "[1],",
    ])
    func `text that is not JSON is refused`(text: String) {
        #expect(throws: JSONError.self) { try parse(text) }
    }

    // MARK: - Numbers

    @Test(arguments: [
        "0", "-0", "0.0", "-0.0", "10", "1.5", "1e5", "1E5", "1e+5", "1e-5", "0e0", "1.25e-07", "-1.0E+00",
    ])
    func `a number keeps its spelling`(text: String) throws {
        #expect(try parse(text).text() == text)
    }

    @Test(arguments: [
        "+1", ".5", "1.", "-", "--1", "-.5", "01", "-01", "00", "1e", "1e+", "1e-", "1.e1", "1.5.5", "1e1.5", "0x10",
        "1_000", "1,5", "1 000", "١",
    ])
    func `a number that JSON does not allow is refused`(text: String) {
        #expect(throws: JSONError.self) { try parse(text) }
    }

    // MARK: - Strings

    @Test(arguments: [
        (#""\"\\\/\b\f\n\r\t""#, "\"\\/\u{8}\u{C}\n\r\t"), (#""\u0041\u00e9\u65e5""#, "Aé日"),
        (#""\u0000""#, "\0"), (#""\ud83d\ude00""#, "😀"), (#""\uD834\uDD1E""#, "𝄞"), (#""\uFFFF""#, "\u{FFFF}"),
        ("\"\u{7F}\u{80}\u{2028}\"", "\u{7F}\u{80}\u{2028}"), (#""/""#, "/"), (#""""#, ""),
    ])
    func `the escapes of a string are decoded`(text: String, value: String) throws {
        let read = try #require(try parse(text).stringValue)
        #expect(Array(read.unicodeScalars) == Array(value.unicodeScalars))
    }

    @Test(arguments: [
        #""\x41""#, #""\'""#, #""\U0041""#, #""\u""#, #""\u00""#, #""\u00g0""#, #""\u 041""#, #""\u+041""#, #""\"#,
        #""\ud800""#, #""\udc00""#, #""\ud800\n""#, #""\ud800\ud800""#, #""\ud800\u0041""#, #""\udc00\ud800""#,
        #""\ud83d\"#, #""\ud83d\ude0""#, #""abc"#, "\"",
    ])
    func `an escape that does not exist and half a surrogate pair are refused`(text: String) {
        #expect(throws: JSONError.self) { try parse(text) }
    }

    @Test(arguments: UInt8(0)..<0x20) func `a control character must be escaped`(byte: UInt8) throws {
        #expect(throws: JSONError.self) { try JSONValue(parsing: [0x22, byte, 0x22]) }
        // After an escape, strings are parsed by other code.
        #expect(throws: JSONError.self) { try JSONValue(parsing: Array(#""\n"#.utf8) + [byte, 0x22]) }
        let escaped = "\"\\u00" + Hex.encode([byte]) + "\""
        #expect(try JSONValue(parsing: escaped).stringValue?.utf8.elementsEqual([byte]) == true)
    }

    @Test(
        arguments: [
            [0xC0, 0x80], [0xC1, 0xBF], [0xE0, 0x80, 0x80], [0xED, 0xA0, 0x80], [0xF0, 0x80, 0x80, 0x80],
            [0xF4, 0x90, 0x80, 0x80], [0xF5, 0x80, 0x80, 0x80], [0x80], [0xBF], [0xC3], [0xE6, 0x97], [0xFF],
        ] as [[UInt8]])
    func `bytes that are not UTF-8 are refused, in values and in names, with and without escapes`(bytes: [UInt8]) {
        for before in ["", #"\n"#] {
            let text = [0x22] + Array(before.utf8) + bytes + [0x22]
            #expect(throws: JSONError.self) { try JSONValue(parsing: text) }
            #expect(throws: JSONError.self) { try JSONValue(parsing: Array("{".utf8) + text + Array(":1}".utf8)) }
        }
    }

    // MARK: - Limits

    @Test(arguments: [0, 1, 2, 7, 128])
    func `nesting is allowed up to the depth, and counts arrays and objects alike`(depth: Int) throws {
        func nested(_ count: Int) -> String {
            let opening = (0..<count).map { $0.isMultiple(of: 2) ? "[" : #"{"a":"# }
            let closing = (0..<count).reversed().map { $0.isMultiple(of: 2) ? "]" : "}" }
            return opening.joined() + "1" + closing.joined()
        }
        #expect(throws: Never.self) { try JSONValue(parsing: nested(depth), depth: depth) }
        #expect {
            try JSONValue(parsing: nested(depth + 1), depth: depth)
        } throws: {
            ($0 as? JSONError)?.reason.contains("nest too deep") == true
        }
    }

    @Test func `siblings do not add to the depth`() throws {
        let wide = "[" + Array(repeating: "[{}]", count: 1000).joined(separator: ",") + "]"
        #expect(try JSONValue(parsing: wide, depth: 3).arrayValue?.count == 1000)
    }

    @Test func `ten thousand opening brackets are refused, and do not exhaust the stack`() {
        #expect(throws: JSONError.self) { try parse(String(repeating: "[", count: 10_000)) }
    }

    @Test(arguments: [#"{"a":1,"a":1}"#, #"{"a":1,"\u0061":2}"#, #"[{"b":{"a":1,"b":2,"a":3}}]"#, #"{"":1,"":2}"#])
    func `a name that appears twice in an object is refused, in any spelling`(text: String) {
        #expect {
            try parse(text)
        } throws: {
            ($0 as? JSONError)?.reason.contains("twice") == true
        }
    }

    @Test func `the same name may appear in different objects, and names have a case`() throws {
        #expect(try parse(#"{"a":{"a":1},"A":[{"a":2}]}"#)["a"]?["a"] == 1)
    }

    // MARK: - Places

    @Test(arguments: [
        ("", 1, 1), ("\n\n  x", 3, 3), ("{\"a\":\n \"b\",\n  c}", 3, 3), ("[1,\r\n2,]", 2, 3), ("[\"é\" x]", 1, 7),
        ("12a", 1, 3), ("[1]\n[2]", 2, 1),
    ])
    func `an error has a line and a column in bytes`(text: String, line: Int, column: Int) {
        let error = #expect(throws: JSONError.self) { try parse(text) }
        #expect(error?.line == line && error?.column == column, "\(String(describing: error))")
    }

    // MARK: - Another reader

    /// Both texts are read by Foundation.
    @Test(arguments: [
        #"{"a":[1,2.5,-3e2,true,false,null,"x\ty"],"b":{"c":{}},"d":[]}"#, #"["\u00e9\ud83d\ude00","é😀"]"#,
        #"{"deep":[[[[{"a":[0]}]]]]}"#,
    ])
    func `Foundation reads the same values from a document and from its rewritten text`(text: String) throws {
        let theirs = try JSONSerialization.jsonObject(with: Data(text.utf8)) as? NSObject
        let ours = try JSONSerialization.jsonObject(with: Data(parse(text).encoded())) as? NSObject
        #expect(theirs != nil && ours == theirs)
    }

    @Test func `the length of a name has a limit if it is not ASCII`() throws {
        let marks = String(repeating: "\u{301}\u{316}", count: 200_000)
        #expect(throws: JSONError.self) { try JSONValue(parsing: "{\"a\(marks)\":1}") }
        let longest = String(repeating: "\u{E9}", count: JSONValue.longestName / 2)
        #expect(try JSONValue(parsing: "{\"\(longest)\":1}").objectValue?.count == 1)
        #expect(throws: JSONError.self) { try JSONValue(parsing: "{\"\(longest)a\":1}") }
        let plain = String(repeating: "a", count: 100_000)
        #expect(try JSONValue(parsing: "{\"\(plain)\":1,\"\(plain)b\":2}").objectValue?.count == 2)
        #expect(["name": 1][exactly: marks] == nil)
    }
}

import Foundation
import Primitives
import Testing

@Suite struct JSONWriterTests {
    @Test func `only quotes, backslashes and control characters are escaped`() throws {
        #expect(JSONValue.string("\"\\/").text() == #""\"\\/""#)
        #expect(JSONValue.string("\n\r\t\u{8}\u{C}\0\u{1F}").text() == #""\n\r\t\b\f\u0000\u001f""#)
        #expect(JSONValue.string("\u{7F}é日😀\u{2028}").text() == "\"\u{7F}é日😀\u{2028}\"")
        #expect(JSONValue.object(["a\"\n": 1]).text() == #"{"a\"\n":1}"#)
    }

    @Test func `each character up to U+2FFF is read as it was written, here and by Foundation`() throws {
        for start in stride(from: UInt32(0), to: 0x3000, by: 64) {
            let scalars = (start..<start + 64).compactMap(Unicode.Scalar.init)
            let text = String(String.UnicodeScalarView(scalars))
            let bytes = JSONValue.string(text).encoded()
            #expect(try JSONValue(parsing: bytes).stringValue?.unicodeScalars.elementsEqual(scalars) == true)
            let theirs = try JSONSerialization.jsonObject(with: Data(bytes), options: .fragmentsAllowed) as? String
            #expect(theirs?.unicodeScalars.elementsEqual(scalars) == true, "from U+\(String(start, radix: 16))")
        }
    }

    @Test func `pretty text has a line for each member, and empty containers are on one line`() {
        let value: JSONValue = ["b": [1, [], [:]], "a": ["c": nil]]
        let text = """
            {
              "b": [
                1,
                [],
                {}
              ],
              "a": {
                "c": null
              }
            }
            """
        #expect(value.text(pretty: true) == text)
        #expect(value.text() == #"{"b":[1,[],{}],"a":{"c":null}}"#)
        #expect(value.text(sortedKeys: true) == #"{"a":{"c":null},"b":[1,[],{}]}"#)
        #expect(JSONValue.array([]).text(pretty: true) == "[]")
    }
}

@Suite struct JSONMembersTests {
    @Test func `members stay in the order in which they came first`() {
        var members = JSONMembers([("b", 1), ("a", 2), ("b", 3)])
        #expect(members.keys == ["b", "a"])
        #expect(members["b"] == 3)
        members["c"] = 4
        members["b"] = nil
        members["absent"] = nil
        #expect(members.keys == ["a", "c"] && members.values == [2, 4])
        members["b"] = 5
        #expect(members.keys == ["a", "c", "b"])
        #expect(members.map(\.key) == members.keys && members[2].value == 5)
    }

    @Test func `a dictionary becomes members in the order of their names`() {
        #expect(JSONMembers(["b": 1, "a": 2, "c": 3] as JSONObject).keys == ["a", "b", "c"])
    }

    @Test func `objects are equal in any order, and differ by an additional member or another value`() {
        let one: JSONMembers = ["a": 1, "b": [1, 2]]
        #expect(one == ["b": [1, 2], "a": 1.0])
        #expect(one.hashValue == (["b": [1, 2], "a": 1.0] as JSONMembers).hashValue)
        #expect(one != ["a": 1] && one != ["a": 1, "b": [2, 1]] && one != ["a": 1, "b": [1, 2], "c": nil])
    }
}

@Suite struct JSONValueTests {
    @Test func `a value is read as its own kind only`() {
        let values: [JSONValue] = [nil, true, 1, 0.5, "1", [1], ["a": 1]]
        #expect(values.map(\.isNull) == [true, false, false, false, false, false, false])
        #expect(values.map(\.boolValue) == [nil, true, nil, nil, nil, nil, nil])
        #expect(values.map(\.intValue) == [nil, nil, 1, nil, nil, nil, nil])
        #expect(values.map(\.doubleValue) == [nil, nil, 1, 0.5, nil, nil, nil])
        #expect(values.map(\.stringValue) == [nil, nil, nil, nil, "1", nil, nil])
        #expect(values.map(\.arrayValue) == [nil, nil, nil, nil, nil, [1], nil])
        #expect(values.map(\.objectValue) == [nil, nil, nil, nil, nil, nil, ["a": 1]])
        for value in values.dropLast() { #expect(value["a"] == nil) }
        for value in values where value.arrayValue == nil { #expect(value[0] == nil) }
    }

    @Test func `an index outside an array has no element`() {
        let list: JSONValue = [1, 2]
        #expect(list[0] == 1 && list[1] == 2)
        #expect(list[2] == nil && list[-1] == nil && list[.max] == nil)
    }

    @Test func `setting a member of a value that is not an object makes it one`() {
        var value: JSONValue = "text"
        value["a"] = 1
        #expect(value == ["a": 1])
        value["a"] = nil
        #expect(value == [:])
        var untouched: JSONValue = nil
        untouched["a"] = nil
        #expect(untouched == [:])
    }

    @Test func `the error for a value that does not fit its type contains the path`() throws {
        struct Order: Codable, Equatable { var items: [Item] }
        struct Item: Codable, Equatable { var count: Int }
        let good: JSONValue = ["items": [["count": 1]]]
        #expect(try good.decode(Order.self) == Order(items: [Item(count: 1)]))
        #expect(try JSONValue(encoding: Order(items: [Item(count: 1)])) == good)
        let bad: JSONValue = ["items": [["count": 1], ["count": "two"]]]
        #expect {
            try bad.decode(Order.self)
        } throws: { error in
            guard case DecodingError.typeMismatch(_, let context)? = error as? DecodingError else { return false }
            return context.codingPath.map { $0.intValue.map(String.init) ?? $0.stringValue } == ["items", "1", "count"]
        }
    }
}

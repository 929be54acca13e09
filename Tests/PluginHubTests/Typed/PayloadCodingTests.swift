import Foundation
import Primitives
import Testing

@testable import PluginHub

/// The JSON coder with the rules of payloads.
@Suite struct PayloadCodingTests {
    private enum Shape: Codable, Equatable {
        case circle(radius: Double)
        case none
    }

    private class Base: Codable {
        var base = 1
        init() {}
    }

    private final class Derived: Base {
        var own = "a"

        private enum CodingKeys: String, CodingKey { case own }
        override init() { super.init() }
        required init(from decoder: any Decoder) throws {
            let container = try decoder.container(keyedBy: CodingKeys.self)
            own = try container.decode(String.self, forKey: .own)
            try super.init(from: container.superDecoder())
        }
        override func encode(to encoder: any Encoder) throws {
            var container = encoder.container(keyedBy: CodingKeys.self)
            try container.encode(own, forKey: .own)
            try super.encode(to: container.superEncoder())
        }
    }

    private struct Everything: Codable, Equatable {
        var int = -5
        var small: UInt8 = 255
        var big = UInt64.max
        var double = 0.1
        var float: Float = 0.1
        var whole = 3.0
        var tiny = 1e-300
        var bool = true
        var text = "ä\u{0}\"\n😀"
        var absent: Int?
        var list = [[1], [], [2, 3]]
        var optionals: [Int?] = [1, nil]
        var names = ["a": 1, "b": 2]
        var numbers = [1: "a"]
        var decimal = Decimal(string: "4.990000000000000001")!
        var url = URL(string: "https://example.org/a?b=c")!
        var data = Data([0, 1, 255])
        var shapes: [Shape] = [.circle(radius: 2), .none]
        var value: JSONValue = ["x": [nil, 1.5]]
        var id: MessageID = "abc"
    }

    private func encode(_ value: some Encodable) throws -> JSONValue {
        try JSONValueEncoder.encode(value, rules: PayloadCoding.rules)
    }

    private func decode<T: Decodable>(_ type: T.Type, from value: JSONValue) throws -> T {
        try JSONValueDecoder.decode(type, from: value, rules: PayloadCoding.rules)
    }

    @Test func `a value with every kind of field is decoded as it was encoded`() throws {
        let original = Everything()
        #expect(try decode(Everything.self, from: encode(original)) == original)
    }

    @Test func `values other than dates are encoded as with the default rules`() throws {
        #expect(try encode(Everything()) == JSONValue(encoding: Everything()))
        #expect(try encode(Derived()) == JSONValue(encoding: Derived()))
        #expect(try encode([Shape.none]) == JSONValue(encoding: [Shape.none]))
    }

    @Test func `a class decodes the values of its parent`() throws {
        let object = Derived()
        object.base = 7
        object.own = "x"
        let read = try decode(Derived.self, from: encode(object))
        #expect((read.base, read.own) == (7, "x"))
    }

    @Test func `dates are RFC 3339 text, and seconds since 2001 are read too`() throws {
        let date = Date(timeIntervalSince1970: 1_763_650_800.25)
        #expect(try encode(["at": date]) == ["at": "2025-11-20T15:00:00.250Z"])
        #expect(try decode([Date].self, from: encode([date])) == [date])
        #expect(try decode([Date].self, from: JSONValue(encoding: [date])) == [date])
        #expect(
            try JSONObject().merging(["at": "2025-11-20T15:00:00.250Z"]) { $1 }.require("at", as: Date.self) == date)
    }

    @Test(arguments: [
        ("{}", "missingField a"),
        (#"{"a": null}"#, "missingField a"),
        (#"{"a": 3}"#, "invalidField a"),
        (#"{"a": {"b": [{"c": 1}, {}]}}"#, "missingField a.b[1].c"),
        (#"{"a": {"b": [{"c": 1.5}]}}"#, "invalidField a.b[0].c"),
        (#"{"a": {"b": [{"c": 300}]}}"#, "invalidField a.b[0].c"),
        (#"{"a": {"b": [{"c": 1, "id": ""}]}}"#, "invalidField a.b[0].id"),
        (#"{"a": {"b": {"c": 1}}}"#, "invalidField a.b"),
        (#"{"a": {"b": [{"c": 1, "at": "yesterday"}]}}"#, "invalidField a.b[0].at"),
        (#"{"a": {"b": [{"c": 1, "link": 4}]}}"#, "invalidField a.b[0].link"),
    ])
    func `the error of an invalid value names its path`(json: String, expected: String) throws {
        struct Item: Decodable {
            let c: Int8
            let id: MessageID?
            let at: Date?
            let link: URL?
        }
        struct Inner: Decodable { let b: [Item] }
        struct Outer: Decodable { let a: Inner }
        let payload = try JSONValue(parsing: Array(json.utf8)).objectValue
        let error = #expect(throws: PluginError.self) {
            _ = try PayloadCoding.decode(Outer.self, from: payload, "payload", nil)
        }
        let parts = expected.split(separator: " ")
        #expect(error?.code.rawValue == String(parts[0]))
        #expect(
            error?.sentence.hasPrefix("The field \"\(parts[1])\" of the payload ") == true, "\(error?.sentence ?? "")")
    }

    @Test func `lists are read to their end and not beyond`() throws {
        struct Two: Decodable {
            let sum: Int
            init(from decoder: any Decoder) throws {
                var list = try decoder.unkeyedContainer()
                var inner = try list.nestedUnkeyedContainer()
                sum = try inner.decode(Int.self) + list.decode(Int.self)
            }
        }
        #expect(try decode(Two.self, from: [[1], 2]).sum == 3)
        #expect(throws: DecodingError.self) { _ = try decode(Two.self, from: [[1]]) }
    }

    @Test func `numbers that JSON cannot express are refused with their path`() throws {
        struct Row: Encodable { var values: [Double] }
        let error = #expect(throws: PluginError.self) {
            _ = try PayloadCoding.encode(Row(values: [1, .nan]), "payload", nil)
        }
        #expect(error?.code == .invalidField)
        #expect(error?.sentence == "The field \"values[1]\" of the payload has a value that JSON cannot express.")
    }
}

import BaseTestSupport
import Foundation
import Primitives
import Testing

@Suite struct JSONCoderTests {
    private func parse(_ text: String) throws -> JSONValue { try JSONValue(parsing: text) }

    private struct Child: Codable, Equatable { let name: String, count: Int }

    @Test func `a nested container, a parent's container and a single value are read at their places`() throws {
        struct Tree: Codable, Equatable {
            var numbers: [Int] = [], name = "", parent = "", flag: Bool?

            enum Keys: String, CodingKey { case numbers, inner, name, flag }

            init() {}

            init(from decoder: any Decoder) throws {
                let container = try decoder.container(keyedBy: Keys.self)
                var list = try container.nestedUnkeyedContainer(forKey: .numbers)
                while !list.isAtEnd {
                    if try list.decodeNil() { numbers.append(-1) } else { numbers.append(try list.decode(Int.self)) }
                }
                let inner = try container.nestedContainer(keyedBy: Keys.self, forKey: .inner)
                name = try inner.decode(String.self, forKey: .name)
                flag = try inner.decodeIfPresent(Bool.self, forKey: .flag)
                parent = try String(from: container.superDecoder())
            }

            func encode(to encoder: any Encoder) throws {
                var container = encoder.container(keyedBy: Keys.self)
                var list = container.nestedUnkeyedContainer(forKey: .numbers)
                for number in numbers { if number < 0 { try list.encodeNil() } else { try list.encode(number) } }
                var inner = container.nestedContainer(keyedBy: Keys.self, forKey: .inner)
                try inner.encode(name, forKey: .name)
                try inner.encodeIfPresent(flag, forKey: .flag)
                try parent.encode(to: container.superEncoder())
            }
        }
        let json = try parse(#"{"numbers": [1, null, 3], "inner": {"name": "n", "flag": true}, "super": "p"}"#)
        let tree = try json.decode(Tree.self)
        #expect(tree.numbers == [1, -1, 3] && tree.name == "n" && tree.parent == "p" && tree.flag == true)
        #expect(try JSONValue(encoding: tree) == json)
    }

    @Test func `a name that is written again has the later value, and two kinds of containers do not mix`() throws {
        struct Twice: Encodable {
            func encode(to encoder: any Encoder) throws {
                var one = encoder.container(keyedBy: JSONPathKey.self)
                try one.encode(1, forKey: JSONPathKey(stringValue: "a"))
                var other = encoder.container(keyedBy: JSONPathKey.self)
                try other.encode(2, forKey: JSONPathKey(stringValue: "b"))
                try other.encode("3", forKey: JSONPathKey(stringValue: "a"))
            }
        }
        struct Mixed: Encodable {
            func encode(to encoder: any Encoder) throws {
                var members = encoder.container(keyedBy: JSONPathKey.self)
                var list = encoder.unkeyedContainer()
                try list.encode(1)
                try members.encode(2, forKey: JSONPathKey(stringValue: "a"))
            }
        }
        struct Silent: Encodable { func encode(to encoder: any Encoder) throws {} }
        #expect(try JSONValue(encoding: Twice()).text() == #"{"a":"3","b":2}"#)
        #expect(try JSONValue(encoding: [Mixed()]) == [["a": 2]])
        #expect(try JSONValue(encoding: Silent()) == [:])
    }

    @Test(arguments: [
        ("1", 1), ("-0", 0), ("1.0", 1), ("1.50e2", 150), ("9007199254740993.0", 9_007_199_254_740_993),
        ("9223372036854775807", .max), ("-9223372036854775808", .min), ("-9.223372036854775808e18", .min),
        ("9223372036854775808", nil), ("1.5", nil), ("1e400", nil), ("1e99999999999999999999", nil), ("1e-1", nil),
    ])
    func `an integer is read only from a number that is exactly that integer`(text: String, expected: Int?) throws {
        #expect((try? parse(text).decode(Int.self)) == expected)
        #expect((try? parse("[\(text)]").decode([Int64].self)) == expected.map { [Int64($0)] })
        #expect((try? parse("{\"a\": \(text)}").decode([String: Int].self)) == expected.map { ["a": $0] })
    }

    @Test func `a number that does not fit is refused at its place`() throws {
        struct Sizes: Decodable {
            let bytes: [UInt8]?, large: UInt64?, real: Double?, single: Float?, decimal: Decimal?
        }
        for text in [
            #"{"bytes": [1, 256]}"#, #"{"bytes": [1, -1]}"#, #"{"large": 18446744073709551616}"#, #"{"real": 1e400}"#,
            #"{"single": 1e39}"#, #"{"decimal": 1e400}"#, #"{"large": 0.5}"#,
        ] {
            let error = #expect(throws: DecodingError.self) { _ = try parse(text).decode(Sizes.self) }
            guard case .dataCorrupted(let context) = error else {
                Issue.record("\(text): \(String(describing: error))")
                continue
            }
            #expect(!context.codingPath.isEmpty && context.debugDescription.hasPrefix("The number does not fit in "))
        }
        let good = try parse(#"{"bytes": [0, 2.55e2], "large": 18446744073709551615, "real": 1e-400, "single": 0.1}"#)
        let sizes = try good.decode(Sizes.self)
        #expect(sizes.bytes == [0, 255] && sizes.large == .max && sizes.real == 0 && sizes.single == 0.1)
    }

    @Test func `an object with many members is encoded and decoded`() throws {
        let names = (0..<50_000).map { "name \($0)" }
        let dictionary = Dictionary(uniqueKeysWithValues: names.map { ($0, $0.utf8.count) })
        let json = try JSONValue(encoding: dictionary)
        #expect(try json.decode([String: Int].self) == dictionary)
        #expect(json.objectValue?.count == names.count)
    }

    @Test(arguments: [1, 15, 16, 17, 40])
    func `a duplicate name is refused among few and among many, in any Unicode form`(count: Int) throws {
        let members = (0..<count).map { "\"name \($0)\":\($0)" }.joined(separator: ",")
        #expect(try parse("{\(members)}").decode([String: Int].self).count == count)
        for (one, other) in [("a", "a"), ("\u{E9}", "e\u{301}"), ("K", "\u{212A}"), ("\u{212A}", "K")] {
            for text in ["{\"\(one)\":0,\(members),\"\(other)\":0}", "{\(members),\"\(one)\":0,\"\(other)\":0}"] {
                #expect(throws: JSONError.self, "\(text)") { _ = try parse(text) }
            }
            #expect(try parse("{\"\(one)\":0,\(members),\"b\":0}").decode([String: Int].self).count == count + 2)
        }
    }

    @Test func `names are found by their bytes`() throws {
        let json = try parse("{\"e\u{301}\": 1}")
        #expect(try json.decode([String: Int].self) == ["\u{E9}": 1])
        struct Accent: Decodable {
            let value: Int?
            enum CodingKeys: String, CodingKey { case value = "\u{E9}" }
        }
        #expect(try json.decode(Accent.self).value == nil)
        #expect(try parse("{\"\u{E9}\": 1}").decode(Accent.self).value == 1)
    }

    @Test func `nesting deeper than 512 is refused, and does not end the program`() throws {
        indirect enum Nest: Codable {
            case leaf, list([Nest])
            init(from decoder: any Decoder) throws {
                self = try .list([Nest](from: decoder))
            }
        }
        var (json, other) = (JSONValue.array([]), JSONValue.array([]))
        for depth in 1...600 {
            json = .array([json])
            if depth == 500 { other = json }
        }
        _ = try other.decode(Nest.self)
        let error = #expect(throws: DecodingError.self) { _ = try json.decode(Nest.self) }
        guard case .dataCorrupted(let context) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(context.codingPath.count == 512)
    }

    @Test func `a document within a document keeps its text`() throws {
        struct Envelope: Codable, Equatable {
            let body: JSONValue
            let inner: Wrapped
            struct Wrapped: Codable, Equatable {
                let value: JSONValue
                init(from decoder: any Decoder) throws { value = try JSONValue(from: decoder) }
                func encode(to encoder: any Encoder) throws { try value.encode(to: encoder) }
            }
        }
        let text = #"{"body":{"z":1.50,"a":[1e3,null]},"inner":12345678901234567890.10}"#
        let envelope = try parse(text).decode(Envelope.self)
        #expect(try JSONValue(encoding: envelope).text() == text)
    }

    @Test func `an error that a type throws itself arrives unchanged, or with its path if the rules say so`() throws {
        struct Own: Error {}
        struct Picky: Decodable {
            init(from decoder: any Decoder) throws { throw Own() }
        }
        #expect(throws: Own.self) { _ = try parse("[1]").decode([Picky].self) }
        let rules = JSONCodingRules(dates: .text, errors: .mismatches)
        let error = #expect(throws: DecodingError.self) {
            _ = try JSONValueDecoder.decode([Picky].self, from: [1], rules: rules)
        }
        guard case .dataCorrupted(let context) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(context.codingPath.map(\.intValue) == [0] && context.underlyingError is Own)
    }

    @Test func `dates are read and written as the rules say`() throws {
        let date = Date(timeIntervalSince1970: 1_763_650_800.25)
        let text: JSONValue = "2025-11-20T15:00:00.250Z"
        let seconds: JSONValue = .number(date.timeIntervalSinceReferenceDate)
        func read(_ value: JSONValue, _ dates: JSONCodingRules.Dates) -> Date? {
            try? JSONValueDecoder.decode([Date].self, from: [value], rules: .init(dates: dates)).first
        }
        #expect(read(text, .text) == date && read(seconds, .text) == nil)
        #expect(read(text, .textOrSeconds) == date && read(seconds, .textOrSeconds) == date)
        #expect(read(text, .seconds) == nil && read(seconds, .seconds) == date)
        #expect(try JSONValueEncoder.encode(date, rules: .init(dates: .seconds)) == seconds)
        for dates in [JSONCodingRules.Dates.text, .textOrSeconds] {
            #expect(try JSONValueEncoder.encode(date, rules: .init(dates: dates)) == text)
        }
        #expect(throws: DecodingError.self) {
            _ = try JSONValueDecoder.decode(Date.self, from: parse("1e400"), rules: .init(dates: .textOrSeconds))
        }
    }

    /// Foundation's coders accept duplicate keys and other input that the parser refuses.
    @Test func `nothing in the sources reads or writes JSON with Foundation`() throws {
        let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        let files = try #require(FileManager.default.enumerator(atPath: root.appendingPathComponent("Sources").path))
        for case let file as String in files where file.hasSuffix(".swift") {
            let text = try String(contentsOf: root.appendingPathComponent("Sources/\(file)"), encoding: .utf8)
            let code = text.split(separator: "\n").filter { !$0.drop { $0 == " " }.hasPrefix("//") }
            for coder in ["JSONDecoder", "JSONEncoder", "JSONSerialization"] {
                #expect(!code.contains { $0.contains(coder) }, "\(file) uses \(coder): use WireJSON or JSONValue")
            }
        }
    }
}

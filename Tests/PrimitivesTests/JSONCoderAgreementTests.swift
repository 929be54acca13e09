import BaseTestSupport
import Foundation
import Primitives
import Testing

/// The coder compared with Foundation's: the same bytes, the same values and, with three exceptions, the same errors.
@Suite struct JSONCoderAgreementTests {
    private func written(_ value: some Encodable) throws -> String {
        try JSONValue(encoding: value).text(sortedKeys: true)
    }

    private func foundation(_ value: some Encodable) throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return String(decoding: try encoder.encode(value), as: UTF8.self)
    }

    private enum Kind: String, Codable, CaseIterable, CodingKeyRepresentable { case one, two }
    private struct Name: Hashable, Codable, RawRepresentable { let rawValue: String }
    private enum Shape: Codable, Hashable { case circle(radius: Double), none }
    private struct Item: Codable, Hashable {
        var name: String, count: Int, small: Int8?, wide: UInt64?, isSold: Bool, weight: Double?, kind: Kind?
    }
    private struct Everything: Codable, Hashable {
        var items: [Item] = [], byName: [String: Item] = [:], byKind: [Kind: Int] = [:], byRaw: [Name: Int] = [:]
        var byNumber: [Int: String] = [:], optionals: [Int?] = [], nested: [[Double]] = [], bytes: [UInt8] = []
        var id: UUID?, link: URL?, data: Data?, price: Decimal?, date: Date?, shape: Shape?, float: Float?
        var text: String?
    }

    // MARK: - Writing

    @Test func `strings are escaped as Foundation escapes them`() throws {
        for start in stride(from: UInt32(0), to: 0x3000, by: 64) {
            let text = String(String.UnicodeScalarView((start..<start + 64).compactMap(Unicode.Scalar.init)))
            #expect(try written([text]) == foundation([text]), "from U+\(String(start, radix: 16))")
        }
        let texts = [
            "", "/", "\\\"/\u{7F}", "\u{2028}\u{2029}", "e\u{301}\u{E9}", "😀👨‍👩‍👧", "\u{FEFF}\u{FFFD}\u{10FFFF}",
            "\r\n\u{8}\u{C}\u{B}",
        ]
        #expect(try written(texts) == foundation(texts))
        let names = Dictionary(
            uniqueKeysWithValues: (texts + ["b", "a", "A", "10", "9", "ä", "\u{E000}"]).map { ($0, 1) })
        #expect(try written(names) == foundation(names))
    }

    @Test func `numbers have the text that Foundation gives them`() throws {
        var numbers = SeededNumbers(state: 7)
        var doubles: [Double] = [
            0, -0.0, 1, 0.1, 1e15, 1e16, 1e17, 1.2345678901234568e17, -3e9, .leastNonzeroMagnitude,
            .leastNormalMagnitude,
            .greatestFiniteMagnitude, .pi, 9_007_199_254_740_992,
        ]
        var floats: [Float] = [
            0, -0.0, 1, 0.1, 1e10, 16_777_216, 1e20, .greatestFiniteMagnitude, .leastNonzeroMagnitude,
        ]
        for _ in 0..<5000 {
            doubles.append(Double(bitPattern: numbers.next()))
            doubles.append(Double(Int64.random(in: -1_000_000...1_000_000, using: &numbers)) / 1000)
            floats.append(Float(bitPattern: UInt32(truncatingIfNeeded: numbers.next())))
        }
        doubles.removeAll { !$0.isFinite }
        floats.removeAll { !$0.isFinite }
        #expect(try written(doubles) == foundation(doubles))
        #expect(try written(floats) == foundation(floats))
        #expect(try written([Int64.min, .max]) == foundation([Int64.min, .max]))
        #expect(try written([UInt64.max]) == foundation([UInt64.max]))
        let decimals = try (0..<2000).map { _ in
            let digits = String(numbers.next()) + String(numbers.next())
            let text = String(digits.prefix(Int.random(in: 1...36, using: &numbers)))
            let exponent = Int.random(in: -60...60, using: &numbers)
            return try #require(Decimal(string: "\(Bool.random(using: &numbers) ? "-" : "")\(text)e\(exponent)"))
        }
        #expect(try written(decimals) == foundation(decimals))
        for number in [Double.nan, .infinity, -.infinity] {
            #expect(throws: EncodingError.self) { _ = try written([number]) }
        }
        #expect(throws: EncodingError.self) { _ = try written(Decimal.nan) }
    }

    @Test func `values of every kind are written as Foundation writes them`() throws {
        var numbers = SeededNumbers(state: 11)
        for _ in 0..<300 {
            let everything = self.everything(&numbers)
            #expect(try written(everything) == foundation(everything))
        }
        #expect(try written(Everything()) == foundation(Everything()))
        #expect(try written("top") == foundation("top") && written(1.5) == foundation(1.5))
        #expect(try written([Date(timeIntervalSince1970: 0.1)]) == foundation([Date(timeIntervalSince1970: 0.1)]))
        #expect(try written([nil, 1] as [Int?]) == foundation([nil, 1] as [Int?]))
    }

    private func everything(_ numbers: inout SeededNumbers) -> Everything {
        let items = (0..<Int.random(in: 0...3, using: &numbers)).map { index in
            Item(
                name: ["", "ä\"/\n", "😀e\u{301}", "plain"].randomElement(using: &numbers)!, count: index - 1,
                small: Bool.random(using: &numbers) ? -128 : nil, wide: Bool.random(using: &numbers) ? .max : nil,
                isSold: Bool.random(using: &numbers),
                weight: Bool.random(using: &numbers) ? Double.random(in: -1e20...1e20, using: &numbers) : nil,
                kind: Kind.allCases.randomElement(using: &numbers))
        }
        var all = Everything()
        all.items = items
        all.byName = Dictionary(items.map { ($0.name, $0) }) { $1 }
        all.byKind = Bool.random(using: &numbers) ? [.one: 1, .two: 2] : [:]
        all.byRaw = Bool.random(using: &numbers) ? [Name(rawValue: "a/b"): 1] : [:]
        all.byNumber = [3: "c", -1: "m"]
        all.optionals = [nil, 1, nil]
        all.nested = [[], [Double.random(in: -1...1, using: &numbers), 3]]
        all.bytes = (0..<5).map { _ in UInt8.random(in: .min ... .max, using: &numbers) }
        if Bool.random(using: &numbers) {
            all.id = UUID(uuid: (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16))
            all.link = URL(string: "https://example.org/a?b=c&d=%20#e")
            all.data = Data(all.bytes)
            all.price = Decimal(Int.random(in: -99999...99999, using: &numbers)) / 1000
        }
        all.date = Bool.random(using: &numbers) ? Date(timeIntervalSinceReferenceDate: 1234.5) : nil
        all.shape = Bool.random(using: &numbers) ? .circle(radius: 0.1) : Shape.none
        all.float = 0.1
        all.text = items.first?.name
        return all
    }

    // MARK: - Reading

    /// Complete documents, of which two thirds have a replaced or missing value.
    @Test func `random documents are read as Foundation reads them, or refused for the same reason`() throws {
        var numbers = SeededNumbers(state: 13)
        var outcomes: [Bool: Int] = [:]
        for _ in 0..<500 {
            var document = try JSONValue(parsing: written(everything(&numbers)))
            if Int.random(in: 0..<3, using: &numbers) > 0 { Self.change(&document, &numbers) }
            let isRead = try agree(Everything.self, document)
            outcomes[isRead, default: 0] += 1
            for (name, value) in document.objectValue ?? [:] {
                switch name {
                case "items": try agree([Item].self, value)
                case "byName": try agree([String: Item].self, value)
                case "bytes": try agree([UInt8].self, value)
                case "optionals": try agree([Double?].self, value)
                default: break
                }
            }
        }
        #expect(outcomes[true, default: 0] > 100 && outcomes[false, default: 0] > 100, "\(outcomes)")
    }

    @Test func `single values are read as Foundation reads them, or refused for the same reason`() throws {
        for text in Self.values {
            let value = try JSONValue(parsing: text)
            func all<each T: Decodable & Equatable>(_ types: repeat (each T).Type) throws {
                repeat _ = try agree([each T].self, [value])
                repeat _ = try agree([String: each T].self, ["a": value])
                repeat _ = try agree((each T).self, value)
            }
            try all(
                Int.self, Int8.self, Int16.self, Int32.self, Int64.self, UInt.self, UInt8.self, UInt16.self,
                UInt32.self, UInt64.self, Double.self, Float.self, Bool.self, String.self, Decimal.self, URL.self,
                UUID.self, Data.self, Date.self, Kind.self, Name.self, Shape.self, Item.self, [Int].self,
                [String: Int].self, Int?.self, String?.self, [Int?].self, [Kind: Int].self, [Name: Int].self,
                [Int: Int].self)
        }
    }

    private static let values = [
        "null", "true", "false", "0", "-0", "1", "-1", "255", "256", "1.0", "1.5", "1e3", "1E-1", "0.1", "-0.0",
        "9007199254740993", "9007199254740993.0", "9223372036854775807", "9223372036854775808", "18446744073709551615",
        "18446744073709551616", "1e18", "1e19", "123456789012345678901234567890", "16777217", "3.4028235e38",
        "0.30000000000000004", "\"\"", "\"a\"", "\"1\"", "\"true\"", "\"one\"", "\"AQID\"", "\"A\"",
        "\"https://a.b/c\"",
        "\"http://[\"", "\"6F9619FF-8B86-D011-B42D-00CF4FC964FF\"", "\"2026-11-20T14:40:00Z\"", "[]", "[1]",
        "[1, null]",
        "[\"a\"]", "[\"one\", 1]", "[\"a\", 1, \"b\"]", "[[1]]", "{}", "{\"a\": 1}", "{\"1\": 1}", "{\"one\": 1}",
        "{\"none\": {}}", "{\"circle\": {\"radius\": 1}}", "{\"circle\": {}}",
        "{\"none\": {}, \"circle\": {\"radius\": 1}}",
        "{\"name\": \"n\", \"count\": 1, \"isSold\": true}", "{\"name\": null, \"count\": 1, \"isSold\": true}",
        "{\"name\": \"n\", \"count\": 1.5, \"isSold\": true}",
        "{\"name\": \"n\", \"count\": 1, \"isSold\": true, \"kind\": 3}",
    ]

    private static func change(_ document: inout JSONValue, _ numbers: inout SeededNumbers) {
        let replacesWhole = Int.random(in: 0..<8, using: &numbers) == 0
        switch document {
        case .object(let members) where !replacesWhole && !members.isEmpty:
            let place = Int.random(in: 0..<members.count, using: &numbers)
            var value = members[place].value
            let name = members[place].key
            if Int.random(in: 0..<6, using: &numbers) == 0 {
                document[name] = nil
            } else {
                change(&value, &numbers)
                document[name] = value
            }
        case .array(var elements) where !replacesWhole && !elements.isEmpty:
            let place = Int.random(in: 0..<elements.count, using: &numbers)
            if Int.random(in: 0..<6, using: &numbers) == 0 {
                elements.remove(at: place)
            } else {
                change(&elements[place], &numbers)
            }
            document = .array(elements)
        default: document = (try? JSONValue(parsing: values.randomElement(using: &numbers)!)) ?? nil
        }
    }

    /// Returns whether both coders read the document.
    ///
    /// The errors may differ in three ways. Foundation reports a number that does not fit without its path. It reports
    /// any one of several errors in a dictionary. It reports a null instead of a Bool as a value of another type.
    @discardableResult
    private func agree<T: Decodable & Equatable>(_ type: T.Type, _ document: JSONValue) throws -> Bool {
        let text = document.text()
        let ours = Result { try document.decode(type) }
        let theirs = Result { try JSONDecoder().decode(type, from: Data(text.utf8)) }
        switch (ours, theirs) {
        case (.success(let ours), .success(let theirs)):
            #expect(ours == theirs, "\(type) from \(text)")
            return true
        case (.failure(let ours as DecodingError), .failure(let theirs as DecodingError)):
            let (mine, other) = (Refusal(ours), Refusal(theirs))
            let isUnplaced = other.kind == "dataCorrupted" && other.path.isEmpty && mine.kind == other.kind
            let isAnyOf = "\(T.self)".contains("Dictionary") || mine.path.first?.hasPrefix("by") == true
            let isNullBool = mine.kind == "valueNotFound" && other.kind == "typeMismatch" && mine.type == "Bool"
            #expect(mine == other || isUnplaced || isAnyOf || isNullBool, "\(type) from \(text): \(ours) and \(theirs)")
        default: Issue.record("\(type) from \(text): \(ours) and \(theirs)")
        }
        return false
    }

    private struct Refusal: Equatable {
        let kind: String, path: [String]
        var type: String?

        init(_ error: DecodingError) {
            func steps(_ context: DecodingError.Context) -> [String] {
                context.codingPath.map { $0.intValue.map(String.init) ?? $0.stringValue }
            }
            /// Returns a name that ignores the types of a container's elements, which differ between the coders.
            func name(_ type: Any.Type) -> String {
                let name = "\(type)"
                return name.hasPrefix("Dictionary") ? "object" : name.hasPrefix("Array") ? "array" : name
            }
            switch error {
            case .keyNotFound(let key, let context):
                (kind, path, type) = ("keyNotFound", steps(context), key.stringValue)
            case .valueNotFound(let type, let context):
                (kind, path, self.type) = ("valueNotFound", steps(context), name(type))
            case .typeMismatch(let type, let context):
                (kind, path, self.type) = ("typeMismatch", steps(context), name(type))
            case .dataCorrupted(let context): (kind, path) = ("dataCorrupted", steps(context))
            @unknown default: (kind, path) = ("other", [])
            }
        }
    }
}

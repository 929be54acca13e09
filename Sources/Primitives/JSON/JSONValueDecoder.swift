import Foundation

/// Decodes `Decodable` types directly from a ``JSONValue``, without text in between.
///
/// Throws `DecodingError` with the path of the value, but never the value itself, because documents contain secrets. An
/// integer can have any spelling of its exact value, such as `1e3`. Arrays and objects can nest 512 deep, as in
/// Foundation's decoder.
///
///     let customer = try JSONValueDecoder.decode(Customer.self, from: document, rules: .init(dates: .text))
package final class JSONValueDecoder: Decoder {
    fileprivate enum Source {
        case value(JSONValue)
        /// Members in no order, such as a hub message's payload. Converted to a `JSONValue` only if a type requires it.
        case dictionary(JSONObject)
    }

    private static let longestPath = 512

    private let source: Source
    private let rules: JSONCodingRules
    /// The parent decoder. The path is computed from the parents only after an error.
    private let parent: JSONValueDecoder?
    private let key: (any CodingKey)?
    private let depth: Int

    private init(
        _ source: Source, _ rules: JSONCodingRules, parent: JSONValueDecoder? = nil, key: (any CodingKey)? = nil
    ) {
        self.source = source
        self.rules = rules
        self.parent = parent
        self.key = key
        depth = parent.map { $0.depth + 1 } ?? 0
    }

    /// Returns `value` as a `T`.
    package static func decode<T: Decodable>(
        _ type: T.Type, from value: JSONValue, rules: JSONCodingRules = .standard
    ) throws -> T {
        try JSONValueDecoder(.value(value), rules).decode(type)
    }

    /// Returns the object with these members as a `T`. Errors of `T` itself pass through.
    package static func decode<T: Decodable>(
        _ type: T.Type, from members: JSONObject, rules: JSONCodingRules = .standard
    ) throws -> T {
        try T(from: JSONValueDecoder(.dictionary(members), rules))
    }

    package var codingPath: [any CodingKey] {
        var path: [any CodingKey] = []
        var decoder = self
        while let parent = decoder.parent {
            if let key = decoder.key { path.append(key) }
            decoder = parent
        }
        return path.reversed()
    }

    package var userInfo: [CodingUserInfoKey: Any] { [:] }

    package func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
        switch source {
        case .dictionary(let members):
            return KeyedDecodingContainer(Fields(decoder: self, members: .dictionary(members)))
        case .value(.object(let members)):
            return KeyedDecodingContainer(Fields(decoder: self, members: .ordered(members, members.places())))
        case .value(let value): throw mismatch([String: JSONValue].self, value)
        }
    }

    package func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
        guard case .value(.array(let elements)) = source else { throw mismatch([JSONValue].self, value) }
        return Elements(decoder: self, elements: elements)
    }

    package func singleValueContainer() throws -> any SingleValueDecodingContainer { self }

    /// The document that this decoder reads.
    var value: JSONValue {
        switch source {
        case .dictionary(let members): .object(members)
        case .value(let value): value
        }
    }
}

/// Returns the key of a value in this decoder, or `nil` for the decoder's own value. Called only for an error or a
/// nested decoder.
private typealias LazyKey = () -> (any CodingKey)?

extension JSONValueDecoder {
    private func child(_ value: JSONValue, _ key: LazyKey) throws -> JSONValueDecoder {
        guard depth < Self.longestPath else {
            throw DecodingError.dataCorrupted(context("Arrays and objects nest too deep.", key))
        }
        return JSONValueDecoder(.value(value), rules, parent: self, key: key())
    }

    private func context(
        _ description: String, _ key: LazyKey = { nil }, _ error: (any Error)? = nil
    ) -> DecodingError.Context {
        DecodingError.Context(
            codingPath: key().map { codingPath + [$0] } ?? codingPath, debugDescription: description,
            underlyingError: error)
    }

    private func mismatch(_ type: Any.Type, _ value: JSONValue, _ key: LazyKey = { nil }) -> DecodingError {
        let context = context("Expected to decode \(type) but found \(value.kind) instead.", key)
        return value.isNull ? .valueNotFound(type, context) : .typeMismatch(type, context)
    }

    /// Returns the error for a value of the right kind that is not a `type`.
    private func unfit(
        _ type: Any.Type, _ value: JSONValue, _ key: LazyKey, _ description: String
    ) -> DecodingError {
        switch rules.errors {
        case .mismatches: mismatch(type, value, key)
        case .foundation: .dataCorrupted(context(description, key))
        }
    }

    fileprivate func bool(_ value: JSONValue, _ key: LazyKey) throws -> Bool {
        guard case .bool(let found) = value else { throw mismatch(Bool.self, value, key) }
        return found
    }

    fileprivate func string(_ value: JSONValue, _ key: LazyKey) throws -> String {
        guard case .string(let found) = value else { throw mismatch(String.self, value, key) }
        return found
    }

    fileprivate func number<T>(_ value: JSONValue, _ key: LazyKey, _ read: (JSONNumber) -> T?) throws -> T {
        guard case .number(let number) = value else { throw mismatch(T.self, value, key) }
        guard let found = read(number) else { throw unfit(T.self, value, key, "The number does not fit in \(T.self).") }
        return found
    }

    fileprivate func integer<T: FixedWidthInteger>(_ value: JSONValue, _ key: LazyKey) throws -> T {
        try number(value, key) { $0.integer() }
    }

    /// Returns a floating-point number. Refuses a number out of range, because infinity could not be written again.
    fileprivate func float<T: LosslessStringConvertible & BinaryFloatingPoint>(
        _ value: JSONValue, _ key: LazyKey
    ) throws -> T {
        try number(value, key) { number in T(number.text).flatMap { $0.isFinite ? $0 : nil } }
    }

    /// Parses a value of another type from its text.
    private func text<T>(
        _ type: T.Type, _ value: JSONValue, _ key: LazyKey, _ description: String, _ read: (String) -> T?
    ) throws -> T {
        guard case .string(let text) = value else {
            throw mismatch(value.isNull || rules.errors == .mismatches ? type : String.self, value, key)
        }
        guard let found = read(text) else { throw unfit(type, value, key, description) }
        return found
    }

    private func date(_ value: JSONValue, _ key: LazyKey) throws -> Date {
        if rules.dates != .text, case .number = value {
            return Date(timeIntervalSinceReferenceDate: try float(value, key))
        }
        guard rules.dates != .seconds else { throw mismatch(value.isNull ? Date.self : Double.self, value, key) }
        return try text(
            Date.self, value, key, "a date is RFC 3339 text such as \"2026-11-20T14:40:00Z\"",
            RFC3339.date(from:))
    }

    /// Returns `value` as a `T`. Handles the types whose JSON form differs from their own `Codable`, and the most
    /// frequent types, which need no nested decoder.
    fileprivate func unwrap<T: Decodable>(_ type: T.Type, _ value: JSONValue, _ key: LazyKey) throws -> T {
        func found(_ value: Any) throws -> T {
            guard let value = value as? T else { throw mismatch(type, .null, key) }
            return value
        }
        if type == String.self { return try found(string(value, key)) }
        if type == Date.self { return try found(date(value, key)) }
        if type == JSONValue.self { return try found(value) }
        if type == Int.self { return try found(integer(value, key) as Int) }
        if type == URL.self {
            return try found(text(URL.self, value, key, "Invalid URL string.") { URL(string: $0) })
        }
        if type == Data.self {
            let data = try text(Data.self, value, key, "Encountered Data is not valid Base64.") {
                Data(base64Encoded: $0)
            }
            return try found(data)
        }
        if type == Decimal.self { return try found(number(value, key, \.decimal)) }
        let decoder = try child(value, key)
        guard rules.errors == .mismatches else { return try T(from: decoder) }
        do {
            return try T(from: decoder)
        } catch let error where !(error is DecodingError) {
            throw DecodingError.dataCorrupted(context("", key, error))
        }
    }
}

extension JSONValue {
    fileprivate var kind: String {
        switch self {
        case .null: "null"
        case .bool: "bool"
        case .number: "number"
        case .string: "a string"
        case .array: "an array"
        case .object: "an object"
        }
    }
}

extension JSONValueDecoder: SingleValueDecodingContainer {
    package func decodeNil() -> Bool {
        if case .value(.null) = source { true } else { false }
    }

    package func decode<T: Decodable>(_ type: T.Type) throws -> T { try unwrap(type, value) { nil } }
    package func decode(_ type: Bool.Type) throws -> Bool { try bool(value) { nil } }
    package func decode(_ type: String.Type) throws -> String { try string(value) { nil } }
    package func decode(_ type: Double.Type) throws -> Double { try float(value) { nil } }
    package func decode(_ type: Float.Type) throws -> Float { try float(value) { nil } }
    package func decode(_ type: Int.Type) throws -> Int { try integer(value) { nil } }
    package func decode(_ type: Int8.Type) throws -> Int8 { try integer(value) { nil } }
    package func decode(_ type: Int16.Type) throws -> Int16 { try integer(value) { nil } }
    package func decode(_ type: Int32.Type) throws -> Int32 { try integer(value) { nil } }
    package func decode(_ type: Int64.Type) throws -> Int64 { try integer(value) { nil } }
    package func decode(_ type: UInt.Type) throws -> UInt { try integer(value) { nil } }
    package func decode(_ type: UInt8.Type) throws -> UInt8 { try integer(value) { nil } }
    package func decode(_ type: UInt16.Type) throws -> UInt16 { try integer(value) { nil } }
    package func decode(_ type: UInt32.Type) throws -> UInt32 { try integer(value) { nil } }
    package func decode(_ type: UInt64.Type) throws -> UInt64 { try integer(value) { nil } }
}

extension JSONValueDecoder {
    private enum Members {
        case ordered(JSONMembers, JSONMembers.Places?)
        case dictionary(JSONObject)

        var names: [String] {
            switch self {
            case .ordered(let members, _): members.keys
            case .dictionary(let members): Array(members.keys)
            }
        }

        subscript(name: String) -> JSONValue? {
            switch self {
            case .ordered(let members, nil): members[name]
            case .ordered(let members, let index?): index[ExactString(name)].map { members[$0].value }
            case .dictionary(let members): members[name]
            }
        }
    }

    private struct Fields<Key: CodingKey>: KeyedDecodingContainerProtocol {
        let decoder: JSONValueDecoder
        let members: Members

        var codingPath: [any CodingKey] { decoder.codingPath }
        var allKeys: [Key] { members.names.compactMap(Key.init(stringValue:)) }
        func contains(_ key: Key) -> Bool { members[key.stringValue] != nil }

        func decodeNil(forKey key: Key) throws -> Bool {
            if case .null = try value(key) { true } else { false }
        }

        func decode<T: Decodable>(_ type: T.Type, forKey key: Key) throws -> T {
            try decoder.unwrap(type, value(key)) { key }
        }
        func decode(_ type: Bool.Type, forKey key: Key) throws -> Bool { try decoder.bool(value(key)) { key } }
        func decode(_ type: String.Type, forKey key: Key) throws -> String { try decoder.string(value(key)) { key } }
        func decode(_ type: Double.Type, forKey key: Key) throws -> Double { try decoder.float(value(key)) { key } }
        func decode(_ type: Int.Type, forKey key: Key) throws -> Int { try decoder.integer(value(key)) { key } }
        func decode(_ type: Int64.Type, forKey key: Key) throws -> Int64 { try decoder.integer(value(key)) { key } }

        func decodeIfPresent<T: Decodable>(_ type: T.Type, forKey key: Key) throws -> T? {
            try present(key).map { try decoder.unwrap(type, $0) { key } }
        }
        func decodeIfPresent(_ type: Bool.Type, forKey key: Key) throws -> Bool? {
            try present(key).map { try decoder.bool($0) { key } }
        }
        func decodeIfPresent(_ type: String.Type, forKey key: Key) throws -> String? {
            try present(key).map { try decoder.string($0) { key } }
        }
        func decodeIfPresent(_ type: Double.Type, forKey key: Key) throws -> Double? {
            try present(key).map { try decoder.float($0) { key } }
        }
        func decodeIfPresent(_ type: Int.Type, forKey key: Key) throws -> Int? {
            try present(key).map { try decoder.integer($0) { key } }
        }
        func decodeIfPresent(_ type: Int64.Type, forKey key: Key) throws -> Int64? {
            try present(key).map { try decoder.integer($0) { key } }
        }

        func nestedContainer<Nested: CodingKey>(
            keyedBy type: Nested.Type, forKey key: Key
        ) throws -> KeyedDecodingContainer<Nested> {
            try child(key).container(keyedBy: type)
        }

        func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
            try child(key).unkeyedContainer()
        }

        func superDecoder() throws -> any Decoder {
            try decoder.child(members["super"] ?? .null) { JSONPathKey(stringValue: "super") }
        }

        func superDecoder(forKey key: Key) throws -> any Decoder { try child(key) }

        private func child(_ key: Key) throws -> JSONValueDecoder { try decoder.child(value(key)) { key } }

        private func present(_ key: Key) -> JSONValue? {
            guard let value = members[key.stringValue] else { return nil }
            if case .null = value { return nil }
            return value
        }

        private func value(_ key: Key) throws -> JSONValue {
            if let value = members[key.stringValue] { return value }
            throw DecodingError.keyNotFound(
                key, decoder.context("No value associated with key \"\(key.stringValue)\"."))
        }
    }

    private struct Elements: UnkeyedDecodingContainer {
        let decoder: JSONValueDecoder
        let elements: [JSONValue]
        var currentIndex = 0

        init(decoder: JSONValueDecoder, elements: [JSONValue]) {
            self.decoder = decoder
            self.elements = elements
        }

        var codingPath: [any CodingKey] { decoder.codingPath }
        var count: Int? { elements.count }
        var isAtEnd: Bool { currentIndex >= elements.count }

        mutating func decodeNil() throws -> Bool {
            guard case .null = try peek(Never.self) else { return false }
            currentIndex += 1
            return true
        }

        mutating func decode<T: Decodable>(_ type: T.Type) throws -> T {
            let index = currentIndex
            let decoded = try decoder.unwrap(type, peek(type)) { JSONPathKey(intValue: index) }
            currentIndex += 1
            return decoded
        }

        mutating func nestedContainer<Nested: CodingKey>(
            keyedBy type: Nested.Type
        ) throws -> KeyedDecodingContainer<Nested> {
            let container = try child().container(keyedBy: type)
            currentIndex += 1
            return container
        }

        mutating func nestedUnkeyedContainer() throws -> any UnkeyedDecodingContainer {
            let container = try child().unkeyedContainer()
            currentIndex += 1
            return container
        }

        mutating func superDecoder() throws -> any Decoder {
            let decoder = try child()
            currentIndex += 1
            return decoder
        }

        private func child() throws -> JSONValueDecoder {
            try decoder.child(peek(JSONValue.self)) { JSONPathKey(intValue: currentIndex) }
        }

        private func peek(_ type: Any.Type) throws -> JSONValue {
            if !isAtEnd { return elements[currentIndex] }
            throw DecodingError.valueNotFound(
                type, decoder.context("Unkeyed container is at end.", { JSONPathKey(intValue: currentIndex) }))
        }
    }
}

import Foundation

/// Encodes `Encodable` types directly to a ``JSONValue``, in the form that ``JSONValueDecoder`` reads.
///
/// Numbers have the same text as from Foundation's encoder. Throws `EncodingError` for a number that JSON cannot
/// express, such as NaN.
///
///     let document = try JSONValueEncoder.encode(customer, rules: .init(dates: .text))
package final class JSONValueEncoder: Encoder {
    /// A complete value, or an encoder that is still in use, for a nested container or a parent class.
    fileprivate enum Part {
        case value(JSONValue)
        case encoder(JSONValueEncoder)

        var value: JSONValue {
            switch self {
            case .value(let value): value
            case .encoder(let encoder): encoder.value
            }
        }
    }

    private enum Kind { case nothing, value, elements, members }

    private let path: Path?
    private let rules: JSONCodingRules
    private var kind = Kind.nothing
    private var single = JSONValue.null
    private var elements: [Part] = []
    private var members: [(name: String, part: Part)] = []

    private init(_ path: Path?, _ rules: JSONCodingRules) {
        self.path = path
        self.rules = rules
    }

    /// Returns `value` as a document.
    package static func encode(_ value: some Encodable, rules: JSONCodingRules = .standard) throws -> JSONValue {
        try JSONValueEncoder(nil, rules).encoded(value) { nil }
    }

    package var codingPath: [any CodingKey] { path?.keys ?? [] }
    package var userInfo: [CodingUserInfoKey: Any] { [:] }

    package func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
        begin(.members)
        return KeyedEncodingContainer(Fields(encoder: self))
    }

    package func unkeyedContainer() -> any UnkeyedEncodingContainer {
        begin(.elements)
        return Elements(encoder: self)
    }

    package func singleValueContainer() -> any SingleValueEncodingContainer { self }

    /// Starts a container. If a type opens containers of two kinds, the last one counts.
    private func begin(_ kind: Kind) {
        guard self.kind != kind else { return }
        self.kind = kind
        members = []
        elements = []
    }

    /// The encoded value. A type that writes nothing is an empty object.
    private var value: JSONValue {
        switch kind {
        case .nothing: .object(JSONMembers())
        case .value: single
        case .elements: .array(elements.map(\.value))
        case .members: .object(JSONMembers(members.lazy.map { ($0.name, $0.part.value) }))
        }
    }
}

/// The keys that lead to a value. Created for each nested value, and converted to an array only after an error.
private final class Path: Sendable {
    private let parent: Path?
    private let key: any CodingKey

    init(_ parent: Path?, _ key: any CodingKey) {
        self.parent = parent
        self.key = key
    }

    var keys: [any CodingKey] {
        var keys: [any CodingKey] = [key]
        var step = parent
        while let next = step {
            keys.append(next.key)
            step = next.parent
        }
        return keys.reversed()
    }
}

extension JSONValueEncoder {
    private func child(_ key: () -> (any CodingKey)?) -> JSONValueEncoder {
        JSONValueEncoder(key().map { Path(path, $0) } ?? path, rules)
    }

    /// Returns the document of `value`. `key` returns its key, or `nil` for the encoder's own value.
    fileprivate func encoded<T: Encodable>(_ value: T, _ key: () -> (any CodingKey)?) throws -> JSONValue {
        if T.self == String.self, let value = value as? String { return .string(value) }
        if T.self == Date.self, rules.dates != .seconds, let value = value as? Date {
            return .string(RFC3339.string(from: value))
        }
        if T.self == JSONValue.self, let value = value as? JSONValue { return value }
        if T.self == URL.self, let value = value as? URL { return .string(value.absoluteString) }
        if T.self == Data.self, let value = value as? Data { return .string(value.base64EncodedString()) }
        if T.self == Decimal.self, let value = value as? Decimal { return try number("\(value)", value, key) }
        let child = child(key)
        try value.encode(to: child)
        return child.value
    }

    /// Returns a number with the shortest text that reads as the same value, without `.0`.
    fileprivate func number<T: BinaryFloatingPoint & CustomStringConvertible>(
        _ value: T, _ key: () -> (any CodingKey)?
    ) throws -> JSONValue {
        let text = value.description
        guard value.isFinite else { throw notANumber(value, key) }
        return .number(JSONNumber(checked: text.hasSuffix(".0") ? String(text.dropLast(2)) : text))
    }

    private func number(_ text: String, _ value: Decimal, _ key: () -> (any CodingKey)?) throws -> JSONValue {
        guard let number = JSONNumber(text: text) else { throw notANumber(value, key) }
        return .number(number)
    }

    private func notANumber(_ value: Any, _ key: () -> (any CodingKey)?) -> EncodingError {
        .invalidValue(
            value,
            .init(
                codingPath: key().map { codingPath + [$0] } ?? codingPath,
                debugDescription: "JSON has no infinities and no NaN."))
    }
}

extension JSONValueEncoder: SingleValueEncodingContainer {
    package func encodeNil() { put(.null) }
    package func encode(_ value: Bool) { put(.bool(value)) }
    package func encode(_ value: String) { put(.string(value)) }
    package func encode(_ value: Double) throws { put(try number(value) { nil }) }
    package func encode(_ value: Float) throws { put(try number(value) { nil }) }
    package func encode(_ value: Int) { put(value) }
    package func encode(_ value: Int8) { put(value) }
    package func encode(_ value: Int16) { put(value) }
    package func encode(_ value: Int32) { put(value) }
    package func encode(_ value: Int64) { put(value) }
    package func encode(_ value: UInt) { put(value) }
    package func encode(_ value: UInt8) { put(value) }
    package func encode(_ value: UInt16) { put(value) }
    package func encode(_ value: UInt32) { put(value) }
    package func encode(_ value: UInt64) { put(value) }
    package func encode<T: Encodable>(_ value: T) throws { put(try encoded(value) { nil }) }

    func put(_ value: JSONValue) {
        begin(.value)
        single = value
    }

    private func put(_ value: some FixedWidthInteger & Sendable) { put(.number(JSONNumber(value))) }
}

extension JSONValueEncoder {
    private struct Fields<Key: CodingKey>: KeyedEncodingContainerProtocol {
        let encoder: JSONValueEncoder

        var codingPath: [any CodingKey] { encoder.codingPath }

        func encodeNil(forKey key: Key) { add(.null, key) }
        func encode(_ value: Bool, forKey key: Key) { add(.bool(value), key) }
        func encode(_ value: String, forKey key: Key) { add(.string(value), key) }
        func encode(_ value: Int, forKey key: Key) { add(.number(JSONNumber(value)), key) }
        func encode(_ value: Int64, forKey key: Key) { add(.number(JSONNumber(value)), key) }
        func encode(_ value: Double, forKey key: Key) throws { add(try encoder.number(value) { key }, key) }

        func encode<T: Encodable>(_ value: T, forKey key: Key) throws { add(try encoder.encoded(value) { key }, key) }

        func nestedContainer<Nested: CodingKey>(
            keyedBy type: Nested.Type, forKey key: Key
        ) -> KeyedEncodingContainer<Nested> {
            child(key).container(keyedBy: type)
        }

        func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer { child(key).unkeyedContainer() }

        func superEncoder() -> any Encoder { child(JSONPathKey(stringValue: "super")) }
        func superEncoder(forKey key: Key) -> any Encoder { child(key) }

        private func child(_ key: some CodingKey) -> JSONValueEncoder {
            let child = encoder.child { key }
            encoder.begin(.members)
            encoder.members.append((key.stringValue, .encoder(child)))
            return child
        }

        private func add(_ value: JSONValue, _ key: Key) {
            encoder.begin(.members)
            encoder.members.append((key.stringValue, .value(value)))
        }
    }

    private struct Elements: UnkeyedEncodingContainer {
        let encoder: JSONValueEncoder

        var codingPath: [any CodingKey] { encoder.codingPath }
        var count: Int { encoder.elements.count }

        func encodeNil() { add(.value(.null)) }

        func encode<T: Encodable>(_ value: T) throws {
            let index = count
            add(.value(try encoder.encoded(value) { JSONPathKey(intValue: index) }))
        }

        func nestedContainer<Nested: CodingKey>(keyedBy type: Nested.Type) -> KeyedEncodingContainer<Nested> {
            child().container(keyedBy: type)
        }

        func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer { child().unkeyedContainer() }

        func superEncoder() -> any Encoder { child() }

        private func child() -> JSONValueEncoder {
            let child = encoder.child { JSONPathKey(intValue: count) }
            add(.encoder(child))
            return child
        }

        private func add(_ part: Part) {
            encoder.begin(.elements)
            encoder.elements.append(part)
        }
    }
}

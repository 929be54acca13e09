import Foundation
import Primitives

/// Reads types straight from JSON values, without the way through text. Its errors are `DecodingError` and hold no value.
struct PayloadDecoder: Decoder {
    /// A payload is a dictionary, what is nested in it keeps its order.
    fileprivate enum Node {
        case payload(JSONObject)
        case value(JSONValue)
    }

    fileprivate let node: Node
    let codingPath: [any CodingKey]
    var userInfo: [CodingUserInfoKey: Any] { [:] }

    init(payload: JSONObject) {
        node = .payload(payload)
        codingPath = []
    }

    fileprivate init(_ value: JSONValue, _ path: [any CodingKey]) {
        node = .value(value)
        codingPath = path
    }

    /// `value` as a `T`.
    static func decode<T: Decodable>(_ type: T.Type, from value: JSONValue, at path: [any CodingKey] = []) throws -> T {
        if let special = try special(type, value, path) { return special }
        do {
            return try T(from: PayloadDecoder(value, path))
        } catch let error where !(error is DecodingError) {
            throw DecodingError.dataCorrupted(.init(codingPath: path, debugDescription: "", underlyingError: error))
        }
    }

    /// The types whose own `Codable` is not what JSON says for them; `nil` for all others.
    private static func special<T: Decodable>(_ type: T.Type, _ value: JSONValue, _ path: [any CodingKey]) throws -> T?
    {
        let found: Any?
        if type == JSONValue.self {
            found = value
        } else if type == Date.self {
            // Seconds since 2001 are what Foundation's encoder writes where nobody says otherwise.
            found =
                value.stringValue.flatMap(RFC3339.date(from:))
                ?? value.doubleValue.map(Date.init(timeIntervalSinceReferenceDate:))
        } else if type == Data.self {
            found = value.stringValue.flatMap { Data(base64Encoded: $0) }
        } else if type == URL.self {
            found = value.stringValue.flatMap(URL.init(string:))
        } else if type == Decimal.self {
            if case .number(let number) = value { found = number.decimal } else { found = nil }
        } else {
            return nil
        }
        guard let found = found as? T else { throw mismatch(type, value, path) }
        return found
    }

    fileprivate static func mismatch(_ type: Any.Type, _ value: JSONValue, _ path: [any CodingKey]) -> DecodingError {
        let context = DecodingError.Context(codingPath: path, debugDescription: "It must be \(type).")
        return value.isNull ? .valueNotFound(type, context) : .typeMismatch(type, context)
    }

    func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
        switch node {
        case .payload(let object):
            return KeyedDecodingContainer(Fields(names: Array(object.keys), codingPath: codingPath) { object[$0] })
        case .value(.object(let members)):
            return KeyedDecodingContainer(Fields(names: members.keys, codingPath: codingPath) { members[$0] })
        case .value(let value): throw Self.mismatch([String: JSONValue].self, value, codingPath)
        }
    }

    func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
        guard let elements = value.arrayValue else { throw Self.mismatch([JSONValue].self, value, codingPath) }
        return Elements(elements: elements, codingPath: codingPath)
    }

    func singleValueContainer() throws -> any SingleValueDecodingContainer {
        Single(value: value, codingPath: codingPath)
    }

    private var value: JSONValue {
        switch node {
        case .payload(let object): .object(object)
        case .value(let value): value
        }
    }
}

// MARK: - Containers

extension PayloadDecoder {
    private struct Fields<Key: CodingKey>: KeyedDecodingContainerProtocol {
        let names: [String]
        let codingPath: [any CodingKey]
        let find: (String) -> JSONValue?

        var allKeys: [Key] { names.compactMap(Key.init(stringValue:)) }
        func contains(_ key: Key) -> Bool { find(key.stringValue) != nil }
        func decodeNil(forKey key: Key) throws -> Bool { try value(key).isNull }

        func decode<T: Decodable>(_ type: T.Type, forKey key: Key) throws -> T {
            try PayloadDecoder.decode(type, from: value(key), at: codingPath + [key])
        }

        func nestedContainer<Nested: CodingKey>(
            keyedBy type: Nested.Type, forKey key: Key
        ) throws -> KeyedDecodingContainer<Nested> {
            try decoder(key).container(keyedBy: type)
        }

        func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
            try decoder(key).unkeyedContainer()
        }

        func superDecoder() throws -> any Decoder {
            PayloadDecoder(find("super") ?? .null, codingPath + [PayloadKey(stringValue: "super")])
        }

        func superDecoder(forKey key: Key) throws -> any Decoder { try decoder(key) }

        private func decoder(_ key: Key) throws -> PayloadDecoder {
            PayloadDecoder(try value(key), codingPath + [key])
        }

        private func value(_ key: Key) throws -> JSONValue {
            if let value = find(key.stringValue) { return value }
            throw DecodingError.keyNotFound(key, .init(codingPath: codingPath, debugDescription: "It is missing."))
        }
    }

    private struct Elements: UnkeyedDecodingContainer {
        let elements: [JSONValue]
        let codingPath: [any CodingKey]
        var currentIndex = 0

        var count: Int? { elements.count }
        var isAtEnd: Bool { currentIndex >= elements.count }
        private var path: [any CodingKey] { codingPath + [PayloadKey(intValue: currentIndex)] }

        mutating func decodeNil() throws -> Bool {
            guard try peek().isNull else { return false }
            currentIndex += 1
            return true
        }

        mutating func decode<T: Decodable>(_ type: T.Type) throws -> T {
            let decoded = try PayloadDecoder.decode(type, from: peek(), at: path)
            currentIndex += 1
            return decoded
        }

        mutating func nestedContainer<Nested: CodingKey>(
            keyedBy type: Nested.Type
        ) throws -> KeyedDecodingContainer<Nested> {
            try superDecoder().container(keyedBy: type)
        }

        mutating func nestedUnkeyedContainer() throws -> any UnkeyedDecodingContainer {
            try superDecoder().unkeyedContainer()
        }

        mutating func superDecoder() throws -> any Decoder {
            let decoder = PayloadDecoder(try peek(), path)
            currentIndex += 1
            return decoder
        }

        private func peek() throws -> JSONValue {
            if !isAtEnd { return elements[currentIndex] }
            throw DecodingError.valueNotFound(
                JSONValue.self, .init(codingPath: path, debugDescription: "The list ends before it."))
        }
    }

    private struct Single: SingleValueDecodingContainer {
        let value: JSONValue
        let codingPath: [any CodingKey]

        func decodeNil() -> Bool { value.isNull }
        func decode<T: Decodable>(_ type: T.Type) throws -> T {
            try PayloadDecoder.decode(type, from: value, at: codingPath)
        }

        func decode(_ type: Bool.Type) throws -> Bool { try expect(value.boolValue) }
        func decode(_ type: String.Type) throws -> String { try expect(value.stringValue) }
        func decode(_ type: Double.Type) throws -> Double { try expect(value.doubleValue) }
        func decode(_ type: Float.Type) throws -> Float { try expect(value.doubleValue.map(Float.init)) }
        func decode(_ type: Int.Type) throws -> Int { try integer() }
        func decode(_ type: Int8.Type) throws -> Int8 { try integer() }
        func decode(_ type: Int16.Type) throws -> Int16 { try integer() }
        func decode(_ type: Int32.Type) throws -> Int32 { try integer() }
        func decode(_ type: Int64.Type) throws -> Int64 { try integer() }
        func decode(_ type: UInt.Type) throws -> UInt { try integer() }
        func decode(_ type: UInt8.Type) throws -> UInt8 { try integer() }
        func decode(_ type: UInt16.Type) throws -> UInt16 { try integer() }
        func decode(_ type: UInt32.Type) throws -> UInt32 { try integer() }
        func decode(_ type: UInt64.Type) throws -> UInt64 { try integer() }

        private func integer<Number: FixedWidthInteger>() throws -> Number {
            guard case .number(let number) = value else { return try expect(nil) }
            return try expect(Number(number.text) ?? number.double.flatMap(Number.init(exactly:)))
        }

        private func expect<T>(_ found: T?) throws -> T {
            guard let found else { throw PayloadDecoder.mismatch(T.self, value, codingPath) }
            return found
        }
    }
}

/// A place in a payload that no type has declared: an element of a list.
struct PayloadKey: CodingKey {
    let stringValue: String
    let intValue: Int?

    init(stringValue: String) {
        self.stringValue = stringValue
        intValue = nil
    }

    init(intValue: Int) {
        stringValue = "\(intValue)"
        self.intValue = intValue
    }
}

import Foundation
import Primitives

/// The JSON of Souk's own wire: dates are RFC 3339 text in UTC.
///
///     let body = try WireJSON.encode(request)
///     let answer = try WireJSON.decode(Customer.self, from: bytes)
public enum WireJSON {
    private static let rules = JSONCodingRules(dates: .text)

    /// Returns the bytes of `value`, with the members of each object in the order of their names.
    ///
    /// Throws `EncodingError` for a value that JSON cannot express, such as NaN.
    public static func encode(_ value: some Encodable) throws -> [UInt8] {
        var writer = JSONWriter(sortedKeys: true)
        writer.write(try JSONValueEncoder.encode(value, rules: rules))
        return writer.bytes
    }

    /// Reads one JSON document.
    ///
    /// Throws `DecodingError`, which names the path of the value that does not fit. Bytes that `JSONValue(parsing:)`
    /// refuses, for a duplicate key or for their depth for example, are corrupted data, with the `JSONError` underneath.
    public static func decode<T: Decodable>(_ type: T.Type, from bytes: [UInt8]) throws -> T {
        let document: JSONValue
        do {
            document = try JSONValue(parsing: bytes)
        } catch {
            throw DecodingError.dataCorrupted(
                .init(codingPath: [], debugDescription: "The bytes are not JSON: \(error).", underlyingError: error))
        }
        return try decode(type, from: document)
    }

    /// Reads a document that is parsed already. Throws `DecodingError`, as for bytes.
    package static func decode<T: Decodable>(_ type: T.Type, from document: JSONValue) throws -> T {
        try JSONValueDecoder.decode(type, from: document, rules: rules)
    }

    /// Returns the document that `encode` writes, for a reader in the same process.
    package static func document(_ value: some Encodable) throws -> JSONValue {
        try JSONValueEncoder.encode(value, rules: rules).sortedByName
    }
}

import Foundation
import Primitives

/// The JSON encoding of Souk's own formats. Dates are RFC 3339 strings in UTC.
///
///     let body = try WireJSON.encode(request)
///     let answer = try WireJSON.decode(Customer.self, from: bytes)
public enum WireJSON {
    private static let rules = JSONCodingRules(dates: .text)

    /// Returns a value as JSON, with the members of each object in the order of their names.
    ///
    /// - Parameter value: The value to encode.
    /// - Returns: The bytes of the JSON document.
    /// - Throws: `EncodingError` for a value that JSON cannot express, such as NaN.
    public static func encode(_ value: some Encodable) throws -> [UInt8] {
        var writer = JSONWriter(sortedKeys: true)
        writer.write(try JSONValueEncoder.encode(value, rules: rules))
        return writer.bytes
    }

    /// Decodes a value from one JSON document.
    ///
    /// If `JSONValue(parsing:)` refuses the bytes, for example because of a duplicate key or deep nesting, the error is
    /// `dataCorrupted`. Its underlying error is the `JSONError`.
    ///
    /// - Parameters:
    ///   - type: The type of the value.
    ///   - bytes: The JSON document.
    /// - Returns: The decoded value.
    /// - Throws: `DecodingError`, with the path of the value that does not fit.
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

    /// Decodes a value from a parsed document. Throws `DecodingError`, as for bytes.
    package static func decode<T: Decodable>(_ type: T.Type, from document: JSONValue) throws -> T {
        try JSONValueDecoder.decode(type, from: document, rules: rules)
    }

    /// Returns the document that `encode` writes, for a reader in the same process.
    package static func document(_ value: some Encodable) throws -> JSONValue {
        try JSONValueEncoder.encode(value, rules: rules).sortedByName
    }
}

import Foundation
import Primitives

extension JSONObject {
    /// Returns a field as a type of the caller.
    ///
    ///     let productID = try payload.require("productID", as: String.self)
    ///
    /// - Parameters:
    ///   - field: The name of the field.
    ///   - type: The type to decode.
    /// - Returns: The decoded value.
    /// - Throws: `PluginError` with the code `missingField` when the field, or a field within it, is missing, or is
    ///   null and `type` is not `JSONValue`, and `invalidField` when a value has another type. The sentence contains
    ///   the path of the field, such as `items[2].price`.
    public func require<T: Decodable>(_ field: String, as type: T.Type) throws -> T {
        guard let value = self[field], !value.isNull || type == JSONValue.self else {
            throw PluginError(
                .missingField, "The payload must have the field \"\(field)\": \(PayloadCoding.phrase(type)).")
        }
        // Most fields have one of these types, which need no decoder.
        let plain: Any? =
            if type == String.self {
                value.stringValue
            } else if type == Int.self {
                value.intValue
            } else if type == Bool.self {
                value.boolValue
            } else if type == JSONValue.self {
                value
            } else {
                nil
            }
        if let plain = plain as? T { return plain }
        do {
            return try JSONValueDecoder.decode(type, from: value, rules: PayloadCoding.rules)
        } catch {
            throw PayloadCoding.refusal(error, "payload", under: [JSONPathKey(stringValue: field)], nil)
        }
    }
}

extension JSONObject? {
    /// Returns a field as a type of the caller. A missing payload has no fields.
    ///
    /// - Parameters:
    ///   - field: The name of the field.
    ///   - type: The type to decode.
    /// - Returns: The decoded value.
    /// - Throws: `PluginError` with the code `missingField` or `invalidField`.
    public func require<T: Decodable>(_ field: String, as type: T.Type) throws -> T {
        try (self ?? [:]).require(field, as: type)
    }
}

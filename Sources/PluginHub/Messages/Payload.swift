import Foundation
import Primitives

extension JSONObject {
    /// The member called `field` as one of the caller's types.
    ///
    /// Throws `PluginError`: `missingField` when it, or a field within it, is absent or null, `invalidField` when that is
    /// something else. The sentence names the field by its path, as in `items[2].price`.
    ///
    ///     let productID = try payload.require("productID", as: String.self)
    public func require<T: Decodable>(_ field: String, as type: T.Type) throws -> T {
        guard let value = self[field], !value.isNull || type == JSONValue.self else {
            throw PluginError(
                .missingField, "The payload must have the field \"\(field)\": \(PayloadCoding.phrase(type)).")
        }
        // The kinds most payloads are made of, without the way through an encoder.
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
    /// As on `JSONObject`; no payload at all has no field.
    public func require<T: Decodable>(_ field: String, as type: T.Type) throws -> T {
        try (self ?? [:]).require(field, as: type)
    }
}

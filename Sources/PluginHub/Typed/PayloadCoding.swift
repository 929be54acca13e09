import Foundation
import Primitives

/// Conversion between typed messages and payloads. Throws the same errors as `require`.
enum PayloadCoding {
    /// The coding rules. Dates are RFC 3339 text. Seconds since 2001 are accepted too, because Foundation's encoder
    /// writes them by default.
    static let rules = JSONCodingRules(dates: .textOrSeconds, errors: .mismatches)

    /// Decodes a payload. `subject` describes it in an error message, without an article.
    static func decode<T: Decodable>(
        _ type: T.Type, from payload: JSONObject?, _ subject: @autoclosure () -> String, _ message: Message?
    ) throws -> T {
        do {
            return try JSONValueDecoder.decode(type, from: payload ?? [:], rules: rules)
        } catch {
            throw refusal(error, subject(), message)
        }
    }

    static func encode(
        _ value: some Encodable, _ subject: @autoclosure () -> String, _ message: Message?
    ) throws -> JSONObject {
        let encoded: JSONValue
        do {
            encoded = try JSONValueEncoder.encode(value, rules: rules)
        } catch {
            throw refusal(error, subject(), message)
        }
        guard let object = encoded.objectValue else {
            throw PluginError(
                .invalidField, "The \(subject()) must be a JSON object: wrap it in a type with a field.",
                message: message?.name)
        }
        return object
    }

    /// Returns the JSON name of `type` with its article.
    static func phrase(_ type: Any.Type) -> String {
        switch type {
        case is String.Type: "a string"
        case is Bool.Type: "true or false"
        case is any FixedWidthInteger.Type: "a whole number (\(type))"
        case is any BinaryFloatingPoint.Type, is Decimal.Type: "a number"
        case is Date.Type: "a date and time (RFC 3339)"
        case is Data.Type: "data in base64"
        case is URL.Type: "a URL"
        case is any ExpressibleByDictionaryLiteral.Type: "an object"
        case is any ExpressibleByArrayLiteral.Type: "an array"
        default: "a value of the type \(type)"
        }
    }

    /// Returns the error for a value that could not be decoded from, or encoded to, `subject`. It contains no values.
    static func refusal(
        _ error: any Error, _ subject: String, under parents: [any CodingKey] = [], _ message: Message?
    ) -> PluginError {
        let (code, path, rule): (PluginError.Code, [any CodingKey], String) =
            switch error {
            case DecodingError.keyNotFound(let key, let context):
                (.missingField, context.codingPath + [key], "is missing")
            case DecodingError.valueNotFound(let type, let context):
                (.missingField, context.codingPath, "is missing: it must be \(phrase(type))")
            case DecodingError.typeMismatch(let type, let context):
                (.invalidField, context.codingPath, "must be \(phrase(type))")
            case DecodingError.dataCorrupted(let context):
                (.invalidField, context.codingPath, "cannot be read")
            case EncodingError.invalidValue(_, let context):
                (.invalidField, context.codingPath, "has a value that JSON cannot express")
            default: (.invalidField, [], "is not accepted by its type")
            }
        let place = (parents + path).dotted
        let sentence =
            place.isEmpty ? "The \(subject) \(rule)." : "The field \"\(place)\" of the \(subject) \(rule)."
        return PluginError(code, sentence, message: message?.name, underlying: error)
    }
}

extension [any CodingKey] {
    /// The path in the form `items[2].price`.
    var dotted: String {
        reduce(into: "") { text, key in
            if let index = key.intValue {
                text += "[\(index)]"
            } else {
                text += text.isEmpty ? key.stringValue : "." + key.stringValue
            }
        }
    }
}

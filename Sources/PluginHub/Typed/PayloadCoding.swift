/// Between the types of the typed layer and payloads. What does not fit is refused as `require` refuses it.
enum PayloadCoding {
    /// - Parameter subject: what is read, as in a sentence, without its article.
    static func decode<T: Decodable>(
        _ type: T.Type, from payload: JSONObject?, _ subject: @autoclosure () -> String, _ message: Message?
    ) throws -> T {
        do {
            return try T(from: PayloadDecoder(payload: payload ?? [:]))
        } catch {
            throw refusal(error, subject(), message)
        }
    }

    static func encode(
        _ value: some Encodable, _ subject: @autoclosure () -> String, _ message: Message?
    ) throws -> JSONObject {
        let encoded: JSONValue
        do {
            encoded = try PayloadEncoder.encode(value)
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

    /// Why a value of some type could not be read from, or written to, `subject`. Names no values.
    static func refusal(
        _ error: any Error, _ subject: String, under parents: [any CodingKey] = [], _ message: Message?
    ) -> PluginError {
        let (code, path, rule): (PluginError.Code, [any CodingKey], String) =
            switch error {
            case DecodingError.keyNotFound(let key, let context):
                (.missingField, context.codingPath + [key], "is missing")
            case DecodingError.valueNotFound(let type, let context):
                (.missingField, context.codingPath, "is missing (\(type))")
            case DecodingError.typeMismatch(let type, let context):
                (.invalidField, context.codingPath, "must be \(type)")
            case DecodingError.dataCorrupted(let context):
                (.invalidField, context.codingPath, "cannot be read")
            case EncodingError.invalidValue(_, let context):
                (.invalidField, context.codingPath, "has a value that JSON cannot say")
            default: (.invalidField, [], "is refused by its type")
            }
        let place = (parents + path).dotted
        let sentence =
            place.isEmpty ? "The \(subject) \(rule)." : "The field \"\(place)\" of the \(subject) \(rule)."
        return PluginError(code, sentence, message: message?.name, underlying: error)
    }
}

extension [any CodingKey] {
    /// As in `items[2].price`.
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

import HTTPCore
import Primitives

extension RecordSelector {
    /// Selects requests whose body contains `text`. Only buffered bodies are searched; see ``BodyStreamFloret``.
    public static func body(containing text: String) -> RecordSelector {
        RecordSelector { record in
            guard let bytes = record.designatedRequest.body.buffered else { return false }
            return text.isEmpty || String(decoding: bytes, as: UTF8.self).contains(text)
        }
    }

    /// Selects requests whose body is JSON that contains a value. Only buffered bodies are compared.
    ///
    /// - Parameter value: The JSON to compare with. Objects in the body may have more members, at any depth. Arrays
    ///   must have the same number of elements, and other values must be equal.
    public static func bodyJSON(_ value: JSONValue) -> RecordSelector {
        RecordSelector { record in
            guard let bytes = record.designatedRequest.body.buffered, let body = try? JSONValue(parsing: bytes) else {
                return false
            }
            return body.contains(value)
        }
    }
}

extension JSONValue {
    fileprivate func contains(_ wanted: JSONValue) -> Bool {
        switch (self, wanted) {
        case (.object(let mine), .object(let theirs)):
            theirs.allSatisfy { name, value in mine[name]?.contains(value) ?? false }
        case (.array(let mine), .array(let theirs)):
            mine.count == theirs.count && zip(mine, theirs).allSatisfy { $0.contains($1) }
        default: self == wanted
        }
    }
}

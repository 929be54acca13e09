import HTTPCore
import Primitives

extension RecordSelector {
    /// Requests whose body has this text in it. Only a body that is at hand is looked at; see `BodyStreamFloret`.
    public static func body(containing text: String) -> RecordSelector {
        RecordSelector { record in
            guard let bytes = record.designatedRequest.body.buffered else { return false }
            return text.isEmpty || String(decoding: bytes, as: UTF8.self).contains(text)
        }
    }

    /// Requests whose body is JSON that says at least what `value` says: an object may have more members, everything
    /// else is equal. Only a body that is at hand is looked at.
    public static func bodyJSON(_ value: JSONValue) -> RecordSelector {
        RecordSelector { record in
            guard let bytes = record.designatedRequest.body.buffered, let body = try? JSONValue(parsing: bytes) else {
                return false
            }
            return body.says(value)
        }
    }
}

extension JSONValue {
    fileprivate func says(_ wanted: JSONValue) -> Bool {
        switch (self, wanted) {
        case (.object(let mine), .object(let theirs)):
            theirs.allSatisfy { name, value in mine[name]?.says(value) ?? false }
        case (.array(let mine), .array(let theirs)):
            mine.count == theirs.count && zip(mine, theirs).allSatisfy { $0.says($1) }
        default: self == wanted
        }
    }
}

import HTTPCore
import Primitives

/// One change to a record, as a value: what a `FindReplaceFloret` is made of.
public struct RecordModifier: Sendable {
    /// Which message of the record is changed: the designated request before it is sent, or the answer.
    enum Side: Sendable, Hashable { case request, response }

    /// What it does, in a few words.
    public let name: String
    /// The changed record, and why nothing was changed where somebody should know.
    let modify: @Sendable (Record, Side) async -> (Record, complaint: String?)

    public init(_ name: String = "Own change", modify: @escaping @Sendable (Record) async -> Record) {
        self.name = name
        self.modify = { record, _ in (await modify(record), nil) }
    }

    /// Changes one property of the record.
    public init<Value>(
        _ name: String = "Own change", keyPath: any WritableKeyPath<Record, Value> & Sendable,
        modifier: @escaping @Sendable (Value) -> Value
    ) {
        self.init(name) { record in
            var record = record
            record[keyPath: keyPath] = modifier(record[keyPath: keyPath])
            return record
        }
    }

    private init(
        _ name: String, changing modify: @escaping @Sendable (Record, Side) async -> (Record, complaint: String?)
    ) {
        self.name = name
        self.modify = modify
    }

    /// The same, only for records that `selector` selects.
    public func when(_ selector: RecordSelector) -> RecordModifier {
        RecordModifier(
            name, changing: { [modify] in selector.selects($0) ? await modify($0, $1) : ($0, nil) })
    }
}

extension RecordModifier {
    /// What becomes of the lines of a header; names compare without case.
    public enum HeaderChange: Sendable, Hashable {
        /// One line with this value, in place of all of that name.
        case set(String, String)
        /// One line more.
        case append(String, String)
        case remove(String)
        /// In the value of every line of that name.
        case replace(String, TextPattern, with: String)

        fileprivate func apply(to headers: inout HTTPHeaders) {
            switch self {
            case .set(let name, let value): headers[name] = value
            case .append(let name, let value): headers.add(name, value)
            case .remove(let name): headers[name] = nil
            case .replace(let name, let pattern, let replacement):
                for index in headers.fields.indices where headers.fields[index].name.equalsIgnoringCase(name) {
                    headers.fields[index].value = pattern.replacing(in: headers.fields[index].value, with: replacement)
                }
            }
        }

        fileprivate var sentence: String {
            switch self {
            case .set(let name, _): "Set the header \(name)"
            case .append(let name, _): "Append a header \(name)"
            case .remove(let name): "Remove the header \(name)"
            case .replace(let name, let pattern, _): "Replace \(pattern) in the header \(name)"
            }
        }
    }

    /// Changes a header, and then the others, of the side it is used for.
    public static func header(_ change: HeaderChange) -> RecordModifier {
        RecordModifier(
            change.sentence,
            changing: { record, side in
                var record = record
                if side == .request {
                    change.apply(to: &record.designatedRequest.headers)
                } else if case .success(var response)? = record.result {
                    change.apply(to: &response.headers)
                    record.result = .success(response)
                }
                return (record, nil)
            })
    }

    /// Replaces in the URL of the request, in its percent-encoded form; a `Host` header follows. In an answer it changes
    /// nothing. What is no absolute http or https URL afterwards is left as it was, and reported.
    public static func url(replacing pattern: TextPattern, with replacement: String) -> RecordModifier {
        RecordModifier(
            "Replace \(pattern) in the URL",
            changing: { record, side in
                let url = pattern.replacing(in: record.designatedRequest.url, with: replacement)
                guard side == .request, url != record.designatedRequest.url else { return (record, nil) }
                guard let parts = URLParts(url), ["http", "https"].contains(parts.scheme.lowercased()) else {
                    return (record, "Replacing \(pattern) in a URL made no absolute http or https URL of it.")
                }
                var record = record
                record.designatedRequest.redirect(to: url)
                return (record, nil)
            })
    }

    /// Replaces in the text of a body of at most `limit` bytes; a `Content-Length` that was there follows.
    ///
    /// A body that is compressed, longer, or not UTF-8 is left alone, and that is reported. One that streams is read
    /// first, so whoever waits for its head waits longer. Event streams, which may never end, and what by its
    /// `Content-Type` is no text pass untouched.
    public static func body(
        replacing pattern: TextPattern, with replacement: String, upTo limit: Int = 1 << 20
    ) -> RecordModifier {
        let change = BodyChange(pattern: pattern, replacement: replacement, limit: limit)
        return RecordModifier(
            "Replace \(pattern) in the body",
            changing: { record, side in
                var record = record
                var complaint: String?
                if side == .request {
                    var request = record.designatedRequest
                    complaint = await change.apply(to: &request.body, &request.headers)
                    record.designatedRequest = request
                } else if case .success(var response)? = record.result {
                    complaint = await change.apply(to: &response.body, &response.headers)
                    record.result = .success(response)
                }
                return (record, complaint)
            })
    }
}

/// A replacement in the text of a body.
private struct BodyChange: Sendable {
    let pattern: TextPattern
    let replacement: String
    let limit: Int

    /// Answers why the body was left as it is, where somebody should know.
    func apply(to body: inout HTTPBody, _ headers: inout HTTPHeaders) async -> String? {
        guard body.length != 0, !headers.isOfEventStream, Self.isText(headers.mediaType) else { return nil }
        let encodings = headers.values("Content-Encoding").filter { !$0.equalsIgnoringCase("identity") }
        guard encodings.isEmpty else {
            return "A compressed body was left as it is (\(encodings.joined(separator: ", ")))."
        }
        body = await body.gathered(upTo: limit)
        guard let bytes = body.buffered, bytes.count <= limit else {
            return "A body that failed or has more than \(limit) bytes was left as it is."
        }
        guard let text = String(utf8: bytes) else {
            return "A body that is not UTF-8 was left as it is."
        }
        let changed = pattern.replacing(in: text, with: replacement)
        guard changed != text else { return nil }
        body = .text(changed)
        if headers.contains("Content-Length") { headers["Content-Length"] = String(changed.utf8.count) }
        return nil
    }

    /// A body without a type may be text.
    private static func isText(_ type: String?) -> Bool {
        guard let type else { return true }
        return type.hasPrefix("text/") || type == "application/x-www-form-urlencoded" || type == "application/graphql"
            || ["json", "xml", "javascript", "yaml"].contains { type.hasSuffix("/\($0)") || type.hasSuffix("+\($0)") }
            || type == "application/x-ndjson"
    }
}

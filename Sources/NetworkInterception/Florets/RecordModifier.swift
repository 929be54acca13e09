import HTTPCore
import Primitives

/// A change of a record, as a ``FindReplaceFloret`` applies it.
public struct RecordModifier: Sendable {
    /// The message that is changed: the designated request before it is sent, or the response.
    enum Side: Sendable, Hashable { case request, response }

    /// The name of the change on screens.
    public let name: String
    /// Returns the changed record, and a warning if a message was left unchanged for a reason that should be reported.
    let modify: @Sendable (Record, Side) async -> (Record, warning: String?)

    /// Creates a change from a function.
    ///
    /// - Parameters:
    ///   - name: The name of the change on screens.
    ///   - modify: Returns the changed record.
    public init(_ name: String = "Custom change", modify: @escaping @Sendable (Record) async -> Record) {
        self.name = name
        self.modify = { record, _ in (await modify(record), nil) }
    }

    /// Creates a change of one property of the record.
    ///
    /// - Parameters:
    ///   - name: The name of the change on screens.
    ///   - keyPath: The property.
    ///   - modifier: Returns the new value of the property.
    public init<Value>(
        _ name: String = "Custom change", keyPath: any WritableKeyPath<Record, Value> & Sendable,
        modifier: @escaping @Sendable (Value) -> Value
    ) {
        self.init(name) { record in
            var record = record
            record[keyPath: keyPath] = modifier(record[keyPath: keyPath])
            return record
        }
    }

    private init(
        _ name: String, changing modify: @escaping @Sendable (Record, Side) async -> (Record, warning: String?)
    ) {
        self.name = name
        self.modify = modify
    }

    /// Returns the same change, restricted to records that `selector` selects.
    public func when(_ selector: RecordSelector) -> RecordModifier {
        RecordModifier(
            name, changing: { [modify] in selector.selects($0) ? await modify($0, $1) : ($0, nil) })
    }
}

extension RecordModifier {
    /// A change of the lines of a header. Names are compared without case.
    public enum HeaderChange: Sendable, Hashable {
        /// Replaces all lines of this name with one line of this value.
        case set(String, String)
        /// Adds a line.
        case append(String, String)
        /// Removes all lines of this name.
        case remove(String)
        /// Replaces text in the value of every line of this name.
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

    /// Changes a header of the request or of the response, depending on the list that contains the modifier.
    ///
    /// - Parameter change: The change.
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

    /// Replaces text in the percent-encoded URL of the request, and updates a `Host` header. A response is not changed.
    ///
    /// If the result is not an absolute http or https URL, the URL is left unchanged, which is reported.
    ///
    /// - Parameters:
    ///   - pattern: The text to replace.
    ///   - replacement: The replacement.
    public static func url(replacing pattern: TextPattern, with replacement: String) -> RecordModifier {
        RecordModifier(
            "Replace \(pattern) in the URL",
            changing: { record, side in
                let url = pattern.replacing(in: record.designatedRequest.url, with: replacement)
                guard side == .request, url != record.designatedRequest.url else { return (record, nil) }
                guard let parts = URLParts(url), ["http", "https"].contains(parts.scheme.lowercased()) else {
                    return (record, "Replacing \(pattern) in a URL does not result in an absolute http or https URL.")
                }
                var record = record
                record.designatedRequest.redirect(to: url)
                return (record, nil)
            })
    }

    /// Replaces text in a body of at most `limit` bytes, and updates a `Content-Length`.
    ///
    /// A body that is compressed, longer or not UTF-8, or cannot be read, is left unchanged, which is reported. A
    /// streamed body is first read until it ends or exceeds the limit, which delays the head of a response. Event
    /// streams, which may have no end, and bodies with the `Content-Type` of binary data are left unchanged.
    ///
    /// - Parameters:
    ///   - pattern: The text to replace.
    ///   - replacement: The replacement.
    ///   - limit: The greatest number of bytes of a body that is changed.
    public static func body(
        replacing pattern: TextPattern, with replacement: String, upTo limit: Int = 1 << 20
    ) -> RecordModifier {
        let change = BodyChange(pattern: pattern, replacement: replacement, limit: limit)
        return RecordModifier(
            "Replace \(pattern) in the body",
            changing: { record, side in
                var record = record
                var warning: String?
                if side == .request {
                    var request = record.designatedRequest
                    warning = await change.apply(to: &request.body, &request.headers)
                    record.designatedRequest = request
                } else if case .success(var response)? = record.result {
                    warning = await change.apply(to: &response.body, &response.headers)
                    record.result = .success(response)
                }
                return (record, warning)
            })
    }
}

/// A replacement in the text of a body.
private struct BodyChange: Sendable {
    let pattern: TextPattern
    let replacement: String
    let limit: Int

    /// Changes the body. If the body was left unchanged, returns the reason that the interceptor should report, or
    /// `nil` for no report.
    func apply(to body: inout HTTPBody, _ headers: inout HTTPHeaders) async -> String? {
        guard body.length != 0, !headers.isOfEventStream, Self.isText(headers.mediaType) else { return nil }
        let encodings = headers.values("Content-Encoding").filter { !$0.equalsIgnoringCase("identity") }
        guard encodings.isEmpty else {
            return "A compressed body was left unchanged (\(encodings.joined(separator: ", ")))."
        }
        body = await body.gathered(upTo: limit)
        guard let bytes = body.buffered, bytes.count <= limit else {
            return "A body that failed or has more than \(limit) bytes was left unchanged."
        }
        guard let text = String(utf8: bytes) else {
            return "A body that is not UTF-8 was left unchanged."
        }
        let changed = pattern.replacing(in: text, with: replacement)
        guard changed != text else { return nil }
        body = .text(changed)
        if headers.contains("Content-Length") { headers["Content-Length"] = String(changed.utf8.count) }
        return nil
    }

    /// Whether the media type is text. A body without a type may be text.
    private static func isText(_ type: String?) -> Bool {
        guard let type else { return true }
        return type.hasPrefix("text/") || type == "application/x-www-form-urlencoded" || type == "application/graphql"
            || ["json", "xml", "javascript", "yaml"].contains { type.hasSuffix("/\($0)") || type.hasSuffix("+\($0)") }
            || type == "application/x-ndjson"
    }
}

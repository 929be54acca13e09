import Foundation
import HTTPCore
import Primitives

extension HARDocument {
    /// The settings of an export.
    public struct ExportOptions: Sendable {
        /// The greatest number of bytes of a body. A longer one is left out, with a comment; `nil` means no limit.
        public var maximumBodyBytes: Int?
        /// The rules that remove secrets. They also apply to stored records, which were redacted before.
        public var redaction = Redaction.standard
        /// The name and version of the program that writes the file.
        public var creator = (name: "Souk", version: "0.2.0")

        /// Creates the standard settings.
        public init() {}
    }

    /// Creates a document from records, sorted by their start. Of records with the same start, the older one comes
    /// first, whether the list is newest or oldest first.
    ///
    /// The request of an entry is the designated request. Members with an underscore extend HAR:
    ///
    /// - `_id`, and `_changes` with the changes that florets made.
    /// - `_original`: the app's request, if a floret changed it.
    /// - `_error`, `_errorKind` and `_errorCode` of a failed request, or `_underway` of a request without a result. The
    ///   response of such an entry has the status 0.
    /// - `_end`: how the transfer of the response body ended, if it is incomplete (``Record/BodyTransfer/End``).
    /// - `_encoding`: `base64` for a request body that is not UTF-8. A response body has `encoding` instead.
    ///
    /// - Parameters:
    ///   - records: The records.
    ///   - options: The settings of the export.
    public init(_ records: [Record], options: ExportOptions = ExportOptions()) {
        let instants = records.map { $0.timing.started ?? .distantPast }
        let isNewestFirst = zip(instants, instants.dropFirst()).contains { $0 > $1 }
        let ordered = zip(instants, records).enumerated().sorted { left, right in
            let (one, other) = isNewestFirst ? (right.offset, left.offset) : (left.offset, right.offset)
            return (left.element.0, one) < (right.element.0, other)
        }
        let writer = HARWriter(options: options)
        self.init(json: [
            "log": [
                "version": "1.2",
                "creator": ["name": .string(options.creator.name), "version": .string(options.creator.version)],
                "pages": [],
                "entries": .array(ordered.map { writer.entry(options.redaction.redactedAsDecoded($0.element.1)) }),
            ]
        ])
    }
}

private struct HARWriter {
    let options: HARDocument.ExportOptions

    func entry(_ record: Record) -> JSONValue {
        let times = Times(record.timing)
        var entry: JSONMembers = [
            "startedDateTime": .string(Self.text(record.timing.started ?? Date(timeIntervalSince1970: 0))),
            "time": Self.milliseconds(times.total),
            "request": request(record.designatedRequest, record.bodies.designated ?? record.bodies.original),
            "response": response(record), "cache": [:],
            "timings": [
                "blocked": Self.milliseconds(times.blocked), "dns": -1, "connect": -1, "send": 0,
                "wait": Self.milliseconds(times.wait), "receive": Self.milliseconds(times.receive), "ssl": -1,
            ],
            "_id": .string(record.id.uuidString),
        ]
        let original = request(record.originalRequest, record.bodies.original)
        if original != entry["request"] { entry["_original"] = original }
        if !record.changes.isEmpty {
            entry["_changes"] = .array(
                record.changes.map { ["floret": .string($0.floret), "kind": .string($0.kind.rawValue)] })
        }
        return .object(entry)
    }

    /// Durations in microseconds, so that they add up exactly.
    private struct Times {
        let blocked, wait, receive: Int

        init(_ timing: Record.Timing) {
            func span(_ start: Date?, _ end: Date?) -> Int {
                guard let start, let end else { return 0 }
                return max(0, Int((end.timeIntervalSince(start) * 1_000_000).rounded()))
            }
            blocked = span(timing.started, timing.sent)
            wait = span(timing.sent ?? timing.started, timing.answered)
            receive = span(timing.answered, timing.ended)
        }

        var total: Int { blocked + wait + receive }
    }

    private static func milliseconds(_ microseconds: Int) -> JSONValue { .number(Double(microseconds) / 1000) }

    /// Formats a date with milliseconds, which some programs expect.
    private static func text(_ date: Date) -> String {
        let text = RFC3339.string(from: date)
        return text.contains(".") ? text : "\(text.dropLast()).000Z"
    }

    private func request(_ request: HTTPRequest, _ transfer: Record.BodyTransfer?) -> JSONValue {
        let body = request.body.buffered ?? []
        var members: JSONMembers = [
            "method": .string(request.method.rawValue), "url": .string(request.url), "httpVersion": "HTTP/1.1",
            "cookies": .array(request.headers.values("Cookie").flatMap(Self.cookies)),
            "headers": Self.headers(request.headers), "queryString": Self.query(request), "headersSize": -1,
            "bodySize": .number(transfer?.byteCount ?? body.count),
        ]
        if !body.isEmpty || (transfer?.byteCount ?? 0) > 0 {
            members["postData"] = postData(body, transfer, request.headers["Content-Type"] ?? "")
        }
        return .object(members)
    }

    private func postData(_ body: [UInt8], _ transfer: Record.BodyTransfer?, _ type: String) -> JSONValue {
        var members: JSONMembers = ["mimeType": .string(type)]
        let comment = comment(body, transfer)
        if isLeftOut(body) {
            members["text"] = ""
        } else if let text = String(utf8: body) {
            members["text"] = .string(text)
            if type.lowercased().hasPrefix("application/x-www-form-urlencoded"), let form = HTTPQuery(parsing: text) {
                members["params"] = .array(form.items.map { ["name": .string($0.name), "value": .string($0.value)] })
            }
        } else {
            members["text"] = .string(Data(body).base64EncodedString())
            members["_encoding"] = "base64"
        }
        if let comment { members["comment"] = .string(comment) }
        return .object(members)
    }

    private func response(_ record: Record) -> JSONValue {
        let response = record.response
        let body = response?.body.buffered ?? []
        let headers = response?.headers ?? [:]
        var content: JSONMembers = [
            "size": .number(max(record.bodies.response?.byteCount ?? 0, body.count)),
            "mimeType": .string(headers["Content-Type"] ?? ""),
        ]
        // Programs expect a text, even without a body.
        if isLeftOut(body) {
            content["text"] = ""
        } else if let text = String(utf8: body) {
            content["text"] = .string(text)
        } else {
            content["text"] = .string(Data(body).base64EncodedString())
            content["encoding"] = "base64"
        }
        if let comment = comment(body, record.bodies.response) { content["comment"] = .string(comment) }
        if let end = record.bodies.response?.end, end != .complete { content["_end"] = .string(end.rawValue) }
        var members: JSONMembers = [
            "status": .number(response?.status ?? 0), "statusText": .string(HARWriter.reason(response?.status)),
            "httpVersion": "HTTP/1.1", "cookies": .array(headers.values("Set-Cookie").compactMap(Self.setCookie)),
            "headers": Self.headers(headers), "content": .object(content),
            "redirectURL": .string(headers["Location"] ?? ""),
            "headersSize": -1,
            "bodySize": .number(response == nil ? -1 : record.bodies.response?.byteCount ?? body.count),
        ]
        if let error = record.failure {
            let failure = RecordedFailure(error)
            members["_error"] = .string(failure.reason)
            members["_errorKind"] = .string(failure.kind)
            members["_errorCode"] = .string(failure.code)
        } else if record.result == nil {
            members["_underway"] = true
        }
        return .object(members)
    }

    private func isLeftOut(_ body: [UInt8]) -> Bool { options.maximumBodyBytes.map { body.count > $0 } ?? false }

    private func comment(_ body: [UInt8], _ transfer: Record.BodyTransfer?) -> String? {
        if isLeftOut(body) { return "The body is left out: it is longer than \(options.maximumBodyBytes ?? 0) bytes." }
        guard let transfer, transfer.isCut else { return nil }
        return "Only the first \(body.count) of \(transfer.byteCount) bytes were recorded."
    }

    private static func headers(_ headers: HTTPHeaders) -> JSONValue {
        .array(headers.fields.map { ["name": .string($0.name), "value": .string($0.value)] })
    }

    /// The items of the query, decoded where possible.
    private static func query(_ request: HTTPRequest) -> JSONValue {
        let items =
            request.query?.items.map { ($0.name, $0.value) }
            ?? request.target.drop { $0 != "?" }.dropFirst().split(separator: "&").map { item in
                let name = item.prefix { $0 != "=" }
                return (String(name), String(item.dropFirst(name.count + 1)))
            }
        return .array(items.map { ["name": .string($0), "value": .string($1)] })
    }

    private static func cookies(_ header: String) -> [JSONValue] {
        guard header != SensitiveHeaders.replacement else { return [] }
        return header.split(separator: ";").map { part in
            let halves = part.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            func trimmed(_ text: Substring) -> JSONValue { .string(text.trimmingCharacters(in: .whitespaces)) }
            return ["name": trimmed(halves[0]), "value": halves.count == 2 ? trimmed(halves[1]) : ""]
        }
    }

    private static func setCookie(_ header: String) -> JSONValue? {
        guard header != SensitiveHeaders.replacement else { return nil }
        let parts = header.split(separator: ";").map { $0.trimmingCharacters(in: .whitespaces) }
        guard let first = parts.first, case .object(var cookie)? = cookies(first).first else { return nil }
        for part in parts.dropFirst() {
            let halves = part.split(separator: "=", maxSplits: 1).map(String.init)
            switch halves.first?.lowercased() {
            case "path": cookie["path"] = .string(halves.count == 2 ? halves[1] : "")
            case "domain": cookie["domain"] = .string(halves.count == 2 ? halves[1] : "")
            case "expires":
                if halves.count == 2, let seconds = HTTPDate.seconds(halves[1]) {
                    cookie["expires"] = .string(text(Date(timeIntervalSince1970: Double(seconds))))
                }
            case "httponly": cookie["httpOnly"] = true
            case "secure": cookie["secure"] = true
            default: break
            }
        }
        return .object(cookie)
    }

    private static func reason(_ status: Int?) -> String {
        status.flatMap { reasons[$0] } ?? ""
    }

    private static let reasons = [
        200: "OK", 201: "Created", 202: "Accepted", 204: "No Content", 206: "Partial Content", 301: "Moved Permanently",
        302: "Found", 303: "See Other", 304: "Not Modified", 307: "Temporary Redirect", 308: "Permanent Redirect",
        400: "Bad Request", 401: "Unauthorized", 403: "Forbidden", 404: "Not Found", 405: "Method Not Allowed",
        409: "Conflict", 410: "Gone", 412: "Precondition Failed", 413: "Content Too Large",
        422: "Unprocessable Content",
        429: "Too Many Requests", 500: "Internal Server Error", 502: "Bad Gateway", 503: "Service Unavailable",
        504: "Gateway Timeout",
    ]
}

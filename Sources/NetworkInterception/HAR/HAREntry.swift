import Foundation
import HTTPCore
import Primitives

/// One exchange of a HAR file.
package struct HAREntry: Sendable, Hashable {
    /// The entry as in the file.
    package let json: JSONValue

    init(_ json: JSONValue) { self.json = json }

    /// The start of the request.
    package var started: Date? { json["startedDateTime"]?.stringValue.flatMap(Self.date) }

    /// The duration of the exchange, or `nil` if the file does not have it.
    package var duration: Duration? {
        json["time"]?.doubleValue.flatMap { $0 >= 0 && $0 < 1e12 ? .microseconds(Int64($0 * 1000)) : nil }
    }

    /// The exchange as a record. A status of 0 means a request without a response. It becomes a failure, unless
    /// `_underway` is set. A body that is not in the file is marked as cut. A record that Souk wrote keeps its id.
    package var record: Record {
        var record = Record(
            Self.request(json["_original"] ?? json["request"]),
            id: json["_id"]?.stringValue.flatMap(UUID.init(text:)) ?? UUID())
        record.designatedRequest = Self.request(json["request"])
        record.bodies.original = Self.transfer(json["_original"] ?? json["request"], record.originalRequest.body)
        record.bodies.designated = Self.transfer(json["request"], record.designatedRequest.body)
        let response = json["response"]
        if let status = response?["status"]?.intValue, status > 0 {
            let body = Self.content(response?["content"])
            record.result = .success(
                Response(status: status, headers: Self.headers(response?["headers"]), body: .bytes(body)))
            record.bodies.response = Self.transfer(of: response?["content"], body)
        } else if response?["_underway"]?.boolValue != true {
            let reason = [response?["_error"], response?["statusText"]].compactMap { $0?.stringValue }.first {
                !$0.isEmpty
            }
            record.result = .failure(
                RecordedFailure(
                    kind: response?["_errorKind"]?.stringValue ?? "HAR",
                    code: response?["_errorCode"]?.stringValue ?? "",
                    reason: reason ?? "The request got no response."
                ).restored)
        }
        record.timing = timing
        record.changes = (json["_changes"]?.arrayValue ?? []).compactMap { change in
            guard let floret = change["floret"]?.stringValue,
                let kind = change["kind"]?.stringValue.flatMap(Record.Change.Kind.init)
            else { return nil }
            return .init(floret: floret, kind: kind)
        }
        return record
    }

    /// The longest time in milliseconds, about four months. A longer time is reduced to this one.
    private static let longest = 1e10

    /// The instants of the exchange. Some files have only the total time, which then counts as the wait.
    private var timing: Record.Timing {
        guard let started else { return .init() }
        func milliseconds(_ time: JSONValue?) -> Double { min(max(0, time?.doubleValue ?? 0), Self.longest) }
        func span(_ names: String...) -> Double {
            names.reduce(0) { $0 + milliseconds(json["timings"]?[$1]) } / 1000
        }
        let (before, received) = (span("blocked", "dns", "connect"), span("receive"))
        var waited = span("send", "wait")
        if before + waited + received == 0 { waited = milliseconds(json["time"]) / 1000 }
        let sent = started.addingTimeInterval(before)
        let answered = sent.addingTimeInterval(waited)
        return .init(started: started, sent: sent, answered: answered, ended: answered.addingTimeInterval(received))
    }

    /// Parses RFC 3339, and offsets without a colon, which ISO 8601 also permits.
    static func date(_ text: String) -> Date? {
        if let date = RFC3339.date(from: text) { return date }
        let bytes = text.utf8
        guard bytes.count > 5, let sign = text.dropLast(4).last, sign == "+" || sign == "-" else { return nil }
        return RFC3339.date(from: "\(text.dropLast(2)):\(text.suffix(2))")
    }

    private static func request(_ json: JSONValue?) -> HTTPRequest {
        HTTPRequest(
            method: .init(json?["method"]?.stringValue ?? "GET"), url: json?["url"]?.stringValue ?? "",
            headers: headers(json?["headers"]), body: .bytes(posted(json?["postData"])))
    }

    /// Reads headers without the pseudo-header fields of HTTP/2, such as `:method`. Some programs join the lines of one
    /// name, such as `Set-Cookie`, in one value.
    private static func headers(_ json: JSONValue?) -> HTTPHeaders {
        HTTPHeaders(
            (json?.arrayValue ?? []).flatMap { header -> [HTTPHeaders.Field] in
                guard let name = header["name"]?.stringValue, let value = header["value"]?.stringValue,
                    !name.hasPrefix(":")
                else { return [] }
                let lines = value.split { ["\n", "\r", "\r\n"].contains($0) }
                return (lines.isEmpty ? [""] : lines).map { .init(name: name, value: String($0)) }
            })
    }

    private static func posted(_ json: JSONValue?) -> [UInt8] {
        if let text = json?["text"]?.stringValue, !text.isEmpty {
            let encoding = (json?["_encoding"] ?? json?["encoding"])?.stringValue
            return decoded(text, encoding)
        }
        guard !isFormWithoutText(json) else { return [] }
        let items = (json?["params"]?.arrayValue ?? []).map {
            ($0["name"]?.stringValue ?? "", $0["value"]?.stringValue ?? "")
        }
        // The encoding of forms (WHATWG URL section 5.2).
        return Array(HTTPQuery(items).encoded.replacing("%20", with: "+").utf8)
    }

    /// Whether this is a multipart form with only its parts. The bytes between the parts are unknown.
    private static func isFormWithoutText(_ json: JSONValue?) -> Bool {
        json?["mimeType"]?.stringValue?.lowercased().hasPrefix("multipart/") == true
            && json?["params"]?.arrayValue?.isEmpty == false && json?["text"]?.stringValue?.isEmpty != false
    }

    private static func content(_ json: JSONValue?) -> [UInt8] {
        decoded(json?["text"]?.stringValue ?? "", json?["encoding"]?.stringValue)
    }

    private static func decoded(_ text: String, _ encoding: String?) -> [UInt8] {
        guard encoding?.lowercased() == "base64" else { return Array(text.utf8) }
        return base64(text) ?? []
    }

    /// Decodes base64, also with line breaks and without padding.
    static func base64(_ text: String) -> [UInt8]? {
        let digits = text.filter { !$0.isWhitespace && $0 != "=" }
        let padding = String(repeating: "=", count: (4 - digits.utf8.count % 4) % 4)
        return Data(base64Encoded: digits + padding).map(Array.init)
    }

    private static func transfer(_ json: JSONValue?, _ body: HTTPBody) -> Record.BodyTransfer {
        let recorded = body.buffered?.count ?? 0
        let size = max(json?["bodySize"]?.intValue ?? recorded, recorded)
        return .init(byteCount: size, isCut: size > recorded || isFormWithoutText(json?["postData"]))
    }

    /// The transfer details of a response body. A body that is shorter than its size is cut, with two exceptions: a
    /// text that was sent in UTF-16 or UTF-32, which is shorter in UTF-8, and a text without its byte order mark of 3
    /// bytes.
    private static func transfer(of content: JSONValue?, _ body: [UInt8]) -> Record.BodyTransfer {
        let size = max(content?["size"]?.intValue ?? body.count, body.count)
        let isText = !body.isEmpty && content?["encoding"]?.stringValue?.isEmpty != false
        let isWide = ["utf-16", "utf-32"].contains {
            content?["mimeType"]?.stringValue?.lowercased().contains($0) == true
        }
        return .init(
            byteCount: size, isCut: size > body.count && !(isText && (isWide || size - body.count == 3)),
            end: content?["_end"]?.stringValue.flatMap(Record.BodyTransfer.End.init) ?? .complete)
    }
}

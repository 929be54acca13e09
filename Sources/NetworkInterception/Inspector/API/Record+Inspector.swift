import Foundation
import HTTPCore
import Primitives

extension Record {
    /// The summary for a list.
    var summary: JSONValue {
        let request = designatedRequest
        var json: JSONValue = [
            "id": .string(id.uuidString), "method": .string(originalRequest.method.rawValue),
            "url": .string(Self.cutInTheMiddle(originalRequest.url)),
            "host": .string(originalRequest.authority ?? ""),
            "path": .string(Self.cutInTheMiddle(originalRequest.target)),
            "state": .string(result == nil ? "underway" : failure == nil ? "answered" : "failed"),
            "isChanged": .bool(!changes.isEmpty),
        ]
        if let response {
            json["status"] = .number(response.status)
            json["size"] = .number(bodies.response?.byteCount ?? response.body.length ?? 0)
            json["type"] = response.headers["Content-Type"].map { .string(String($0.prefix { $0 != ";" }.prefix(80))) }
        }
        if let failure { json["error"] = .string(Self.shortened("\(failure)", to: 300)) }
        if request.url != originalRequest.url { json["sentTo"] = .string(Self.cutInTheMiddle(request.url)) }
        json["started"] = timing.started.map { .number(Int64(($0.timeIntervalSince1970 * 1000).rounded())) }
        if let started = timing.started, let end = timing.ended ?? timing.answered {
            json["milliseconds"] = Self.milliseconds(from: started, to: end)
        }
        return json
    }

    /// All details of the record.
    var details: JSONValue {
        var json = summary
        let curl = CurlCommand(self)
        json["curl"] = .string(curl.text)
        json["curlFile"] = curl.file.map { .string($0.name) }
        json["original"] = Self.json(originalRequest, bodies.original)
        if let difference = RequestDifference(from: originalRequest, to: designatedRequest) {
            json["designated"] = Self.json(designatedRequest, bodies.designated)
            json["difference"] = .array(
                difference.lines.map {
                    .array([.string($0.kind.rawValue), .string(Self.shortened($0.text, to: 4000))])
                })
        }
        if let response {
            json["response"] = [
                "status": .number(response.status), "headers": Self.json(response.headers),
                "body": Self.json(response.body, response.headers, bodies.response),
            ]
        }
        json["changes"] = .array(
            changes.map { ["floret": .string($0.floret), "kind": .string($0.kind.rawValue)] })
        json["timing"] = phases
        json["signed"] = .array(
            signedTexts.map { text in
                [
                    "title": .string(text.title), "notice": .string(text.caveat), "header": .string(text.header),
                    "claims": .string(text.claims),
                ]
            })
        return json
    }

    /// The phases of the exchange, in milliseconds since its start.
    private var phases: JSONValue {
        guard let started = timing.started else { return ["phases": []] }
        let marks: [(String, Date?)] = [
            ("florets", timing.sent), (timing.sent == nil ? "answered by a floret" : "waiting", timing.answered),
            ("body", timing.ended),
        ]
        var phases: [JSONValue] = []
        var last = started
        for (name, end) in marks {
            guard let end else { continue }
            phases.append([
                "name": .string(name), "from": Self.milliseconds(from: started, to: last),
                "to": Self.milliseconds(from: started, to: end),
            ])
            last = end
        }
        return ["started": .string(RFC3339.string(from: started)), "phases": .array(phases)]
    }

    private static func milliseconds(from start: Date, to end: Date) -> JSONValue {
        .number((end.timeIntervalSince(start) * 100_000).rounded() / 100)
    }

    /// Shortens a URL in the middle, because its end is the most informative. The details have the whole URL.
    private static func cutInTheMiddle(_ url: String) -> String {
        url.utf8.count > 2000 && url.count > 2000 ? "\(url.prefix(700))…\(url.suffix(1299))" : url
    }

    private static func shortened(_ text: String, to limit: Int) -> String {
        text.count > limit ? text.prefix(limit) + "…" : text
    }

    private static func json(_ request: HTTPRequest, _ transfer: BodyTransfer?) -> JSONValue {
        [
            "method": .string(request.method.rawValue), "url": .string(request.url), "headers": json(request.headers),
            "body": json(request.body, request.headers, transfer),
        ]
    }

    private static func json(_ headers: HTTPHeaders) -> JSONValue {
        .array(headers.map { .array([.string($0.name), .string($0.value)]) })
    }

    private static func json(_ body: HTTPBody, _ headers: HTTPHeaders, _ transfer: BodyTransfer?) -> JSONValue {
        let bytes = body.buffered ?? []
        let text = BodyText(bytes, headers: headers)
        var json: JSONValue = [
            "kind": .string(text.kind.rawValue), "text": .string(text.text), "isShortened": .bool(text.isShortened),
            "bytes": .number(bytes.count), "passed": .number(transfer?.byteCount ?? bytes.count),
            "isCut": .bool(transfer?.isCut ?? false), "end": .string((transfer?.end ?? .complete).rawValue),
        ]
        json["encoding"] = headers["Content-Encoding"].map { .string($0) }
        return json
    }
}

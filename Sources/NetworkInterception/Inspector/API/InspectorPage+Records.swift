import Foundation
import HTTPCore
import Primitives

/// Reading records.
extension InspectorPage {
    private static let pageLimit = 1000
    private static let exportLimit = 10_000
    /// The delay before events are sent, so that events in quick succession are sent together.
    private static let batchDelay = Duration.milliseconds(40)

    /// `GET api/records?limit=&after=` and the items of a `RecordQuery`: records, newest first. `next` is the value of
    /// `after` for the next page, and `position` is the value of `since` for `api/updates`.
    func list(_ request: HTTPRequest) async throws -> HTTPResponse {
        let query = try Self.query(of: request)
        let limit = query["limit"].map { Int($0) ?? 0 } ?? 200
        guard (1...Self.pageLimit).contains(limit) else {
            throw HTTPProblem.invalid("limit", "limit is a whole number from 1 to \(Self.pageLimit).")
        }
        // Read first, so that records that arrive meanwhile are sent again instead of lost.
        let position = feed.position
        var last: Record?
        if let text = query["after"] {
            last = try await interceptor.storage.record(Self.id(text, "after"))
            guard last != nil else { return Self.page([], next: nil, position) }
        }
        let found = await interceptor.storage.records(limit, after: last, matching: RecordQuery(query))
        return Self.page(found.map(\.summary), next: found.count == limit ? found.last?.id : nil, position)
    }

    private static func page(
        _ records: [JSONValue], next: Record.ID?, _ position: InspectorFeed.Position
    ) -> HTTPResponse {
        HTTPResponse(json: [
            "records": .array(records), "next": next.map { .string($0.uuidString) } ?? .null,
            "position": .string(position.description),
        ])
    }

    /// `GET api/records/{id}`.
    func details(_ path: PathParameters) async throws -> HTTPResponse {
        var json = try await record(path).details
        json["canResend"] = .bool(configuration.transport != nil)
        json["canMock"] = .bool(mock != nil && json["response"] != nil)
        return HTTPResponse(json: json)
    }

    /// `GET api/records/{id}/original|designated|response`: the recorded bytes of a body as a download; `…/postman`: a
    /// collection with this request.
    func download(_ path: PathParameters) async throws -> HTTPResponse {
        let record = try await record(path)
        let body: HTTPBody?
        if path["part"] == "postman" {
            let name = "\(record.designatedRequest.method) \(record.designatedRequest.path)"
            return Self.file(
                "\(record.id.uuidString.lowercased()).postman_collection.json",
                .bytes(PostmanCollection([record], name: name).encoded()))
        }
        switch path["part"] {
        case "original": body = record.originalRequest.body
        case "designated": body = record.designatedRequest.body
        case "response": body = record.response?.body
        default: body = nil
        }
        guard let body else {
            throw HTTPProblem(status: 404, code: "not_found", title: "Not found", detail: "There is no such body.")
        }
        let isForCurl = path["part"] == "designated"
        let name = isForCurl ? CurlCommand(record).file?.name : nil
        return Self.file(name ?? "\(record.id.uuidString.lowercased())-\(path["part"])", body)
    }

    /// `GET api/export?format=har|postman` and the items of a `RecordQuery`: the newest records as a download.
    func export(_ request: HTTPRequest) async throws -> HTTPResponse {
        let query = try Self.query(of: request)
        let records = await interceptor.storage.records(Self.exportLimit, after: nil, matching: RecordQuery(query))
        switch query["format"] ?? "har" {
        case "har":
            var options = HARDocument.ExportOptions()
            options.redaction = interceptor.configuration.redaction
            return Self.file("traffic.har", .bytes(HARDocument(records, options: options).encoded()))
        case "postman":
            let collection = PostmanCollection(records, name: configuration.title)
            return Self.file("traffic.postman_collection.json", .bytes(collection.encoded()))
        default: throw HTTPProblem.invalid("format", "format is har or postman.")
        }
    }

    /// A download, which the browser does not display.
    private static func file(_ name: String, _ body: HTTPBody) -> HTTPResponse {
        HTTPResponse(
            status: 200,
            headers: [
                "Content-Type": "application/octet-stream", "Content-Disposition": "attachment; filename=\"\(name)\"",
            ], body: body)
    }

    /// `DELETE api/records`.
    func forgetAll() async -> HTTPResponse {
        await interceptor.removeRecords()
        return HTTPResponse(status: 204)
    }

    func record(_ path: PathParameters) async throws -> Record {
        guard let record = await interceptor.storage.record(try Self.id(path["id"], "id")) else {
            throw HTTPProblem.unknownRecord()
        }
        return record
    }

    private static func id(_ text: String, _ field: String) throws -> Record.ID {
        guard let id = UUID(text: text) else { throw HTTPProblem.invalid(field, "\(field) is a record's id.") }
        return id
    }

    static func query(of request: HTTPRequest) throws -> HTTPQuery {
        guard let query = request.query else {
            throw HTTPProblem(
                status: 400, code: "malformed_query", title: "Malformed query",
                detail: "A percent-escape in the query is incomplete or is not UTF-8.")
        }
        return query
    }
}

/// Live updates.
extension InspectorPage {
    /// `GET api/updates?since=` and the items of a filter: server-sent events. `Last-Event-ID` takes precedence over
    /// `since`.
    ///
    /// `event: changes` has `{records, gone, trace, isStateChanged, isCleared}`: the summaries of new and changed
    /// records that match, and the ids of changed records that do not match or are no longer stored. `event: reset`
    /// means that events were missed and the page must reload.
    func updates(_ request: HTTPRequest) throws -> HTTPResponse {
        let query = try Self.query(of: request)
        let filter = RecordQuery(query)
        let position = Locked(try Self.position(request.headers["Last-Event-ID"], query["since"]) ?? feed.position)
        let greeting = Locked("retry: 1000\n\n" as String?)
        let (feed, storage, interval) = (feed, interceptor.storage, configuration.keepAliveInterval)
        let wait = interceptor.configuration.wait
        let stream = HTTPBodyStream {
            let first = greeting.withLock { greeting in
                defer { greeting = nil }
                return greeting
            }
            if let first { return Array(first.utf8) }
            try? await wait(Self.batchDelay)
            switch await feed.events(after: position.withLock { $0 }, timeout: { try? await wait(interval) }) {
            case .closed: return nil
            case .timedOut: return Array(":\n\n".utf8)
            case .lost(let now):
                position.withLock { $0 = now }
                return Self.event("reset", [:], now)
            case .events(let events, let now):
                position.withLock { $0 = now }
                return Self.event("changes", await Self.changes(events, filter, storage), now)
            }
        }
        return HTTPResponse(
            status: 200, headers: ["Content-Type": "text/event-stream"], body: .stream(stream))
    }

    /// The position from which a stream continues, or `nil` if none is given. A browser sends its last position in
    /// `Last-Event-ID`.
    private static func position(_ lastID: String?, _ since: String?) throws -> InspectorFeed.Position? {
        if let lastID { return InspectorFeed.Position(lastID) }
        guard let since else { return nil }
        guard let position = InspectorFeed.Position(since) else {
            throw HTTPProblem.invalid("since", "since is a position as GET api/records gives it.")
        }
        return position
    }

    private static func event(_ name: String, _ json: JSONValue, _ position: InspectorFeed.Position) -> [UInt8] {
        Array("id: \(position)\nevent: \(name)\ndata: ".utf8) + json.encoded() + Array("\n\n".utf8)
    }

    /// Each changed record once, in its current state, in the order of the first changes.
    private static func changes(
        _ events: [InspectorFeed.Event], _ filter: RecordQuery, _ storage: any RecordStorage
    ) async -> JSONValue {
        var seen: Set<Record.ID> = []
        var records: [JSONValue] = []
        var gone: [JSONValue] = []
        var trace: [JSONValue] = []
        var isStateChanged = false
        var isCleared = false
        for event in events {
            switch event {
            case .record(let id):
                guard seen.insert(id).inserted else { continue }
                let record = await storage.record(id)
                if let record, filter.matches(record) {
                    records.append(record.summary)
                } else {
                    gone.append(.string(id.uuidString))
                }
            case .trace(let entry): trace.append(entry)
            case .state: isStateChanged = true
            case .cleared: isCleared = true
            }
        }
        return [
            "records": .array(records), "gone": .array(gone), "trace": .array(trace),
            "isStateChanged": .bool(isStateChanged), "isCleared": .bool(isCleared),
        ]
    }
}

import HTTPCore
import PluginHub
import Primitives

/// Shows the records of its interceptor on a screen: newest first, in pages, with a search and with details.
///
/// A screen is drawn synchronously, so it shows the records that were loaded last. The action `inspector.search` sets a
/// ``RecordQuery`` and loads the newest records that match it. `inspector.refresh` loads them again, `inspector.older`
/// loads the next page, and `inspector.show` one record. `inspector.list` returns to the list.
public final class InspectorFloret: DisplayableFloret {
    /// The number of records on a page.
    public static let pageSize = 20

    private struct State {
        var search = ""
        var page: [Record] = []
        var hasMore = false
        var shown: Record?
    }

    private let state = Locked(State())

    /// Creates a floret without loaded records.
    public init() {}

    public var summary: String? { "Shows the recorded traffic." }

    /// Loads the newest records that match the current search. `view(_:)` then shows them.
    ///
    /// - Parameter storage: The storage of the records.
    public func refresh(from storage: any RecordStorage) async { await load(after: nil, from: storage) }

    public func perform(_ action: ViewDocument.Action, in interceptor: Interceptor) async throws {
        switch action.id {
        case "inspector.refresh": await refresh(from: interceptor.storage)
        case "inspector.search":
            let search = try action.text("search")
            state.withLock { $0.search = search }
            await refresh(from: interceptor.storage)
        case "inspector.older":
            let last = state.withLock { $0.page.last }
            await load(after: last, from: interceptor.storage)
        case "inspector.show":
            let text = try action.text("record")
            guard let id = Record.ID(text: text), let record = await interceptor.storage.record(id) else {
                throw action.invalid("record", "the id of a stored record")
            }
            state.withLock { $0.shown = record }
        case "inspector.list": state.withLock { $0.shown = nil }
        default: throw unknown(action)
        }
    }

    private func load(after last: Record?, from storage: any RecordStorage) async {
        let search = state.withLock { $0.search }
        let found = await storage.records(Self.pageSize + 1, after: last, matching: RecordQuery(search))
        state.withLock { state in
            state.page = Array(found.prefix(Self.pageSize))
            state.hasMore = found.count > Self.pageSize
            state.shown = nil
        }
    }

    public func view(_ interceptor: Interceptor) -> ViewDocument? {
        let state = state.withLock { $0 }
        if let record = state.shown { return record.document(title: name) }
        var actions = [ViewDocument.Action("inspector.refresh", label: "Newest")]
        if state.hasMore { actions.append(.init("inspector.older", label: "Older")) }
        return ViewDocument(
            title: name,
            sections: [
                .init(rows: [
                    .field(
                        id: "search", label: "Search", value: state.search,
                        placeholder: "as in: refused status:5xx host:*.example.com",
                        action: .init("inspector.search"))
                ]),
                .init(
                    title: "Records",
                    rows: state.page.map { record in
                        .text(
                            "\(record.designatedRequest.method) \(record.designatedRequest.url)", record.outcome,
                            id: record.id.uuidString,
                            action: .init("inspector.show", values: ["record": .string(record.id.uuidString)]))
                    }, actions: actions),
            ])
    }
}

extension Record {
    /// The status, the error, or a dash while there is no result.
    fileprivate var outcome: String {
        switch result {
        case .success(let response): "\(response.status)"
        case .failure(let error): (error as? HTTPError)?.code.rawValue ?? "failed"
        case nil: "–"
        }
    }

    fileprivate func document(title: String) -> ViewDocument {
        func rows(_ headers: HTTPHeaders, _ body: HTTPBody, _ transfer: BodyTransfer?) -> [ViewDocument.Row] {
            headers.map { .text($0.name, $0.value) } + body.rows(transfer)
        }
        var request: [ViewDocument.Row] = [
            .text("Method", designatedRequest.method.rawValue), .text("URL", designatedRequest.url),
        ]
        if originalRequest.url != designatedRequest.url { request.append(.text("Original URL", originalRequest.url)) }
        request += rows(designatedRequest.headers, designatedRequest.body, bodies.designated)
        var answer: [ViewDocument.Row] = [.text("Outcome", outcome)]
        switch result {
        case .success(let response): answer += rows(response.headers, response.body, bodies.response)
        case .failure(let error): answer.append(.text("Reason", "\(error)"))
        case nil: break
        }
        if let started = timing.started, let ended = timing.ended {
            answer.append(.text("Duration", "\(Int((ended.timeIntervalSince(started) * 1000).rounded())) ms"))
        }
        answer += changes.map { .text($0.floret, $0.kind.rawValue) }
        return ViewDocument(
            title: title,
            sections: [
                .init(title: "Request", rows: request),
                .init(title: "Answer", rows: answer, actions: [.init("inspector.list", label: "Back")]),
            ])
    }
}

extension HTTPBody {
    /// Rows with the length of the body and, for text, its content.
    fileprivate func rows(_ transfer: Record.BodyTransfer?) -> [ViewDocument.Row] {
        guard let bytes = buffered, !bytes.isEmpty else { return [] }
        let length = "\(transfer?.byteCount ?? bytes.count) bytes" + (transfer?.isCut == true ? ", cut" : "")
        let text =
            (try? JSONValue(parsing: bytes))?.text(pretty: true) ?? String(utf8: bytes)
        return [.text("Body", length)] + (text.map { [.text("Content", String($0.prefix(100_000)))] } ?? [])
    }
}

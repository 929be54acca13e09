import Foundation
import HTTPCore
import Primitives

/// What is stored of one exchange: its newest state, all bodies as bytes.
///
/// Several sides have something to say at once: a server may answer before it has read the request. States are stored
/// one after another, so none overtakes another, and what changes while one is being stored is stored next.
final class RecordKeeper: Sendable {
    enum Place { case original, designated, response }

    private struct State {
        /// Streams are replaced by empty ones: who keeps a record must not keep what is on its way.
        var record: Record
        var notes = Notes()
        /// What was stored last, before and after its redaction.
        var last: (plain: Record, redacted: Record)?
        var isAnswered = false
        var isDirty = false
        var isStoring = false
        var waiting: [CheckedContinuation<Void, Never>] = []
    }

    private struct Notes {
        var original: [UInt8]?
        var designated: [UInt8]?
        var response: [UInt8]?
        var passages = Record.Bodies()
    }

    private let interceptor: Interceptor
    private let limit: Int
    private let state: Locked<State>

    init(_ record: Record, _ interceptor: Interceptor) {
        self.interceptor = interceptor
        limit = interceptor.configuration.maximumRecordedBytes
        state = Locked(State(record: record))
    }

    /// Stores the record as it stands. Bodies that are streams have what passed of them.
    func keep(_ record: Record, isAnswered: Bool = false) async {
        let kept = record.withoutSources
        state.withLock { state in
            state.record = kept
            state.isAnswered = isAnswered
        }
        await store()
    }

    /// Takes the record out of the storage; what its bodies note from now on is not stored.
    func forget() async {
        let id = state.withLock { state in
            state.isAnswered = false
            return state.record.id
        }
        await interceptor.storage.remove(id)
    }

    /// The same body, of which the record takes the first bytes while it passes.
    func watched(_ body: HTTPBody, as place: Place) -> HTTPBody {
        guard case .stream = body else { return body }
        note([], Record.Passage(byteCount: 0, end: .underway), place)
        return body.tapped(upTo: limit) { [self] bytes, passage in
            note(bytes, passage, place)
            if state.withLock({ $0.isAnswered }) { storeLater() }
        }
    }

    /// The answer's body, recorded while its reader asks for it. The record is stored before the reader hears of its end.
    func watched(answer stream: HTTPBodyStream) -> HTTPBodyStream {
        note([], Record.Passage(byteCount: 0, end: .underway), .response)
        let tapped = HTTPBody.stream(stream).tapped(upTo: limit) { [self] bytes, passage in
            note(bytes, passage, .response)
            let now = interceptor.configuration.clock.now()
            state.withLock { $0.record.timing.ended = now }
        }
        guard case .stream(let source) = tapped else { return stream }
        return HTTPBodyStream(
            length: stream.length,
            next: { [self] in
                do {
                    let chunk = try await source.next()
                    if chunk == nil { await store() }
                    return chunk
                } catch {
                    await store()
                    throw error
                }
            },
            cancel: { [self] in
                source.cancel()
                storeLater()
            })
    }

    private func note(_ bytes: [UInt8], _ passage: Record.Passage, _ place: Place) {
        state.withLock { state in
            switch place {
            case .original: (state.notes.original, state.notes.passages.original) = (bytes, passage)
            case .designated: (state.notes.designated, state.notes.passages.designated) = (bytes, passage)
            case .response: (state.notes.response, state.notes.passages.response) = (bytes, passage)
            }
        }
    }
}

// MARK: - One after another

extension RecordKeeper {
    /// Returns when the newest state is stored.
    private func store() async {
        let isFree = state.withLock { state in
            defer { state.isStoring = true }
            state.isDirty = true
            return !state.isStoring
        }
        guard isFree else { return await othersHaveStored() }
        while let (record, notes) = unstored() {
            let configuration = interceptor.configuration
            let whole = merged(record, notes)
            let plain = configuration.preStorageRecordModifier?(whole) ?? whole
            let redacted = configuration.redaction.redacted(plain, after: state.withLock { $0.last })
            state.withLock { $0.last = (plain, redacted) }
            await interceptor.storage.store(redacted)
        }
    }

    /// Stores without making a reader wait who gives up where nobody can wait.
    private func storeLater() { interceptor.later { [self] in await store() } }

    /// What is to be stored next; when there is nothing, others may store again.
    private func unstored() -> (Record, Notes)? {
        let (newest, waiting) = state.withLock { state -> ((Record, Notes)?, [CheckedContinuation<Void, Never>]) in
            guard !state.isDirty else {
                state.isDirty = false
                return ((state.record, state.notes), [])
            }
            defer { state.waiting = [] }
            state.isStoring = false
            return (nil, state.waiting)
        }
        for continuation in waiting { continuation.resume() }
        return newest
    }

    private func othersHaveStored() async {
        await withCheckedContinuation { continuation in
            let isOver = state.withLock { state in
                if state.isStoring { state.waiting.append(continuation) }
                return !state.isStoring
            }
            if isOver { continuation.resume() }
        }
    }

    /// What `record` says, with bodies as bytes and what their taps have noted.
    private func merged(_ record: Record, _ notes: Notes) -> Record {
        var whole = record
        whole.bodies = notes.passages
        whole.originalRequest.body.settle(notes.original, &whole.bodies.original, limit)
        whole.designatedRequest.body.settle(notes.designated, &whole.bodies.designated, limit)
        if case .success(var response)? = whole.result {
            response.body.settle(notes.response, &whole.bodies.response, limit)
            whole.result = .success(response)
        }
        return whole
    }
}

extension Redaction {
    /// The record without its secrets. Requests that are the same in the state before are not looked through again.
    fileprivate func redacted(_ record: Record, after before: (plain: Record, redacted: Record)?) -> Record {
        guard let before, record.originalRequest.isEqual(to: before.plain.originalRequest),
            record.designatedRequest.isEqual(to: before.plain.designatedRequest)
        else { return redacted(record) }
        var rest = record
        rest.originalRequest = Self.nothing
        rest.designatedRequest = Self.nothing
        rest = redacted(rest)
        rest.originalRequest = before.redacted.originalRequest
        rest.designatedRequest = before.redacted.designatedRequest
        return rest
    }

    private static let nothing = HTTPRequest(method: .get, url: "")
}

extension HTTPRequest {
    fileprivate func isEqual(to other: HTTPRequest) -> Bool {
        method == other.method && url == other.url && timeout == other.timeout && headers == other.headers
            && body.buffered == other.body.buffered
    }
}

extension Record {
    fileprivate var withoutSources: Record {
        guard originalRequest.body.isStream || designatedRequest.body.isStream || response?.body.isStream == true else {
            return self
        }
        var record = self
        record.originalRequest.body.dropSource()
        record.designatedRequest.body.dropSource()
        if case .success(var response)? = result, response.body.buffered == nil {
            response.body.dropSource()
            record.result = .success(response)
        }
        return record
    }
}

extension HTTPBody {
    fileprivate var isStream: Bool { if case .stream = self { true } else { false } }

    fileprivate mutating func dropSource() {
        if case .stream = self { self = .stream(HTTPBodyStream(next: { nil })) }
    }

    /// Becomes what is stored of it: bytes up to the limit; for a stream what its tap noted.
    fileprivate mutating func settle(_ noted: [UInt8]?, _ passage: inout Record.Passage?, _ limit: Int) {
        switch self {
        case .bytes(let bytes):
            // What a stream's tap has noted says more than its first bytes do.
            passage = passage ?? Record.Passage(byteCount: bytes.count, isCut: bytes.count > limit)
            if bytes.count > limit { self = .bytes(Array(bytes[..<limit])) }
        case .stream:
            passage = passage ?? Record.Passage(byteCount: 0, end: .underway)
            self = .bytes(noted ?? [])
        }
    }
}

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
        var record: Record?
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

    init(_ interceptor: Interceptor) {
        self.interceptor = interceptor
        limit = interceptor.configuration.maximumRecordedBytes
        state = Locked(State())
    }

    /// Stores the record as it stands, and tells it what is known of its bodies. Those that are streams are stored as far
    /// as they have passed.
    func keep(_ record: inout Record, isAnswered: Bool = false) async {
        // What a record is told while nobody shares it need not be told to a copy.
        record.bodies = record.passages(state.withLock { $0.notes.passages }, limit)
        let kept = record.withoutSources
        state.withLock { state in
            state.record = kept
            state.isAnswered = isAnswered
        }
        await store()
    }

    /// Takes the record out of the storage; what its bodies note from now on is not stored.
    func forget(_ id: Record.ID) async {
        state.withLock { $0.isAnswered = false }
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
            state.withLock { $0.record?.timing.ended = now }
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
            let whole = merged(record, notes)
            let plain = interceptor.configuration.preStorageRecordModifier?(whole) ?? whole
            let redacted = interceptor.configuration.redaction.redacted(plain, after: state.withLock { $0.last })
            state.withLock { $0.last = (plain, redacted) }
            await interceptor.storage.store(redacted)
        }
    }

    /// Stores without making a reader wait who gives up where nobody can wait.
    private func storeLater() { interceptor.later { [self] in await store() } }

    /// What is to be stored next; when there is nothing, others may store again.
    private func unstored() -> (Record, Notes)? {
        let (newest, waiting) = state.withLock { state -> ((Record, Notes)?, [CheckedContinuation<Void, Never>]) in
            if state.isDirty, let record = state.record {
                state.isDirty = false
                return ((record, state.notes), [])
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

    /// What `record` says, with bodies as bytes and what their taps have noted. Most have nothing to be changed.
    private func merged(_ record: Record, _ notes: Notes) -> Record {
        var whole = record
        let bodies = record.passages(notes.passages, limit)
        if whole.bodies != bodies { whole.bodies = bodies }
        if let body = record.originalRequest.body.settled(notes.original, limit) { whole.originalRequest.body = body }
        if let body = record.designatedRequest.body.settled(notes.designated, limit) {
            whole.designatedRequest.body = body
        }
        if case .success(var response)? = record.result, let body = response.body.settled(notes.response, limit) {
            response.body = body
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
        var newest = record
        newest.originalRequest = before.redacted.originalRequest
        newest.designatedRequest = before.redacted.designatedRequest
        newest.result = record.result.map { redacted($0) }
        return newest
    }
}

extension HTTPRequest {
    fileprivate func isEqual(to other: HTTPRequest) -> Bool {
        method == other.method && url == other.url && timeout == other.timeout && headers == other.headers
            && body.buffered == other.body.buffered
    }
}

extension Record {
    /// What is known of its bodies. What a stream's tap has noted says more than its first bytes do.
    fileprivate func passages(_ noted: Bodies, _ limit: Int) -> Bodies {
        Bodies(
            original: noted.original ?? Passage(originalRequest.body, limit),
            designated: noted.designated ?? Passage(designatedRequest.body, limit),
            response: noted.response ?? response.map { Passage($0.body, limit) })
    }

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

    /// What is stored of it, where that is something else: bytes up to the limit; for a stream what its tap noted.
    fileprivate func settled(_ noted: [UInt8]?, _ limit: Int) -> HTTPBody? {
        switch self {
        case .bytes(let bytes): bytes.count > limit ? .bytes(Array(bytes[..<limit])) : nil
        case .stream: .bytes(noted ?? [])
        }
    }
}

extension Record.Passage {
    fileprivate init(_ body: HTTPBody, _ limit: Int) {
        switch body {
        case .bytes(let bytes): self.init(byteCount: bytes.count, isCut: bytes.count > limit)
        case .stream: self.init(byteCount: 0, end: .underway)
        }
    }
}

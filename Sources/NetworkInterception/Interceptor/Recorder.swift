import Foundation
import HTTPCore
import Primitives

/// Stores the newest state of one exchange, with all bodies as bytes.
///
/// States can change concurrently: a server may respond before it has read the request. One write at a time stores
/// them, so that an older state does not replace a newer one. A change during a write is stored by the next write.
final class Recorder: Sendable {
    enum Place { case original, designated, response }

    private struct State {
        /// The record with empty streams and with bodies cut to `granted`, so that it holds no reference to active
        /// streams.
        var record: Record?
        /// The notes about streams, or `nil` if no body is a stream.
        var notes: Notes?
        /// The state that was stored last, before and after its redaction.
        var last: (plain: Record, redacted: Record)?
        /// The number of bytes of buffered bodies that may be recorded.
        var granted = Lengths()
        var isAnswered = false
        var isDirty = false
        var isStoring = false
        var waiting: [CheckedContinuation<Void, Never>] = []

        /// Notes that there is a state to store. Returns whether the caller must store it, because no other write does.
        mutating func beginStoring() -> Bool {
            defer { isStoring = true }
            isDirty = true
            return !isStoring
        }
    }

    /// Byte counts of the three bodies.
    fileprivate struct Lengths {
        var original = 0
        var designated = 0
        var response = 0
    }

    private struct Notes {
        var original: [UInt8]?
        var designated: [UInt8]?
        var response: [UInt8]?
        var transfers = Record.Bodies()
    }

    private let interceptor: Interceptor
    private let limit: Int
    /// The memory that this exchange holds until its bodies are in the storage, which has its own capacity.
    private let share: BodyMemory.Share
    private let state: Locked<State>

    init(_ interceptor: Interceptor) {
        self.interceptor = interceptor
        share = BodyMemory.Share(of: interceptor.bodyMemory)
        limit = interceptor.configuration.maximumRecordedBytes
        state = Locked(State())
    }

    /// Stores the current state of the record and updates its `bodies`. Streamed bodies are stored as far as they were
    /// read.
    nonisolated(nonsending) func keep(_ record: inout Record, isAnswered: Bool = false) async {
        // `bodies` is set before `kept` exists, because a write to a shared record copies its content.
        let (granted, transfers) = admit(record)
        record.bodies = record.bodyTransfers(transfers, granted)
        let kept = record.kept(upTo: granted)
        let (isFree, older) = state.withLock { state in
            let older = state.record
            state.record = kept
            state.isAnswered = isAnswered
            return (state.beginStoring(), older)
        }
        withExtendedLifetime(older) {}
        await isFree ? storeAll() : waitForOtherStore()
    }

    /// Removes the record from the storage. Later changes of its bodies are not stored.
    nonisolated(nonsending) func forget(_ id: Record.ID) async {
        state.withLock { $0.isAnswered = false }
        await interceptor.storage.remove(id)
    }

    /// Returns the same body, and records its first bytes while they are read.
    func watched(_ body: HTTPBody, as place: Place) -> HTTPBody {
        guard case .stream(let stream) = body else { return body }
        note([], Record.BodyTransfer(byteCount: 0, end: .underway), place)
        return .stream(
            stream.tapped(upTo: limit, within: share) { [self] bytes, transfer in
                note(bytes, transfer, place)
                if state.withLock({ $0.isAnswered }) { storeLater() }
            })
    }

    /// Takes memory for the buffered bodies of `record`. Returns how many bytes of each may be recorded, and what was
    /// noted about streams. Most requests are sent unchanged, so both requests share one body in memory, which counts
    /// once.
    private func admit(_ record: Record) -> (granted: Lengths, noted: Record.Bodies) {
        let bodies = (record.originalRequest.body, record.designatedRequest.body, record.response?.body)
        let original = min(bodies.0.buffered?.count ?? 0, limit)
        let isShared = bodies.0.buffered == bodies.1.buffered
        let designated = isShared ? 0 : min(bodies.1.buffered?.count ?? 0, limit)
        let response = min(bodies.2?.buffered?.count ?? 0, limit)
        return state.withLock { [share] state in
            state.granted.original += share.take(original - state.granted.original)
            state.granted.response += share.take(response - state.granted.response)
            if isShared {
                state.granted.designated = state.granted.original
            } else {
                state.granted.designated += share.take(designated - state.granted.designated)
            }
            return (state.granted, state.notes?.transfers ?? Record.Bodies())
        }
    }

    /// Returns the response body, recorded while it is read. The record is stored before the reader receives the end.
    func watched(answer stream: HTTPBodyStream) -> HTTPBodyStream {
        note([], Record.BodyTransfer(byteCount: 0, end: .underway), .response)
        let source = stream.tapped(upTo: limit, within: share) { [self] bytes, transfer in
            note(bytes, transfer, .response)
            let now = interceptor.configuration.clock.now()
            state.withLock { $0.record?.timing.ended = now }
        }
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

    private func note(_ bytes: [UInt8], _ transfer: Record.BodyTransfer, _ place: Place) {
        state.withLock { state in
            var notes = state.notes ?? Notes()
            switch place {
            case .original: (notes.original, notes.transfers.original) = (bytes, transfer)
            case .designated: (notes.designated, notes.transfers.designated) = (bytes, transfer)
            case .response: (notes.response, notes.transfers.response) = (bytes, transfer)
            }
            state.notes = notes
        }
    }
}

extension Recorder {
    /// Returns when the newest state is stored.
    nonisolated(nonsending) private func store() async {
        await state.withLock { $0.beginStoring() } ? storeAll() : waitForOtherStore()
    }

    /// Stores states until the newest one is stored.
    nonisolated(nonsending) private func storeAll() async {
        var last: (plain: Record, redacted: Record)?
        while let next = unstored(after: last) {
            let whole = merged(next.record, next.notes)
            let plain = interceptor.configuration.preStorageRecordModifier?(whole) ?? whole
            let redaction = interceptor.configuration.redaction
            var redacted = redaction.redacted(plain, after: next.last)
            if plain.result != nil {
                let signed = SignedText.found(in: plain, redaction)
                if !signed.isEmpty { redacted.signedTexts = signed }
            }
            last = (plain, redacted)
            if let memory = interceptor.memory {
                memory.keep(redacted)
            } else {
                await interceptor.storage.store(redacted)
            }
        }
    }

    /// Stores the newest state in a task of its own, where the caller cannot wait.
    private func storeLater() { interceptor.storeInTask { [self] in await store() } }

    private typealias Unstored = (record: Record, notes: Notes?, last: (plain: Record, redacted: Record)?)

    /// Returns the next state to store, or `nil` when there is none. In that case other callers may store again.
    ///
    /// - Parameter last: The state that the caller stored, if any.
    private func unstored(after last: (plain: Record, redacted: Record)?) -> Unstored? {
        let (newest, waiting) = state.withLock { state -> (Unstored?, [CheckedContinuation<Void, Never>]) in
            if let last { state.last = last }
            if state.isDirty, let record = state.record {
                state.isDirty = false
                return ((record, state.notes, state.last), [])
            }
            defer { state.waiting = [] }
            state.isStoring = false
            return (nil, state.waiting)
        }
        for continuation in waiting { continuation.resume() }
        return newest
    }

    nonisolated(nonsending) private func waitForOtherStore() async {
        await withCheckedContinuation { continuation in
            let isOver = state.withLock { state in
                if state.isStoring { state.waiting.append(continuation) }
                return !state.isStoring
            }
            if isOver { continuation.resume() }
        }
    }

    /// Returns `record` with its bodies as bytes and with the recorded parts of its streams.
    private func merged(_ record: Record, _ given: Notes?) -> Record {
        let notes = given ?? Notes()
        var whole = record
        let bodies = record.bodies.replaced(by: notes.transfers)
        if whole.bodies != bodies { whole.bodies = bodies }
        if record.originalRequest.body.isStream { whole.originalRequest.body = .bytes(notes.original ?? []) }
        if record.designatedRequest.body.isStream { whole.designatedRequest.body = .bytes(notes.designated ?? []) }
        if case .success(var response)? = record.result, response.body.isStream {
            response.body = .bytes(notes.response ?? [])
            whole.result = .success(response)
        }
        return whole
    }
}

extension Redaction {
    /// Returns the record without its secrets. If both requests are the same as in the previous state, they are not
    /// scanned again.
    fileprivate func redacted(_ record: Record, after previous: (plain: Record, redacted: Record)?) -> Record {
        guard let previous, record.hasEqualRequests(to: previous.plain) else { return redacted(record) }
        var newest = record
        newest.takeRequests(of: previous.redacted)
        newest.result = record.result.map { redacted($0) }
        return newest
    }
}

extension Record {
    fileprivate func hasEqualRequests(to other: Record) -> Bool {
        hasRequests(of: other)
            || originalRequest.isEqual(to: other.originalRequest)
                && designatedRequest.isEqual(to: other.designatedRequest)
    }
}

extension HTTPRequest {
    fileprivate func isEqual(to other: HTTPRequest) -> Bool {
        method == other.method && url == other.url && timeout == other.timeout && headers == other.headers
            && body.buffered == other.body.buffered
    }
}

extension Record {
    /// The transfer details of each body. Those that were noted for a stream take precedence.
    fileprivate func bodyTransfers(_ noted: Bodies, _ granted: Recorder.Lengths) -> Bodies {
        Bodies(
            original: BodyTransfer(originalRequest.body, granted.original),
            designated: BodyTransfer(designatedRequest.body, granted.designated),
            response: response.map { BodyTransfer($0.body, granted.response) }
        ).replaced(by: noted)
    }

    /// Returns the record with empty streams and with other bodies cut to the granted bytes.
    fileprivate func kept(upTo granted: Recorder.Lengths) -> Record {
        var record = self
        if let body = originalRequest.body.kept(upTo: granted.original) { record.originalRequest.body = body }
        if let body = designatedRequest.body.kept(upTo: granted.designated) { record.designatedRequest.body = body }
        if case .success(var response)? = result, let body = response.body.kept(upTo: granted.response) {
            response.body = body
            record.result = .success(response)
        }
        return record
    }
}

extension Record.Bodies {
    /// Returns these values, replaced by those that `noted` has.
    fileprivate func replaced(by noted: Record.Bodies) -> Record.Bodies {
        Record.Bodies(
            original: noted.original ?? original, designated: noted.designated ?? designated,
            response: noted.response ?? response)
    }
}

extension HTTPBody {
    fileprivate var isStream: Bool { if case .stream = self { true } else { false } }

    /// The recorded form of the body, or `nil` if the body needs no change: its first bytes, or an empty stream.
    fileprivate func kept(upTo limit: Int) -> HTTPBody? {
        switch self {
        case .bytes(let bytes): bytes.count > limit ? .bytes(Array(bytes[..<limit])) : nil
        case .stream: .stream(HTTPBodyStream(next: { nil }))
        }
    }
}

extension Record.BodyTransfer {
    fileprivate init(_ body: HTTPBody, _ limit: Int) {
        switch body {
        case .bytes(let bytes): self.init(byteCount: bytes.count, isCut: bytes.count > limit)
        case .stream: self.init(byteCount: 0, end: .underway)
        }
    }
}

import Foundation
import HTTPCore
import Primitives

/// Stores the newest state of one exchange with streamed bodies, with all bodies as bytes.
///
/// States can change concurrently: a server may respond before it has read the request. One write at a time stores
/// them, so that an older state does not replace a newer one. A change during a write is stored by the next write.
final class Recorder: Sendable {
    enum Place { case original, designated, response }

    private struct State {
        /// The record with empty streams and with cut bodies, so that it holds no reference to active streams.
        var record: Record?
        var notes = Notes()
        /// The requests that were stored last.
        var stored: StoredRequests?
        /// The memory that this exchange holds for its buffered bodies.
        var reservation: BodyReservation
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

    /// The notes about streams.
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

    /// Creates a recorder that continues after the states with buffered bodies, whose newest requests are `stored`.
    init(_ interceptor: Interceptor, _ reservation: BodyReservation, _ stored: StoredRequests?) {
        var reservation = reservation
        self.interceptor = interceptor
        limit = reservation.limit
        share = reservation.share
        state = Locked(State(stored: stored, reservation: reservation))
    }

    /// Stores the current state of the record and updates its `bodies`. Streamed bodies are stored as far as they were
    /// read.
    nonisolated(nonsending) func keep(_ record: inout Record, isAnswered: Bool = false) async {
        // `bodies` is set before `kept` exists, because a write to a shared record copies its content.
        let (bodies, reservation, noted) = state.withLock { [record] state in
            (state.reservation.reserve(record), state.reservation, state.notes.transfers)
        }
        record.bodies = bodies.replaced(by: noted)
        let kept = reservation.cut(record, bodies)
        let (isFree, older) = state.withLock { state in
            let older = state.record
            state.record = kept
            state.isAnswered = isAnswered
            return (state.beginStoring(), older)
        }
        withExtendedLifetime(older) {}
        await isFree ? storeAll() : waitForOtherStore()
    }

    /// Stores no later change of the bodies.
    func ignoreLaterChanges() { state.withLock { $0.isAnswered = false } }

    /// Returns the same stream, and records its first bytes while they are read.
    func watched(_ stream: HTTPBodyStream, as place: Place) -> HTTPBodyStream {
        note([], Record.BodyTransfer(byteCount: 0, end: .underway), place)
        return stream.tapped(upTo: limit, within: share) { [self] bytes, transfer in
            note(bytes, transfer, place)
            if state.withLock({ $0.isAnswered }) { storeLater() }
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
            switch place {
            case .original: (state.notes.original, state.notes.transfers.original) = (bytes, transfer)
            case .designated: (state.notes.designated, state.notes.transfers.designated) = (bytes, transfer)
            case .response: (state.notes.response, state.notes.transfers.response) = (bytes, transfer)
            }
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
        var last: StoredRequests?
        while let next = unstored(after: last) {
            let (redacted, requests) = interceptor.stored(merged(next.record, next.notes), after: next.stored)
            last = requests
            if let memory = interceptor.memory {
                memory.keep(redacted)
            } else {
                await interceptor.storage.store(redacted)
            }
        }
    }

    /// Stores the newest state in a task of its own, where the caller cannot wait.
    private func storeLater() { interceptor.storeInTask { [self] in await store() } }

    private typealias Unstored = (record: Record, notes: Notes, stored: StoredRequests?)

    /// Returns the next state to store, or `nil` when there is none. In that case other callers may store again.
    ///
    /// - Parameter last: The requests of the state that the caller stored, if any.
    private func unstored(after last: StoredRequests?) -> Unstored? {
        let (newest, waiting) = state.withLock { state -> (Unstored?, [CheckedContinuation<Void, Never>]) in
            if let last { state.stored = last }
            if state.isDirty, let record = state.record {
                state.isDirty = false
                return ((record, state.notes, state.stored), [])
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
    private func merged(_ record: Record, _ notes: Notes) -> Record {
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

extension Record.Bodies {
    /// Returns these values, replaced by those that `noted` has.
    fileprivate func replaced(by noted: Record.Bodies) -> Record.Bodies {
        Record.Bodies(
            original: noted.original ?? original, designated: noted.designated ?? designated,
            response: noted.response ?? response)
    }
}

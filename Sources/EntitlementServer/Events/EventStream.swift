import Foundation
import HTTPCore
import Primitives
import StoreModel

/// The events of one book as server-sent events (WHATWG HTML, "Server-sent events"): what followed the event the listener
/// saw last, then what happens, with a comment when nothing has happened for a while.
///
/// A listener reads the ledger at its own pace, a page at a time, so a slow one holds nobody up and fills no memory. The
/// stream ends within a second after its key was revoked, by whichever process, and tells nothing that was committed later.
final class EventStream: Sendable {
    private struct State {
        var sequence: Int64
        /// Written before anything else.
        var greeting: [UInt8]?
    }

    private static let pageLimit = 100

    private let ledger: Ledger
    private let changes: ChangeSignal
    private let ledgerID: LedgerID
    private let silence: TimeInterval
    private let authorization: Authorization
    private let state: Locked<State>

    /// - Parameters:
    ///   - sequence: the event that was seen last; `nil` begins with what happens from now on.
    ///   - silence: after how many seconds a comment shows that the connection still works.
    ///   - admission: by what right somebody listens; the stream ends with it.
    init(
        ledger: Ledger, changes: ChangeSignal, ledgerID: LedgerID, after sequence: Int64?, silence: TimeInterval,
        for authorization: Authorization
    ) throws {
        self.ledger = ledger
        self.changes = changes
        self.ledgerID = ledgerID
        self.silence = silence
        self.authorization = authorization
        let span = try ledger.span(of: ledgerID)
        var greeting = "retry: 2000\n\n"
        if let sequence, sequence > 0, sequence < span.expired {
            let expiryEvent = LedgerEvent.expired(after: sequence, in: ledgerID, at: ledger.clock.now())
            greeting += "event: events.expired\ndata: \(String(decoding: expiryEvent, as: UTF8.self))\n\n"
        }
        state = Locked(State(sequence: sequence ?? span.last, greeting: Array(greeting.utf8)))
    }

    var body: HTTPBodyStream { HTTPBodyStream { try await self.next() } }

    /// The next events, a comment, or `nil` when the service stops or the listener's right has ended.
    private func next() async throws -> [UInt8]? {
        let greeting = state.withLock { state in
            defer { state.greeting = nil }
            return state.greeting
        }
        if let greeting { return greeting }
        let begun = changes.now
        var checked = begun
        while true {
            let listening = changes.listen()
            let page = try page()
            // After the page was read: what was committed after a revocation is sent to no one.
            if page != nil || changes.now - checked >= .seconds(Authorization.recheck) {
                guard try authorization.holds() else { return nil }
                checked = changes.now
            }
            if let page { return encode(page) }
            let left = silence - begun.duration(to: changes.now) / .seconds(1)
            if left <= 0 { return Array(":\n\n".utf8) }
            if await changes.wait(for: listening, upTo: min(Authorization.recheck, left)) == .ended {
                let last = try self.page()
                return try authorization.holds() ? last.map(encode) : nil
            }
        }
    }

    private func page() throws -> [LedgerEvent]? {
        let events = try ledger.events(of: ledgerID, after: state.withLock { $0.sequence }, limit: Self.pageLimit)
        return events.isEmpty ? nil : events
    }

    private func encode(_ events: [LedgerEvent]) -> [UInt8] {
        guard let last = events.last else { return [] }
        state.withLock { $0.sequence = last.sequence }
        return events.flatMap { event in
            // One that was damaged in the database is not there any more.
            let type = event.isWhole ? event.type : "events.expired"
            let data =
                event.isWhole
                ? event.wire : LedgerEvent.expired(after: event.sequence, in: ledgerID, at: ledger.clock.now())
            return Array("id: \(event.id)\nevent: \(type)\ndata: ".utf8) + data + Array("\n\n".utf8)
        }
    }
}

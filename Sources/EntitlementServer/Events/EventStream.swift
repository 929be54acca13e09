import Foundation
import HTTPCore
import Primitives
import StoreModel

/// The events of one ledger as server-sent events (WHATWG HTML, "Server-sent events").
///
/// The stream begins after the last event that the client received, and continues with new events. It sends a comment
/// after a time without events. It reads the ledger one page at a time, at the speed of its client, so that a slow
/// client uses no further memory and delays no other. It ends within a second after any process revoked its key, and
/// sends no event that was committed after the revocation.
final class EventStream: Sendable {
    private struct State {
        var sequence: Int64
        /// The first bytes of the stream.
        var greeting: [UInt8]?
    }

    private static let pageLimit = 100

    private let ledger: Ledger
    private let changes: ChangeSignal
    private let ledgerID: LedgerID
    private let keepAliveInterval: TimeInterval
    private let authorization: Authorization
    private let state: Locked<State>

    /// - Parameters:
    ///   - sequence: The last event that the client received; `nil` starts with new events.
    ///   - keepAliveInterval: The number of seconds without events after which a comment is sent.
    ///   - authorization: The authorization of the client. The stream ends when it becomes invalid.
    init(
        ledger: Ledger, changes: ChangeSignal, ledgerID: LedgerID, after sequence: Int64?,
        keepAliveInterval: TimeInterval,
        for authorization: Authorization
    ) throws {
        self.ledger = ledger
        self.changes = changes
        self.ledgerID = ledgerID
        self.keepAliveInterval = keepAliveInterval
        self.authorization = authorization
        let span = try ledger.span(of: ledgerID)
        var greeting = "retry: 2000\n\n"
        if let sequence, sequence > 0, sequence < span.expired {
            let expiryEvent = LedgerEvent.expired(after: sequence, in: ledgerID, at: ledger.clock.now())
            greeting += "event: \(LedgerEvent.expiredType)\ndata: \(String(decoding: expiryEvent, as: UTF8.self))\n\n"
        }
        state = Locked(State(sequence: sequence ?? span.last, greeting: Array(greeting.utf8)))
    }

    var body: HTTPBodyStream { HTTPBodyStream { try await self.next() } }

    /// Returns the greeting, the next events, a comment, or `nil` if the service stopped or the authorization ended.
    private func next() async throws -> [UInt8]? {
        let greeting = state.withLock { state in
            defer { state.greeting = nil }
            return state.greeting
        }
        if let greeting { return greeting }
        let start = changes.now
        var checked = start
        while true {
            let listening = changes.listen()
            let page = try page()
            // Checked after the page was read, so that no event is sent that was committed after a revocation.
            if page != nil || changes.now - checked >= .seconds(Authorization.recheck) {
                guard try authorization.isStillValid() else { return nil }
                checked = changes.now
            }
            if let page { return encode(page) }
            let remaining = keepAliveInterval - start.duration(to: changes.now) / .seconds(1)
            if remaining <= 0 { return Array(":\n\n".utf8) }
            if await changes.wait(for: listening, upTo: min(Authorization.recheck, remaining)) == .ended {
                let last = try self.page()
                return try authorization.isStillValid() ? last.map(encode) : nil
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
            let type = event.isIntact ? event.type : LedgerEvent.expiredType
            let data =
                event.isIntact
                ? event.wire : LedgerEvent.expired(after: event.sequence, in: ledgerID, at: ledger.clock.now())
            return Array("id: \(event.id)\nevent: \(type)\ndata: ".utf8) + data + Array("\n\n".utf8)
        }
    }
}

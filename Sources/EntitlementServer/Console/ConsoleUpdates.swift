import Foundation
import HTTPCore
import Primitives
import StoreModel

extension Console {
    /// The route of the stream by which a page learns that its data has changed.
    var updateRoutes: [ConsoleRoute] {
        [ConsoleRoute(.get, ConsoleUpdates.name, "consoleUpdates", .signedIn(.readOnly, updates))]
    }

    @Sendable private func updates(_ request: ConsoleRequest) async throws -> HTTPResponse {
        let stream = ConsoleUpdates(
            ledger: ledger, changes: changes, sessions: sessions, session: request.session, ledgerID: request.ledgerID,
            isOfFigures: request.fields["page"] == ConsoleUpdates.figures)
        return HTTPResponse(
            status: 200,
            headers: [
                "Content-Type": "text/event-stream", "Cache-Control": "no-store", "X-Content-Type-Options": "nosniff",
            ],
            body: .stream(stream.body))
    }
}

/// A stream of server-sent events for an open page of the console. Each has the stamp of the data at that time. A page
/// whose own stamp is another one reads itself again.
///
/// The stream ends with the event `ended` within a second after the session has ended or its key was revoked by any
/// process.
final class ConsoleUpdates: Sendable {
    private struct State {
        /// The stamp that was sent last.
        var sent: Int64?
        var hasEnded = false
    }

    static let name = "/updates"
    static let path = ConsoleRoute.root + name
    /// The value of the field `page` for the pages of figures.
    static let figures = "figures"
    /// The number of seconds without events after which a comment is sent.
    private static let keepAliveInterval: TimeInterval = 15

    private let ledger: Ledger
    private let changes: ChangeSignal
    private let sessions: ConsoleSessions
    private let session: ConsoleSession
    private let ledgerID: LedgerID
    private let isOfFigures: Bool
    private let state = Locked(State())

    init(
        ledger: Ledger, changes: ChangeSignal, sessions: ConsoleSessions, session: ConsoleSession, ledgerID: LedgerID,
        isOfFigures: Bool
    ) {
        self.ledger = ledger
        self.changes = changes
        self.sessions = sessions
        self.session = session
        self.ledgerID = ledgerID
        self.isOfFigures = isOfFigures
    }

    var body: HTTPBodyStream { HTTPBodyStream { try await self.next() } }

    /// Returns the next stamp, a comment, the event `ended`, or `nil` after it and if the service stopped.
    private func next() async throws -> [UInt8]? {
        let start = changes.now
        while true {
            let listening = changes.listen()
            let stamp = try ledger.stamp(of: ledgerID, isOfFigures: isOfFigures)
            guard try sessions.isValid(session) else {
                let hadEnded = state.withLock { state in
                    defer { state.hasEnded = true }
                    return state.hasEnded
                }
                return hadEnded ? nil : Array("event: ended\ndata: 1\n\n".utf8)
            }
            if stamp != state.withLock(\.sent) {
                state.withLock { $0.sent = stamp }
                return Array("retry: 2000\ndata: \(stamp)\n\n".utf8)
            }
            let remaining = Self.keepAliveInterval - start.duration(to: changes.now) / .seconds(1)
            if remaining <= 0 { return Array(":\n\n".utf8) }
            if await changes.wait(for: listening, upTo: min(Authorization.recheck, remaining)) == .ended { return nil }
        }
    }
}

extension Ledger {
    /// Returns a number that changes with each event of a ledger or, for figures, with each fact that is added to them.
    func stamp(of ledgerID: LedgerID, isOfFigures: Bool) throws -> Int64 {
        guard isOfFigures else { return try span(of: ledgerID).last }
        let row = try database.read { try $0.first("SELECT position FROM figure_position WHERE id = 1", []) }
        return try row.map { try $0["position"] } ?? 0
    }
}

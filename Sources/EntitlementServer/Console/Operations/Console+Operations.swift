import Foundation
import HTTPCore
import Primitives
import StoreModel

extension Console {
    /// The routes of the operations page.
    var operationsRoutes: [ConsoleRoute] {
        [
            ConsoleRoute(.get, "/operations", "consoleOperations", .signedIn(.readOnly, operations)),
            ConsoleRoute(.post, "/deliveries/replay", "consoleReplay", .signedIn(.full, replay)),
        ]
    }

    @Sendable private func operations(_ request: ConsoleRequest) async throws -> HTTPResponse {
        let app = request.session.caller.app
        let record = try ledger.operations(
            of: request.ledgerID, webhooks: webhooks.filter { $0.app == app }.map(\.name))
        let page = OperationsPage(
            frame: request.frame, record: record, storeNow: ledger.clock.now(), now: realClock.now(),
            slow: slowRequests.newest(of: app, limit: OperationsRecord.listLimit), makeRequestID: makeGrantID,
            replayed: request.fields["done"].flatMap { Int($0) })
        return Self.response(page.page)
    }

    /// Repeats one delivery, or the oldest dead ones, once for each form.
    @Sendable private func replay(_ request: ConsoleRequest) async throws -> HTTPResponse {
        let text = request.fields["delivery"] ?? ""
        let id = text == "all" ? nil : Int64(digits: text)
        guard text == "all" || id != nil else {
            throw ConsoleRefusal.invalid("delivery", "should be the number of a delivery, or all")
        }
        let note = try request.note(.replay, [:], at: realClock)
        let done = try ledger.auditEntry(of: try request.reviewID(), in: request.ledgerID)
        if let done, done.action == AuditAction.replay.rawValue {
            return replayed(done.detail["deliveries"]?.intValue ?? 0, request)
        }
        let count = try await ledger.replay(id, in: request.ledgerID, at: realClock.now(), noting: note)
        return replayed(count, request)
    }

    private func replayed(_ count: Int, _ request: ConsoleRequest) -> HTTPResponse {
        Self.redirect(to: request.frame.path("/operations", [("done", String(count))]) + "#deliveries")
    }
}

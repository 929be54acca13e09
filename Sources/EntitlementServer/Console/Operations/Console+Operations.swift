import Foundation
import HTTPCore
import Primitives
import StoreModel
import WebPages

extension Console {
    /// The routes of the operations page.
    var operationsRoutes: [ConsoleRoute] {
        [
            ConsoleRoute(.get, "/operations", "consoleOperations", .signedIn(.readOnly, operations)),
            ConsoleRoute(.post, "/deliveries/replay/review", "consoleReplayReview", .signedIn(.full, reviewReplay)),
            ConsoleRoute(.post, "/deliveries/replay", "consoleReplay", .signedIn(.full, replay)),
        ]
    }

    @Sendable private func operations(_ request: ConsoleRequest) async throws -> HTTPResponse {
        let app = request.session.caller.app
        let record = try ledger.operations(
            of: request.ledgerID, webhooks: webhooks.filter { $0.app == app })
        let page = OperationsPage(
            frame: request.frame, record: record, storeNow: ledger.clock.now(), now: realClock.now(),
            slow: slowRequests.newest(of: app, limit: OperationsRecord.listLimit),
            replayed: request.fields["done"].flatMap { Int($0) })
        return Self.response(page.page)
    }

    /// Returns the id of the delivery in a form; `nil` for the oldest failed deliveries. Throws 400.
    private func delivery(_ request: ConsoleRequest) throws(ConsoleRefusal) -> Int64? {
        let text = request.fields["delivery"] ?? ""
        let id = text == "all" ? nil : Int64(digits: text)
        guard text == "all" || id != nil else {
            throw .invalid("delivery", "should be the number of a delivery, or all")
        }
        return id
    }

    @Sendable private func reviewReplay(_ request: ConsoleRequest) async throws -> HTTPResponse {
        let id = try delivery(request)
        let deliveries = try ledger.repeatable(id, upTo: .max, in: request.ledgerID)
        guard let first = deliveries.first, let last = deliveries.last else { throw ConsoleRefusal.unknownDelivery }
        let number = deliveries.count
        let webhooks = Set(deliveries.map { ExactString($0.webhook) }).sorted().map { ConsoleFrame.code($0.rawValue) }
        let names = webhooks.joined(separator: ", ")
        let all: HTML = "The oldest \(number) failed deliveries are queued again. They go to \(names)."
        let page = ActionReview(
            frame: request.frame, customer: nil, path: "/deliveries/replay", requestID: makeGrantID(),
            title: id == nil ? "Repeat failed deliveries?" : "Repeat a delivery?",
            button: id == nil ? "Repeat the deliveries" : "Repeat the delivery",
            effect: id == nil ? all : Self.effect(ofRepeating: first),
            consequences: [
                "The server sends the stored event again, at once or after the customer's earlier deliveries.",
                "The receiver may have the event already. It can tell by the id of the event.",
                "The attempts start anew: a delivery that fails again is attempted for hours.",
                "The ledger and the customer's answer do not change.",
            ], fields: [("delivery", request.fields["delivery"] ?? ""), ("last", String(last.id))])
        return Self.response(page.page)
    }

    /// Returns sentences about the delivery that is repeated, and about its earlier attempts.
    private static func effect(ofRepeating delivery: OperationsRecord.Delivery) -> HTML {
        let event: HTML = delivery.type.map { "the event \(ConsoleFrame.code($0))" } ?? "an event"
        let failure = delivery.lastError ?? delivery.lastStatus.map { "status \($0)" }
        let past: HTML =
            failure.map { "It failed. Attempts: \(delivery.attempts), last error: <bdi>\($0)</bdi>." }
            ?? "It was delivered before."
        return """
            The delivery \(delivery.id) to the webhook \(ConsoleFrame.code(delivery.webhook)) is queued again: \(event) \
            about the customer \(ConsoleFrame.code(delivery.customer)). \(past)
            """
    }

    /// Repeats one delivery, or the oldest failed deliveries, once for each review.
    @Sendable private func replay(_ request: ConsoleRequest) async throws -> HTTPResponse {
        let id = try delivery(request)
        let note = try request.note(.replay, [:], at: realClock)
        let done = try ledger.auditEntry(of: try request.reviewID(), in: request.ledgerID)
        if let done, done.action == AuditAction.replay.rawValue {
            return replayed(done.detail["deliveries"]?.intValue ?? 0, request)
        }
        let count = try await ledger.replay(
            id, upTo: try request.position("last") ?? .max, in: request.ledgerID, at: realClock.now(), noting: note)
        return replayed(count, request)
    }

    private func replayed(_ count: Int, _ request: ConsoleRequest) -> HTTPResponse {
        Self.redirect(to: request.frame.path("/operations", [("done", String(count))]) + "#deliveries")
    }
}

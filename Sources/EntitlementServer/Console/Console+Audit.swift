import HTTPCore
import Primitives
import StoreModel

extension Console {
    /// The route of the audit log.
    var auditRoutes: [ConsoleRoute] {
        [ConsoleRoute(.get, "/audit", "consoleAuditLog", .signedIn(.readOnly, auditLog))]
    }

    /// Shows the log of the app, or of one customer.
    @Sendable private func auditLog(_ request: ConsoleRequest) async throws -> HTTPResponse {
        let position = try request.position("before")
        guard request.fields["id"] != nil else {
            let list = try ledger.auditEntries(of: request.session.caller.app, before: position)
            return Self.response(AuditPage(frame: request.frame, customer: nil, list: list).page)
        }
        guard let (customer, list) = try ledger.auditEntries(about: try request.customer(), before: position) else {
            throw ConsoleRefusal.unknownCustomer
        }
        return Self.response(AuditPage(frame: request.frame, customer: customer, list: list).page)
    }
}

extension ConsoleRequest {
    /// Returns the id of the review that the form belongs to. Throws 400.
    func reviewID() throws(ConsoleRefusal) -> String {
        guard let id = fields["request"], (1...64).contains(id.utf8.count), !id.utf8.contains(0) else {
            throw .invalid("request", "should be that of the review")
        }
        return id
    }

    /// Returns the note for the audit log about an action of this session.
    ///
    /// - Parameter detail: The changed values, without names of customers or texts that people wrote about them.
    func note(
        _ action: AuditAction, _ detail: JSONValue, reason: String? = nil, item: String? = nil,
        at clock: any WallClock
    ) throws(ConsoleRefusal) -> AuditNote {
        AuditNote(
            action: action, keyID: APIKeys.id(of: session.caller.keyDigest), role: session.role,
            request: try reviewID(), detail: detail, item: item, reason: reason, now: clock.now())
    }

    /// Returns the request with an idempotency key from the id of the review, by which the ledger recognizes
    /// repetitions.
    ///
    /// - Parameter content: The fields of the action. A repetition with other fields is refused.
    func idempotent(
        _ action: AuditAction, on customer: CustomerID, _ content: [String], at clock: any WallClock
    ) throws(ConsoleRefusal) -> IdempotentRequest {
        let parts = [action.rawValue, customer.rawValue] + content
        return IdempotentRequest(
            ledgerID: ledgerID, sender: .secret, requester: nil, key: "console-" + (try reviewID()),
            digest: SHA256.hash(JSONValue.array(parts.map { .string($0) }).encoded()), customer: customer,
            now: clock.now())
    }
}

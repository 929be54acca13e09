import Foundation
import HTTPCore
import Primitives
import StoreModel

/// The result of an action, which the page of the customer shows after it.
enum ConsoleOutcome: String, Sendable {
    case granted, withdrawn

    var sentence: String {
        switch self {
        case .granted: "The feature was granted."
        case .withdrawn: "The grant was withdrawn."
        }
    }
}

extension Console {
    /// The routes that grant features and withdraw grants. The form of a customer's page opens a review, which says what
    /// will happen. Only the form of the review changes something.
    var grantRoutes: [ConsoleRoute] {
        [
            ConsoleRoute(.post, "/grants/review", "consoleGrantReview", .signedIn(.full, reviewGrant)),
            ConsoleRoute(.post, "/grants", "consoleGrant", .signedIn(.full, grant)),
            ConsoleRoute(.post, "/withdrawals/review", "consoleWithdrawalReview", .signedIn(.full, reviewWithdrawal)),
            ConsoleRoute(.post, "/withdrawals", "consoleWithdrawal", .signedIn(.full, withdraw)),
        ]
    }

    @Sendable private func reviewGrant(_ request: ConsoleRequest) async throws -> HTTPResponse {
        let record = try await changeableRecord(request)
        let grant = try requestedGrant(request)
        let page = GrantReview(
            frame: request.frame, customer: record.customer, grant: grant, until: request.fields["until"] ?? "",
            requestID: makeGrantID(),
            isActive: record.answer.features.contains { $0.isActive && $0.name.hasSameBytes(as: grant.feature) })
        return Self.response(page.page)
    }

    /// Grants a feature, once for each review: a form that is sent again changes nothing.
    @Sendable private func grant(_ request: ConsoleRequest) async throws -> HTTPResponse {
        let record = try await changeableRecord(request)
        guard let id = request.fields["request"], (1...64).contains(id.utf8.count), !id.utf8.contains(0) else {
            throw ConsoleRefusal.invalid("request", "should be that of the review")
        }
        let grant = try requestedGrant(request)
        let key = CustomerKey(ledgerID: request.ledgerID, customer: record.customer)
        let content: JSONValue = [
            .string(record.customer.rawValue), .string(grant.feature), .string(grant.reason),
            .string(request.fields["until"] ?? ""),
        ]
        let idempotency = IdempotentRequest(
            ledgerID: request.ledgerID, sender: .secret, requester: nil, key: "console-" + id,
            digest: SHA256.hash(content.encoded()), customer: record.customer, now: realClock.now())
        _ = try await ledger.add(grant, to: key, as: idempotency) { KeptAnswer(status: 201, $0) }
        return Self.redirect(to: request.frame.path(of: record.customer, [("done", ConsoleOutcome.granted.rawValue)]))
    }

    @Sendable private func reviewWithdrawal(_ request: ConsoleRequest) async throws -> HTTPResponse {
        let record = try await changeableRecord(request)
        let grantID = request.fields["grant"] ?? ""
        guard let entry = record.grants.first(where: { $0.grant.id.hasSameBytes(as: grantID) && $0.withdrawnAt == nil })
        else { throw ConsoleRefusal.unknownGrant }
        let others = record.answer.features.filter { feature in
            feature.isActive && feature.name.hasSameBytes(as: entry.grant.feature)
                && !feature.grantID.hasSameBytes(as: entry.grant.id)
        }
        let page = WithdrawalReview(
            frame: request.frame, customer: record.customer, grant: entry.grant, others: others,
            isOver: entry.grant.until.map { $0 <= record.answer.asOf } ?? false)
        return Self.response(page.page)
    }

    @Sendable private func withdraw(_ request: ConsoleRequest) async throws -> HTTPResponse {
        let record = try await changeableRecord(request)
        let key = CustomerKey(ledgerID: request.ledgerID, customer: record.customer)
        guard try await ledger.withdrawGrant(request.fields["grant"] ?? "", of: key) != nil else {
            throw ConsoleRefusal.unknownGrant
        }
        return Self.redirect(to: request.frame.path(of: record.customer, [("done", ConsoleOutcome.withdrawn.rawValue)]))
    }

    /// Returns the customer of a form. Throws 404 for an unknown customer, and 409 for the pseudonym of an erased one.
    private func changeableRecord(_ request: ConsoleRequest) async throws -> CustomerRecord {
        guard let record = try await ledger.record(of: try request.customer(), purchase: nil, before: nil) else {
            throw ConsoleRefusal.unknownCustomer
        }
        guard record.entry.erasedAt == nil else { throw Refusal.customerErased }
        return record
    }

    /// Returns the grant of a form. Throws 400 for an invalid field.
    private func requestedGrant(_ request: ConsoleRequest) throws -> Grant {
        let text = request.fields["until"] ?? ""
        // The control for a date and a time leaves out the seconds if they are 0, and has no time zone.
        let until = RFC3339.date(from: text + "Z") ?? RFC3339.date(from: text + ":00Z")
        guard text.isEmpty || until != nil else {
            throw ConsoleRefusal.invalid("until", "should be a date and a time in UTC, such as 2027-01-31T12:00")
        }
        let feature = request.fields["feature"] ?? ""
        let reason = request.fields["reason"] ?? ""
        return try Grant(
            GrantRequest(feature: feature, until: until, reason: reason), id: makeGrantID(),
            at: ledger.clock.now().wholeMillisecond)
    }
}

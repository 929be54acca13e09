import Foundation
import HTTPCore
import Primitives
import StoreModel

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
        let grant = try requestedGrant(request)
        var detail: JSONValue = ["feature": .string(grant.feature), "grant": .string(grant.id)]
        if let until = grant.until { detail["until"] = .string(RFC3339.string(from: until)) }
        let note = try request.note(.grant, detail, reason: grant.reason, at: realClock)
        let once = try request.idempotent(
            .grant, on: record.customer, [grant.feature, grant.reason, request.fields["until"] ?? ""], at: realClock)
        _ = try await ledger.add(grant, to: request.key(of: record), as: once, noting: note) {
            KeptAnswer(status: 201, $0)
        }
        return Self.redirect(to: request.path(of: record, after: .granted))
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
            frame: request.frame, customer: record.customer, grant: entry.grant, requestID: makeGrantID(),
            others: others, isOver: entry.grant.until.map { $0 <= record.answer.asOf } ?? false)
        return Self.response(page.page)
    }

    /// Withdraws a grant. A repetition finds the entry of the same review.
    @Sendable private func withdraw(_ request: ConsoleRequest) async throws -> HTTPResponse {
        let record = try await changeableRecord(request)
        let grantID = request.fields["grant"] ?? ""
        var detail: JSONValue = ["grant": .string(grantID)]
        let entry = record.grants.first { $0.grant.id.hasSameBytes(as: grantID) }
        detail["feature"] = entry.map { .string($0.grant.feature) }
        let note = try request.note(.withdraw, detail, at: realClock)
        let withdrawn = try await ledger.withdrawGrant(grantID, of: request.key(of: record), noting: note)
        guard try withdrawn != nil || isDone(.withdraw, request) else { throw ConsoleRefusal.unknownGrant }
        return Self.redirect(to: request.path(of: record, after: .withdrawn))
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

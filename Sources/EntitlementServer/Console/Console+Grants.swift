import Foundation
import HTTPCore
import Primitives
import StoreModel
import WebPages

extension Console {
    /// The routes that grant features and withdraw grants. A form on the page of a customer opens a review, which shows
    /// the effect. Only the form of the review changes the ledger.
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
        let isActive = record.answer.features.contains { $0.isActive && $0.name.hasSameBytes(as: grant.feature) }
        let (customer, feature) = (ConsoleFrame.code(record.customer.rawValue), ConsoleFrame.code(grant.feature))
        let end: HTML = grant.until.map { "until \(ConsoleFrame.time($0))" } ?? "without an end"
        let again: HTML = " The customer has the feature already; the grant gives it a second time."
        let page = ActionReview(
            frame: request.frame, customer: record.customer, path: "/grants", requestID: makeGrantID(),
            title: "Grant a feature?", button: "Grant the feature",
            effect: """
                The customer \(customer) gets the feature \(feature) now, \(end). The app learns it with its next \
                request.\(again, if: isActive)
                """,
            consequences: [
                "Event streams and webhooks receive an event.",
                "Purchases stay as they are, and the store is not asked.",
                "The reason “<bdi>\(grant.reason)</bdi>” is stored, and the customer's answer shows it.",
                "A grant can be withdrawn.",
            ],
            fields: [
                ("feature", grant.feature), ("until", request.fields["until"] ?? ""), ("reason", grant.reason),
            ])
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
        let grant = entry.grant
        let page = ActionReview(
            frame: request.frame, customer: record.customer, path: "/withdrawals", requestID: makeGrantID(),
            title: "Withdraw a grant?", button: "Withdraw the grant", isRisky: true,
            effect: Self.effect(ofWithdrawing: grant, from: record.answer),
            consequences: [
                "Event streams and webhooks receive an event if the customer's answer changes.",
                "The grant was given \(ConsoleFrame.time(grant.from)): “<bdi>\(grant.reason)</bdi>”.",
                "A withdrawal cannot be undone. You can grant the feature again.",
            ], fields: [("grant", grant.id)])
        return Self.response(page.page)
    }

    /// Returns a sentence that says whether the customer loses the feature, or what else gives it.
    private static func effect(ofWithdrawing grant: Grant, from answer: Customer) -> HTML {
        if let until = grant.until, until <= answer.asOf { return "The grant has ended, so access does not change." }
        let (customer, feature) = (ConsoleFrame.code(answer.customer.rawValue), ConsoleFrame.code(grant.feature))
        let other = answer.features.first {
            $0.isActive && $0.name.hasSameBytes(as: grant.feature) && !$0.grantID.hasSameBytes(as: grant.id)
        }
        guard let other else {
            return """
                The customer \(customer) loses the feature \(feature) at once: no purchase and no other grant gives it.
                """
        }
        return """
            The customer \(customer) keeps the feature \(feature): <bdi>\(other.because)</bdi>, until \
            \(ConsoleFrame.time(other.effectiveUntil, otherwise: "it is withdrawn")).
            """
    }

    /// Withdraws a grant. A repetition finds the audit entry of its review, and succeeds.
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
        // A browser sends a date and a time without a time zone, and without the seconds if they are 0.
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

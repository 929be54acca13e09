import HTTPCore
import Primitives
import StoreModel
import WebPages

extension Console {
    /// The routes that redeem items for credit, and that give credit.
    var creditRoutes: [ConsoleRoute] {
        [
            ConsoleRoute(.post, "/redemptions/review", "consoleRedemptionReview", .signedIn(.full, reviewRedemption)),
            ConsoleRoute(.post, "/redemptions", "consoleRedemption", .signedIn(.full, redeem)),
            ConsoleRoute(.post, "/credits/review", "consoleCreditReview", .signedIn(.full, reviewCreditGrant)),
            ConsoleRoute(.post, "/credits", "consoleCredit", .signedIn(.full, give)),
        ]
    }

    /// The item of a form, with its price.
    private struct Redemption {
        let type: String
        let credit: CreditTable.Credit
        let item: RedeemRequest.Item
        let price: Int
    }

    /// Returns the kind of credit that a form names. Throws 404 for an unknown one.
    private func credit(_ request: ConsoleRequest) throws(ConsoleRefusal) -> (type: String, CreditTable.Credit) {
        let type = request.fields["credit"] ?? ""
        let credits = ledger.rules[request.session.caller.app].rules.credits.credits
        guard let credit = credits[exactly: type] else { throw .unknownCredit }
        return (type, credit)
    }

    /// Reads the item of a form. Throws 400 and 404.
    private func redemption(_ request: ConsoleRequest) throws -> Redemption {
        let (type, credit) = try credit(request)
        let item = RedeemRequest.Item(id: request.fields["item"] ?? "", type: request.fields["type"] ?? "")
        try CreditRoutes.check([item], in: credit)
        return Redemption(type: type, credit: credit, item: item, price: credit.prices[exactly: item.type] ?? 0)
    }

    @Sendable private func reviewRedemption(_ request: ConsoleRequest) async throws -> HTTPResponse {
        let record = try await changeableRecord(request)
        let redemption = try redemption(request)
        let reason = try request.reason()
        let balance = try await ledger.balance(
            of: request.key(of: record), type: redemption.type, in: redemption.credit
        ).balance
        let (rest, isTooSmall) = balance.subtractingReportingOverflow(redemption.price)
        guard !isTooSmall, rest >= 0 else {
            throw ConsoleRefusal.insufficientCredit(balance: balance, cost: redemption.price)
        }
        let (customer, item) = (
            ConsoleFrame.code(record.customer.rawValue), ConsoleFrame.code(redemption.item.id)
        )
        let page = ActionReview(
            frame: request.frame, customer: record.customer, path: "/redemptions", requestID: makeGrantID(),
            title: "Redeem an item?", button: "Redeem the item", isRisky: true,
            effect: """
                The customer \(customer) gets the item \(item) of the type \(ConsoleFrame.code(redemption.item.type)) for \
                \(redemption.price) of the credit \(ConsoleFrame.code(redemption.type)). \(balance) is there now, and \
                \(rest) is left.
                """,
            consequences: [
                "An item that the customer redeemed before costs nothing, and changes nothing.",
                "A redemption cannot be undone.",
            ] + ActionReview.sentence(about: reason),
            fields: [
                ("credit", redemption.type), ("item", redemption.item.id), ("type", redemption.item.type),
                ("reason", reason ?? ""),
            ])
        return Self.response(page.page)
    }

    @Sendable private func redeem(_ request: ConsoleRequest) async throws -> HTTPResponse {
        let record = try await changeableRecord(request)
        let redemption = try redemption(request)
        let reason = try request.reason()
        let note = try request.note(
            .redeem,
            [
                "credit": .string(redemption.type), "type": .string(redemption.item.type),
                "cost": .number(redemption.price),
            ], reason: reason, item: redemption.item.id, at: realClock)
        let once = try request.idempotent(
            .redeem, on: record.customer,
            [redemption.type, redemption.item.type, redemption.item.id, reason ?? ""], at: realClock)
        do {
            _ = try await ledger.redeem(
                [redemption.item], of: request.key(of: record), type: redemption.type, in: redemption.credit, as: once,
                noting: note
            ) { try KeptAnswer(wire: $0) }
        } catch let short as Ledger.InsufficientCredit {
            throw ConsoleRefusal.insufficientCredit(balance: short.balance, cost: short.cost)
        }
        return Self.redirect(to: request.path(of: record, after: .redeemed))
    }

    // MARK: - Giving

    /// Reads the credit grant of a form. Throws 400 and 404.
    private func creditGrant(_ request: ConsoleRequest) throws -> (grant: CreditGrant, credit: CreditTable.Credit) {
        let (type, credit) = try credit(request)
        guard let amount = request.fields["amount"].flatMap({ Int64(digits: $0) }).flatMap({ Int(exactly: $0) }) else {
            throw ConsoleRefusal.invalid("amount", "should be a number from 1 to \(CreditGrant.maximum)")
        }
        let grant = CreditGrantRequest(amount: amount, reason: request.fields["reason"] ?? "")
        return (try CreditGrant(grant, id: makeGrantID(), type: type), credit)
    }

    @Sendable private func reviewCreditGrant(_ request: ConsoleRequest) async throws -> HTTPResponse {
        let record = try await changeableRecord(request)
        let (grant, credit) = try creditGrant(request)
        let balance = try await ledger.balance(of: request.key(of: record), type: grant.type, in: credit).balance
        let (sum, isTooLarge) = balance.addingReportingOverflow(grant.amount)
        let newBalance = isTooLarge ? Int.max : sum
        let customer = ConsoleFrame.code(record.customer.rawValue)
        let page = ActionReview(
            frame: request.frame, customer: record.customer, path: "/credits", requestID: makeGrantID(),
            title: "Give credit?", button: "Give the credit",
            effect: """
                The customer \(customer) gets \(grant.amount) of the credit \(ConsoleFrame.code(grant.type)). \(balance) is \
                there now, and \(newBalance) will be.
                """,
            consequences: [
                "The customer can spend it at once. It is spent before the credit of purchases.",
                "It belongs to the customer and to no purchase. A transfer of a purchase does not move it.",
                "Event streams and webhooks receive an event. The store is not asked.",
                "The reason “<bdi>\(grant.reason)</bdi>” is stored, and the customer's export contains it.",
                "Credit cannot be withdrawn. You can take credit for an item.",
            ],
            fields: [("credit", grant.type), ("amount", String(grant.amount)), ("reason", grant.reason)])
        return Self.response(page.page)
    }

    /// Gives credit, once for each review: a form that is sent again changes nothing.
    @Sendable private func give(_ request: ConsoleRequest) async throws -> HTTPResponse {
        let record = try await changeableRecord(request)
        let (grant, credit) = try creditGrant(request)
        let note = try request.note(
            .giveCredit,
            ["credit": .string(grant.type), "amount": .number(grant.amount), "grant": .string(grant.id)],
            reason: grant.reason, at: realClock)
        let once = try request.idempotent(
            .giveCredit, on: record.customer, [grant.type, String(grant.amount), grant.reason], at: realClock)
        _ = try await ledger.give(grant, to: request.key(of: record), in: credit, as: once, noting: note) {
            try KeptAnswer(status: 201, wire: $0)
        }
        return Self.redirect(to: request.path(of: record, after: .credited))
    }
}

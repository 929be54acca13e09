import HTTPCore
import Primitives
import StoreModel
import WebPages

extension Console {
    /// The routes that take credit for items.
    var creditRoutes: [ConsoleRoute] {
        [
            ConsoleRoute(.post, "/redemptions/review", "consoleRedemptionReview", .signedIn(.full, reviewRedemption)),
            ConsoleRoute(.post, "/redemptions", "consoleRedemption", .signedIn(.full, redeem)),
        ]
    }

    /// The item of a form, with its price.
    private struct Redemption {
        let type: String
        let credit: CreditTable.Credit
        let item: RedeemRequest.Item
        let price: Int
    }

    /// Reads the item of a form. Throws 400 and 404.
    private func redemption(_ request: ConsoleRequest) throws -> Redemption {
        let type = request.fields["credit"] ?? ""
        let credits = ledger.rules[request.session.caller.app].rules.credits.credits
        guard let credit = credits[exactly: type] else { throw ConsoleRefusal.unknownCredit }
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
}

import Foundation
import HTTPCore
import Primitives
import StoreModel

/// The endpoints of credits: the balance, the redemption of items, and the credit that operators give.
struct CreditRoutes: Sendable {
    private static let maximumBody = 256 << 10
    private static let limit = 100

    let ledger: Ledger
    let idempotent: IdempotentRequests
    let makeID: @Sendable () -> String

    var endpoints: [Endpoint<ServerHandler>] {
        [
            Endpoint(
                .get, "/v1/customers/{customer}/credits/{type}", "getCredit", "Get a customer's credit", tag: .gifts,
                answer: .balance, refusals: [404: ["unknown_credit"]], handler: .authorized(.customer, balance)),
            Endpoint(
                .post, "/v1/customers/{customer}/credits/{type}/redeem", "redeemCredit",
                "Spend credit on items, all of them or none", tag: .gifts, body: .init(.redeemRequest),
                answer: .redeemed,
                refusals: [404: ["unknown_credit"], 409: ["insufficient_credit", "customer_erased"]],
                isIdempotent: true, handler: .authorized(.customer, redeem)),
            Endpoint(
                .post, "/v1/customers/{customer}/credits/{type}/grants", "postCreditGrant", "Give a customer credit",
                tag: .gifts, body: .init(.creditGrantRequest), status: 201, answer: .balance,
                refusals: [404: ["unknown_credit"], 409: ["customer_erased"]], isIdempotent: true,
                handler: .authorized(.secretKey, give)),
        ]
    }

    private func credit(_ context: RequestContext) throws -> (type: String, credit: CreditTable.Credit) {
        let type = context.path["type"]
        guard let credit = ledger.rules[context.caller.app].rules.credits.credits[exactly: type] else {
            throw Refusal.unknownCredit
        }
        return (type, credit)
    }

    @Sendable private func balance(_ context: RequestContext) throws -> HTTPReply {
        let customer = try context.customer()
        let (type, credit) = try credit(context)
        return context.later {
            try HTTPResponse(wire: try await ledger.balance(of: customer, type: type, in: credit))
        }
    }

    @Sendable private func redeem(_ context: RequestContext) throws -> HTTPReply {
        let customer = try context.customer()
        let (type, credit) = try credit(context)
        return context.later {
            let body = try await RequestBody.bytes(of: context.request, upTo: Self.maximumBody)
            return try await idempotent.respond(to: context, body: body) { idempotency in
                let items = try RequestBody.decode(RedeemRequest.self, from: body).items
                try Self.check(items, in: credit)
                do {
                    return try await ledger.redeem(items, of: customer, type: type, in: credit, as: idempotency) {
                        try KeptAnswer(wire: $0)
                    }
                } catch let short as Ledger.InsufficientCredit {
                    throw Refusal.insufficient(short)
                }
            }
        }
    }

    @Sendable private func give(_ context: RequestContext) throws -> HTTPReply {
        let customer = try context.customer()
        let (type, credit) = try credit(context)
        return context.later {
            let body = try await RequestBody.bytes(of: context.request, upTo: Self.maximumBody)
            return try await idempotent.respond(to: context, body: body) { idempotency in
                let grant = try CreditGrant(
                    RequestBody.decode(CreditGrantRequest.self, from: body), id: makeID(), type: type)
                return try await ledger.give(grant, to: customer, in: credit, as: idempotency) {
                    try KeptAnswer(status: 201, wire: $0)
                }
            }
        }
    }

    /// Throws 400 for items that cannot be redeemed with a kind of credit.
    static func check(_ items: [RedeemRequest.Item], in credit: CreditTable.Credit) throws {
        guard (1...limit).contains(items.count) else {
            throw Refusal.invalid("items", "should have 1 to \(limit) elements")
        }
        for (index, item) in items.enumerated() {
            guard ProductID.isValid(item.id) else {
                throw Refusal.invalid("items/\(index)/id", "should have \(ProductID.rule)")
            }
            guard credit.prices[exactly: item.type] != nil else {
                throw Refusal.invalid("items/\(index)/type", "has no price in this kind of credit")
            }
        }
    }
}

extension Refusal {
    fileprivate static let unknownCredit = Refusal(
        HTTPProblem(
            status: 404, code: "unknown_credit", title: "Unknown credit",
            detail: "The app has no credit of this type; its feature file names them.", field: "type"))

    fileprivate static func insufficient(_ short: Ledger.InsufficientCredit) -> Refusal {
        Refusal(
            HTTPProblem(
                status: 409, code: "insufficient_credit", title: "Not enough credit",
                detail: "The items cost \(short.cost), and \(short.balance) is left; nothing was redeemed.",
                field: "items"))
    }
}

import Foundation
import Primitives
import SimulatorControl
import StoreKitAdapter
import StoreModel

extension StoreCommand {
    private static let customers = StoreControlWire.PurchaseCustomer.allCases.map(\.rawValue)

    static let offers = [
        action(
            "offer-code create PRODUCT OFFER", "Create a custom offer code, or one-time codes",
            options: [
                .init(name: "code", value: "TEXT", help: "a custom code of letters and digits, such as SUMMER"),
                .init(name: "limit", value: "N", help: "how many accounts can redeem the custom code (1000000)"),
                .init(name: "count", value: "N", help: "create this many one-time codes, 1 to 25000"),
                .init(
                    name: "expires", value: "DATE",
                    help: "when the codes expire; one-time codes do in 6 months at the latest"),
                .init(name: "price", value: "P", help: "the price of a new offer, unless PRODUCT is a subscription"),
                .init(
                    name: "customers", value: "C", repeats: true,
                    help: "a new offer is only for this kind of customer: \(customers.joined(separator: ", "))",
                    choices: customers),
            ]
        ) { client, arguments in
            let (code, count) = (arguments.text("code"), try arguments.integer("count", in: 1...25_000))
            guard (code == nil) != (count == nil) else {
                throw UsageError("write one custom code with --code, or the number of one-time codes with --count")
            }
            let named = try arguments.texts("customers").map { text in
                guard let customer = StoreControlWire.PurchaseCustomer(rawValue: text) else {
                    throw UsageError("--customers is one of \(customers.joined(separator: ", ")), not \(text.quoted)")
                }
                return customer
            }
            let codes = StoreControlWire.NewOfferCodes(
                productID: try Arguments.identifier(arguments.operands[0], called: "PRODUCT"),
                offerID: arguments.operands[1], code: code, limit: try arguments.integer("limit", in: 1...1_000_000),
                count: count, expiresAt: try arguments.time("expires"), price: arguments.text("price"),
                customers: named.isEmpty ? nil : named)
            return try await client.ask(
                .post, "/offer-code-batches", codes, as: StoreControlWire.OfferCodeBatch.self, StoreText.codes)
        },
        action("offer-code list [ACCOUNT]", "List the offer codes that were created") { client, arguments in
            let path = StorePath("/offer-code-batches", query: [("account", arguments.operands.first)])
            return try await client.ask(.get, path, as: StoreControlWire.OfferCodeBatches.self) {
                StoreText.table($0.offerCodeBatches)
            }
        },
        action("offer-code show BATCH", "List the codes that were created together") { client, arguments in
            try await client.ask(
                .get, "/offer-code-batches/\(arguments.operands[0])", as: StoreControlWire.OfferCodeBatch.self,
                StoreText.codes)
        },
        action("offer-code deactivate BATCH", "Deactivate the codes that were created together") { client, arguments in
            let batch = arguments.operands[0]
            return try await client.ask(
                .post, "/offer-code-batches/\(batch)/deactivate",
                text: "the codes of the batch \(batch) are deactivated")
        },
        action("win-back list [ACCOUNT]", "List the win-back offers and their conditions") { client, arguments in
            let path = StorePath("/win-back-offers", query: [("account", arguments.operands.first)])
            return try await client.ask(.get, path, as: StoreControlWire.WinBackOffers.self) {
                StoreText.table($0.winBackOffers)
            }
        },
        action(
            "win-back set PRODUCT OFFER", "Set the conditions of a win-back offer, and remove all others",
            options: [
                .init(name: "paid-months", value: "N", help: "the customer has paid for so many months, 1 to 60"),
                .init(name: "min-months", value: "N", help: "so many months after the subscription ended, 1 to 24"),
                .init(name: "max-months", value: "N", help: "until so many months after it ended, 1 to 24"),
                .init(name: "wait-months", value: "N", help: "so many months after the last win-back offer, 2 to 24"),
            ]
        ) { client, arguments in
            typealias Conditions = StoreControlWire.WinBackConditions
            let conditions = Conditions(
                offerID: arguments.operands[1],
                paidMonths: try arguments.integer("paid-months", in: Conditions.paidRange),
                minimumMonthsSinceEnd: try arguments.integer("min-months", in: Conditions.sinceEndRange),
                maximumMonthsSinceEnd: try arguments.integer("max-months", in: Conditions.sinceEndRange),
                monthsBetweenOffers: try arguments.integer("wait-months", in: Conditions.betweenOffersRange))
            return try await client.ask(
                .put, "/products/\(arguments.operands[0])/win-back-conditions", conditions,
                as: StoreControlWire.WinBackOffer.self
            ) { "\($0.conditions.offerID) is for customers \(StoreText.words($0.conditions))" }
        },
    ]
}

extension StoreText {
    static func table(_ batches: [StoreControlWire.OfferCodeBatch]) -> TerminalText {
        table(
            ["batch", "product", "offer", "code", "redeemed", "expires (UTC)", "state"],
            batches.map { batch in
                let state = [
                    batch.deactivatedAt.map { "deactivated \(date($0))" }, batch.state?.rawValue, batch.reason,
                ].compactMap(\.self)
                return [
                    batch.batch, batch.productID.rawValue, batch.offerID, batch.code ?? "one-time",
                    "\(batch.redeemed) of \(batch.limit)", date(batch.expiresAt), state.joined(separator: ": "),
                ]
            })
    }

    /// The codes of one batch.
    static func codes(_ batch: StoreControlWire.OfferCodeBatch) -> TerminalText {
        table(
            ["batch", "code", "redeemed"],
            (batch.codes ?? []).map {
                [batch.batch, $0.code, "\($0.redeemed) of \(batch.kind == .custom ? batch.limit : 1)"]
            })
    }

    static func table(_ offers: [StoreControlWire.WinBackOffer]) -> TerminalText {
        table(
            ["product", "offer", "terms", "for customers", "state"],
            offers.map { offer in
                let state = offer.isEligible.map { $0 ? "eligible" : "not eligible" }
                return [
                    offer.productID.rawValue, offer.conditions.offerID, terms(offer.offer), words(offer.conditions),
                    [state, offer.reason].compactMap(\.self).joined(separator: ": "),
                ]
            })
    }

    static func words(_ conditions: StoreControlWire.WinBackConditions) -> String {
        let parts = [
            conditions.paidMonths.map { "who paid for \($0) months" },
            conditions.minimumMonthsSinceEnd.map { "from \($0) months after the end" },
            conditions.maximumMonthsSinceEnd.map { "until \($0) months after the end" },
            conditions.monthsBetweenOffers.map { "\($0) months after their last win-back offer" },
        ].compactMap(\.self)
        return parts.isEmpty ? "whose subscription has ended" : parts.joined(separator: ", ")
    }
}

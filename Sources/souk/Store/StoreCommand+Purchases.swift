import Foundation
import Primitives
import SimulatorControl
import StoreKitAdapter
import StoreModel

extension StoreCommand {
    private static let token = Command.Option(
        name: "app-account-token", value: "UUID", help: "the app account token of the customer")

    private static func product(_ text: String) throws -> ProductID {
        try Arguments.identifier(text, called: "PRODUCT")
    }

    private static func billingPlanOption(_ help: String) -> Command.Option {
        .init(
            name: "billing-plan", value: "P", help: help,
            choices: StoreControlWire.BillingPlan.allCases.map(\.rawValue))
    }

    private static func billingPlan(_ arguments: Arguments) throws -> StoreControlWire.BillingPlan? {
        try arguments.text("billing-plan").map { text in
            guard let plan = StoreControlWire.BillingPlan(rawValue: text) else {
                throw UsageError("--billing-plan is upFront or monthly, not \(text.quoted)")
            }
            return plan
        }
    }

    private static func productList(_ usage: String, _ path: String, _ summary: String) -> Command {
        action(
            usage, summary,
            options: [
                .init(
                    name: "storefront", value: "COUNTRY",
                    help: "the country whose prices are shown, such as DEU (the catalogue's country)")
            ]
        ) { client, arguments in
            let path = StorePath(path, query: [("storefront", arguments.text("storefront"))])
            return try await client.ask(.get, path, as: ProductAnswer.self, StoreText.table)
        }
    }

    static let products = [
        productList("products", "/products", "List the products"),
        productList("product withdrawn", "/withdrawn-products", "List the products that were withdrawn from sale"),
        action("product withdraw PRODUCT", "Stop selling a product; its subscriptions end with their period") {
            client, arguments in
            let product = arguments.operands[0]
            return try await client.ask(.post, "/products/\(product)/withdraw", text: "\(product) is withdrawn")
        },
        action("product offer PRODUCT", "Sell a withdrawn product again") { client, arguments in
            let product = arguments.operands[0]
            return try await client.ask(.post, "/products/\(product)/offer", text: "\(product) is sold again")
        },
        action(
            "price-increase PRODUCT PRICE", "Increase the price from the next renewal on",
            options: [
                .init(name: "no-consent", help: "notify the customer, who need not agree"),
                billingPlanOption("the plan whose price rises: upFront (default) or monthly"),
            ]
        ) { client, arguments in
            let price = StoreControlWire.NewPrice(
                price: arguments.operands[1], needsConsent: arguments.has("no-consent") ? false : nil,
                billingPlan: try billingPlan(arguments))
            return try await client.ask(
                .post, "/products/\(arguments.operands[0])/price-increase", price,
                as: StoreControlWire.PriceIncrease.self
            ) { "\($0.productID) costs \($0.price.amount) \($0.price.currency) from \(StoreText.date($0.at)) on" }
        },
        action("price-increases", "List the price increases") { client, _ in
            try await client.ask(.get, "/price-increases", as: StoreControlWire.PriceIncreases.self) {
                StoreText.table(
                    ["product", "price", "from (UTC)", "needs consent"],
                    $0.priceIncreases.map {
                        [
                            $0.productID.rawValue, "\($0.price.amount) \($0.price.currency)", StoreText.date($0.at),
                            $0.needsConsent ? "yes" : "no",
                        ]
                    })
            }
        },
    ]

    static let purchases = [
        action(
            "buy ACCOUNT PRODUCT", "Buy a product as an account",
            options: [
                .init(
                    name: "quantity", value: "N",
                    help: "the quantity of a consumable, 1 to 10, or all seats of a subscription"),
                .init(name: "offer", value: "ID", help: "use this offer of the product"),
                .init(
                    name: "offer-kind", value: "K", help: "the kind of the offer: promotional (default) or winBack",
                    choices: ["promotional", "winBack"]),
                billingPlanOption("upFront (default), or monthly with a commitment"),
                .init(
                    name: "no-introductory-offer", help: "pay the price, though the product has an introductory offer"),
                token, .init(name: "simulate-ask-to-buy", help: "this purchase waits for approval"),
                .init(name: "device", value: "D", help: "pay with this device of the account; else outside of the app"),
            ]
        ) { client, arguments in
            let kind = arguments.text("offer-kind")
            guard [nil, "promotional", "winBack"].contains(kind) else {
                throw UsageError("--offer-kind is promotional or winBack, not \((kind ?? "").quoted)")
            }
            let buy = StoreControlWire.Buy(
                productID: try product(arguments.operands[1]),
                quantity: try arguments.integer("quantity", in: 1...10_000), offerID: arguments.text("offer"),
                offerKind: kind.map { PaymentOffer.Kind(rawValue: $0) },
                billingPlan: try billingPlan(arguments),
                allowsIntroductoryOffer: arguments.has("no-introductory-offer") ? false : nil,
                appAccountToken: try arguments.uuid("app-account-token"),
                simulatesAskToBuy: arguments.has("simulate-ask-to-buy") ? true : nil,
                deviceID: arguments.text("device"))
            return try await client.askForTransaction(.post, "/accounts/\(arguments.operands[0])/buy", buy)
        },
        action(
            "redeem ACCOUNT CODE", "Redeem an offer code",
            options: [
                .init(name: "product", value: "P", help: "the product, if several have an offer with this code"), token,
            ]
        ) { client, arguments in
            let redeem = StoreControlWire.Redeem(
                code: arguments.operands[1], productID: try arguments.identifier("product"),
                appAccountToken: try arguments.uuid("app-account-token"))
            return try await client.askForTransaction(.post, "/accounts/\(arguments.operands[0])/redeem", redeem)
        },
        action(
            "promote ACCOUNT PRODUCT", "Begin a promoted purchase, which the app continues",
            options: [.init(name: "offer", value: "ID", help: "use this win-back offer of the product")]
        ) { client, arguments in
            let product = try product(arguments.operands[1])
            let promotion = StoreControlWire.Promotion(productID: product, offerID: arguments.text("offer"))
            return try await client.ask(
                .post, "/accounts/\(arguments.operands[0])/promote", promotion,
                text: "the app can continue with \(product)")
        },
        action("transactions ACCOUNT", "List the transactions of an account, newest last") { client, arguments in
            try await client.ask(
                .get, "/accounts/\(arguments.operands[0])/transactions", as: StoreControlWire.Transactions.self,
                StoreText.table)
        },
        action("subscriptions ACCOUNT", "List the subscriptions of an account and their next periods") {
            client, arguments in
            try await client.ask(
                .get, "/accounts/\(arguments.operands[0])/subscriptions", as: StoreControlWire.Subscriptions.self,
                StoreText.table)
        },
        action("entitlements ACCOUNT", "List the transactions that give an account access now") { client, arguments in
            try await client.ask(
                .get, "/accounts/\(arguments.operands[0])/entitlements", as: StoreControlWire.Transactions.self,
                StoreText.table)
        },
        action("unfinished ACCOUNT", "List the transactions that no device has finished") { client, arguments in
            try await client.ask(
                .get, "/accounts/\(arguments.operands[0])/unfinished", as: StoreControlWire.Transactions.self,
                StoreText.table)
        },
        action("orders [ACCOUNT]", "List the purchases that wait for a decision") { client, arguments in
            let path: StorePath = arguments.operands.first.map { "/orders?account=\($0)" } ?? "/orders"
            return try await client.ask(.get, path, as: StoreControlWire.PendingOrders.self) {
                StoreText.table(
                    ["transaction", "state", "account", "product", "ordered (UTC)"],
                    $0.orders.map {
                        [
                            $0.transactionID.rawValue, $0.state, $0.account, $0.productID.rawValue,
                            StoreText.date($0.orderedAt),
                        ]
                    })
            }
        },
        action("promoted-purchases [ACCOUNT]", "List the promoted purchases that no device has taken") {
            client, arguments in
            let path = StorePath("/promoted-purchases", query: [("account", arguments.operands.first)])
            return try await client.ask(.get, path, as: StoreControlWire.PromotedPurchases.self) {
                StoreText.table(
                    ["account", "product", "offer", "begun (UTC)"],
                    $0.promotedPurchases.map {
                        [$0.account, $0.productID.rawValue, $0.offerID ?? "–", StoreText.date($0.begunAt)]
                    })
            }
        },
        action("offer-codes [ACCOUNT]", "List the offer codes, and whether an account can redeem them") {
            client, arguments in
            let path = StorePath("/offer-codes", query: [("account", arguments.operands.first)])
            return try await client.ask(.get, path, as: StoreControlWire.OfferCodes.self) {
                StoreText.table(
                    ["code", "product", "offer", "for customers", "state"],
                    $0.offerCodes.map { code in
                        let state = [code.state?.rawValue ?? "–", code.reason].compactMap(\.self)
                        return [
                            code.code, code.productID.rawValue, StoreText.terms(code.offer),
                            code.eligibility.joined(separator: ", "), state.joined(separator: ": "),
                        ]
                    })
            }
        },
    ]

    static let subscriptions: [Command] =
        [
            subscriptionAction("renew", "Renew the subscription now"),
            action(
                "cancel ACCOUNT PRODUCT", "Turn off renewal, and show what the customer saw before that",
                options: [locale]
            ) { client, arguments in
                try await client.askForTransaction(
                    .post, "/accounts/\(arguments.operands[0])/cancel", try cancellation(arguments))
            },
            action(
                "resume ACCOUNT PRODUCT", "Turn on renewal again",
                options: [
                    .init(name: "renews-to", value: "P", help: "the plan that it renews to"),
                    billingPlanOption("its billing plan then: upFront or monthly"),
                ]
            ) { client, arguments in
                let resume = StoreControlWire.Resume(
                    productID: try product(arguments.operands[1]), renewsTo: try arguments.identifier("renews-to"),
                    billingPlan: try billingPlan(arguments))
                return try await client.askForTransaction(.post, "/accounts/\(arguments.operands[0])/resume", resume)
            },
            subscriptionAction("expire", "End the current period now"),
            subscriptionAction("fail-billing", "Let the payments fail from now on"),
            subscriptionAction("resolve-billing", "Let the payments succeed again"),
        ]
        + [(word: "agree", summary: "Agree to", agrees: true), ("decline", "Decline", false)].map { answer in
            action("price-consent \(answer.word) ACCOUNT PRODUCT", "\(answer.summary) a higher price") {
                client, arguments in
                let consent = StoreControlWire.PriceConsent(
                    productID: try product(arguments.operands[1]), agrees: answer.agrees)
                return try await client.askForTransaction(
                    .post, "/accounts/\(arguments.operands[0])/price-consent", consent)
            }
        }

    private static func subscriptionAction(_ word: String, _ summary: String) -> Command {
        action("\(word) ACCOUNT PRODUCT", summary) { client, arguments in
            let body = StoreControlWire.OfProduct(productID: try product(arguments.operands[1]))
            return try await client.askForTransaction(.post, "/accounts/\(arguments.operands[0])/\(word)", body)
        }
    }

    private static let refundReasons = StoreControlWire.RefundRequest.Reason.allCases.map(\.rawValue)

    static let transactions: [Command] =
        [
            action(
                "refund TRANSACTION", "Refund a transaction",
                options: [
                    .init(
                        name: "reason", value: "R", help: "other (default) or appIssue",
                        choices: ["other", "appIssue"]),
                    .init(name: "percentage", value: "N", help: "the percentage of the price (100)"),
                    .init(name: "seats", value: "N", help: "refund this number of seats; the others stay valid"),
                ]
            ) { client, arguments in
                let reason = try arguments.text("reason").map { text in
                    guard let reason = StoreControlWire.Refund.Reason(rawValue: text) else {
                        throw UsageError("--reason is other or appIssue, not \(text.quoted)")
                    }
                    return reason
                }
                let percentage = try arguments.text("percentage").map { text in
                    guard let number = Double(text), number > 0, number <= 100 else {
                        throw UsageError("--percentage is a number above 0 up to 100, not \(text.quoted)")
                    }
                    return number
                }
                return try await client.askForTransaction(
                    .post, "/transactions/\(arguments.operands[0])/refund",
                    StoreControlWire.Refund(
                        reason: reason, percentage: percentage,
                        seats: try arguments.integer("seats", in: 1...10_000)))
            },
            action(
                "request-refund TRANSACTION", "Request a refund, as the customer",
                options: [
                    .init(
                        name: "reason", value: "R", help: "\(refundReasons.joined(separator: ", ")) (default: other)",
                        choices: refundReasons)
                ]
            ) { client, arguments in
                let reason = try arguments.text("reason").map { text in
                    guard let reason = StoreControlWire.RefundRequest.Reason(rawValue: text) else {
                        throw UsageError(
                            "--reason is one of \(refundReasons.joined(separator: ", ")), not \(text.quoted)")
                    }
                    return reason
                }
                return try await client.askForTransaction(
                    .post, "/transactions/\(arguments.operands[0])/request-refund",
                    StoreControlWire.RefundRequest(reason: reason))
            },
            transactionAction("decline-refund", "Decline a refund request"),
            transactionAction("reverse-refund", "Reverse a refund"),
            transactionAction("revoke", "Revoke a transaction"),
            transactionAction("resolve", "Resolve an interrupted purchase"),
            action("consumption TRANSACTION", "Show the consumption information of the app's server") {
                client, arguments in
                try await client.ask(
                    .get, "/transactions/\(arguments.operands[0])/consumption", as: StoreControlWire.Consumption.self
                ) { consumption in
                    guard let information = consumption.information else { return "no information" }
                    return "\(StoreText.date(consumption.sentAt)): \(information.text())"
                }
            },
        ]
        + StoreControlWire.AskToBuy.Decision.allCases.map { decision in
            action("ask-to-buy \(decision) TRANSACTION", "\(decision.rawValue.capitalized) a waiting purchase") {
                client, arguments in
                try await client.askForTransaction(
                    .post, "/transactions/\(arguments.operands[0])/ask-to-buy",
                    StoreControlWire.AskToBuy(decision: decision))
            }
        }

    private static func transactionAction(_ word: String, _ summary: String) -> Command {
        action("\(word) TRANSACTION", summary) { client, arguments in
            try await client.askForTransaction(.post, "/transactions/\(arguments.operands[0])/\(word)")
        }
    }
}

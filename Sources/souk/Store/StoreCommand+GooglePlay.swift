import Foundation
import HTTPCore
import Primitives
import SimulatorControl
import StoreModel

extension StoreCommand {
    private static let replacementModes = [
        "WITH_TIME_PRORATION", "CHARGE_PRORATED_PRICE", "WITHOUT_PRORATION", "CHARGE_FULL_PRICE", "DEFERRED",
    ]

    private static let order = Command.Option(name: "order", value: "ID", help: "another order of the purchase")

    static let googlePlay: [Command] =
        [
            action(
                "play products", "List what Google Play sells in a country, with prices",
                options: [.init(name: "region", value: "CODE", help: "the country such as US (that of the catalogue)")]
            ) { client, arguments in
                try await client.ask(
                    .get, StorePath("/play/products", query: [("region", arguments.text("region"))]),
                    as: StoreControlWire.PlayProducts.self
                ) { StoreText.table(["product", "option, base plan or offer", "price"], $0.products.flatMap(rows)) }
            },
            action(
                "play buy ACCOUNT PRODUCT", "Buy a product or a subscription on Google Play",
                options: [
                    .init(name: "base-plan", value: "ID", help: "the base plan (the first one that is sold)"),
                    .init(name: "offer", value: "ID", help: "use this offer of the base plan or purchase option"),
                    .init(name: "option", value: "ID", help: "the purchase option of a one-time product"),
                    .init(name: "quantity", value: "N", help: "the quantity, if the option allows several"),
                    .init(name: "obfuscated-account-id", value: "ID", help: "the customer's account in the app"),
                    .init(name: "obfuscated-profile-id", value: "ID", help: "the customer's profile in the app"),
                    .init(name: "region", value: "CODE", help: "the country such as US (that of the catalogue)"),
                    .init(name: "replaces", value: "TOKEN", help: "the subscription that is replaced"),
                    .init(
                        name: "replacement-mode", value: "MODE",
                        help: "the settlement: \(replacementModes.joined(separator: ", "))",
                        choices: replacementModes),
                    .init(name: "pending", help: "the purchase waits for its payment"),
                    .init(name: "test", help: "the customer is a licence tester"),
                ]
            ) { client, arguments in
                let mode = arguments.text("replacement-mode")
                if let mode, !replacementModes.contains(mode) {
                    throw UsageError(
                        "--replacement-mode is one of \(replacementModes.joined(separator: ", ")), not \(mode.quoted)")
                }
                let buy = StoreControlWire.PlayBuy(
                    productID: try Arguments.identifier(arguments.operands[1], called: "PRODUCT"),
                    basePlanID: arguments.text("base-plan"), offerID: arguments.text("offer"),
                    purchaseOptionID: arguments.text("option"),
                    quantity: try arguments.integer("quantity", in: 1...100),
                    obfuscatedAccountID: arguments.text("obfuscated-account-id"),
                    obfuscatedProfileID: arguments.text("obfuscated-profile-id"),
                    regionCode: arguments.text("region"), isPending: arguments.has("pending") ? true : nil,
                    isTest: arguments.has("test") ? true : nil, oldPurchaseToken: arguments.text("replaces"),
                    replacementMode: mode)
                return try await client.ask(
                    .post, "/accounts/\(arguments.operands[0])/play-buy", buy,
                    as: StoreControlWire.SignedPlayPurchase.self
                ) { "\($0.productId): order \($0.orderId), token \($0.purchaseToken)" }
            },
            action("play purchases ACCOUNT", "List the purchases of an account on Google Play, newest last") {
                client, arguments in
                try await client.ask(
                    .get, "/accounts/\(arguments.operands[0])/play-purchases", as: StoreControlWire.PlayPurchases.self
                ) {
                    StoreText.table(
                        ["product", "state", "acknowledged", "order", "until (UTC)", "token"],
                        $0.purchases.map {
                            [
                                $0.productID.rawValue, $0.state, $0.isAcknowledged ? "yes" : "no", $0.orderID,
                                StoreText.date($0.expiryTime), $0.purchaseToken,
                            ]
                        })
                }
            },
            action("play orders ACCOUNT", "List the orders of an account on Google Play, newest last") {
                client, arguments in
                try await client.ask(
                    .get, "/accounts/\(arguments.operands[0])/play-orders", as: StoreControlWire.PlayOrders.self
                ) {
                    StoreText.table(
                        ["order", "product", "state", "total", "at (UTC)", "until (UTC)"],
                        $0.orders.map {
                            [
                                $0.orderID, $0.productID.rawValue, $0.state, text($0.total), StoreText.date($0.at),
                                StoreText.date($0.until),
                            ]
                        })
                }
            },
            play("show", "Show a purchase on Google Play", method: .get),
            play("acknowledge", "Acknowledge a purchase, as the app does"),
            play("consume", "Consume a one-time product, as the app does"),
            play("complete", "Pay a purchase that waits for its payment"),
            play("decline", "Cancel a purchase that waits for its payment"),
            play("cancel", "Turn the renewal of a subscription off"),
            play("restart", "Turn the renewal of a cancelled subscription on again"),
            action("play resubscribe TOKEN", "Buy a subscription that has ended again, without the app") {
                client, arguments in
                try await client.ask(
                    .post, "/play/purchases/\(arguments.operands[0])/resubscribe",
                    as: StoreControlWire.PlayPurchase.self
                ) { "\($0.productID): order \($0.orderID), token \($0.purchaseToken)" }
            },
            action("play pause TOKEN DURATION", "Pause a subscription from the end of its period on, such as for P1M") {
                client, arguments in
                guard let period = SubscriptionPeriod(iso8601: arguments.operands[1]) else {
                    throw UsageError("DURATION is a period such as P2W, not \(arguments.operands[1].quoted)")
                }
                return try await askForPurchase(client, arguments, "pause", StoreControlWire.PlayPause(period: period))
            },
            play("resume", "End a pause, or remove the scheduled one"),
            play("hold", "Let the payments fail: a grace period and an account hold follow"),
            play("recover", "Let the payments work again"),
            action(
                "play price-change TOKEN PRICE", "Change the price for a subscriber from a later renewal on",
                options: [.init(name: "opt-out", help: "an increase needs no consent")]
            ) { client, arguments in
                let new = StoreControlWire.PlayNewPrice(
                    price: arguments.operands[1], isOptOut: arguments.has("opt-out") ? true : nil)
                return try await askForPurchase(client, arguments, "price-change", new)
            },
            play("agree", "Agree to the new price of a subscription, as the customer"),
        ]
        + [
            action(
                "play refund TOKEN", "Refund the latest order of a purchase",
                options: [
                    order, .init(name: "keep", help: "the customer keeps the purchase"),
                    .init(name: "quantity", value: "N", help: "refund only some items of a one-time product"),
                ]
            ) { client, arguments in
                let refund = StoreControlWire.PlayRefund(
                    orderID: arguments.text("order"), keepsPurchase: arguments.has("keep") ? true : nil,
                    quantity: try arguments.integer("quantity", in: 1...100))
                return try await askForPurchase(client, arguments, "refund", refund)
            }
        ]
        + [
            ("chargeback", "Take the latest payment back, as a bank"),
            ("request-chargeback", "Ask for the latest payment, as a bank; the developer can review it"),
        ]
        .map { word, summary in
            action("play \(word) TOKEN", summary, options: [order]) { client, arguments in
                try await askForPurchase(
                    client, arguments, word, StoreControlWire.PlayChargeback(orderID: arguments.text("order")))
            }
        }
        + [
            action(
                "play notifications", "List the real-time developer notifications of Google Play, newest last",
                options: [
                    .init(name: "account", value: "A", help: "only notifications about purchases of this account"),
                    .init(name: "after", value: "N", help: "only notifications with a higher number"),
                    .init(name: "limit", value: "N", help: "the largest number of notifications, 1 to 1000 (100)"),
                ]
            ) { client, arguments in
                let query: [(String, String?)] = [
                    ("account", arguments.text("account")),
                    ("after", try arguments.integer("after", in: 0...(1 << 53)).map(String.init)),
                    ("limit", try arguments.integer("limit", in: 1...1000).map(String.init)),
                ]
                return try await client.ask(
                    .get, StorePath("/play/notifications", query: query), as: StoreControlWire.PlayNotifications.self
                ) {
                    StoreText.table(
                        ["number", "at (UTC)", "type", "account", "attempts", "result", "again (UTC)"],
                        $0.notifications.map {
                            [
                                "\($0.number)", StoreText.date($0.at), $0.type, $0.account ?? "–",
                                "\($0.attempts.count)",
                                $0.attempts.last?.result ?? "–", StoreText.date($0.due),
                            ]
                        })
                }
            },
            action("play deliver", "Send the notifications of Google Play that are due, and wait") { client, _ in
                try await client.ask(
                    .post, "/play/notifications/deliver", as: StoreControlWire.Deliveries.self,
                    doing: "sending notifications"
                ) {
                    $0.waiting == 0
                        ? "all have arrived"
                        : "\($0.waiting) will be sent again, the next at \(StoreText.date($0.next))"
                }
            },
            action("play resend NUMBER", "Send a notification of Google Play again") { client, arguments in
                try await client.ask(
                    .post, "/play/notifications/\(arguments.operands[0])/resend",
                    as: StoreControlWire.PlayNotification.self
                ) { "\($0.number) \($0.type) is sent again" }
            },
            action("play test-notification", "Send a test notification of Google Play") { client, _ in
                try await client.ask(.post, "/play/test-notification", text: "sent")
            },
        ]

    /// The prices of a product: one row for each option, base plan and offer.
    private static func rows(of product: StoreControlWire.PlayProduct) -> [[String]] {
        let plans = (product.basePlans ?? []).map { plan in
            [product.productID.rawValue, plan.basePlanID, "\(text(plan.price)) / \(plan.period.iso8601)"]
        }
        let offers = (product.offers ?? []).map { offer in
            let phases = offer.phases.map { "\($0.count) × \(text($0.price)) / \($0.duration.iso8601)" }
            return [
                product.productID.rawValue, "\(offer.basePlanID), offer \(offer.offerID)",
                phases.joined(separator: ", then "),
            ]
        }
        let options = (product.options ?? []).flatMap { option in
            [[product.productID.rawValue, option.purchaseOptionID, text(option.price)]]
                + (option.offers ?? []).map {
                    [product.productID.rawValue, "\(option.purchaseOptionID), offer \($0.offerID)", text($0.price)]
                }
        }
        return options + plans + offers
    }

    private static func text(_ price: Price) -> String { "\(price.amount) \(price.currency)" }

    private static func play(_ word: String, _ summary: String, method: HTTPRequest.Method = .post) -> Command {
        action("play \(word) TOKEN", summary) { client, arguments in
            try await askForPurchase(client, arguments, method == .get ? nil : word, method: method)
        }
    }

    private static func askForPurchase(
        _ client: StoreClient, _ arguments: Arguments, _ word: String?, _ body: (any Encodable & Sendable)? = nil,
        method: HTTPRequest.Method = .post
    ) async throws -> StoreReport {
        let token = arguments.operands[0]
        let path: StorePath = word.map { "/play/purchases/\(token)/\($0)" } ?? "/play/purchases/\(token)"
        return try await client.ask(method, path, body, as: StoreControlWire.PlayPurchase.self) { purchase in
            let end = purchase.expiryTime.map { ", until \(StoreText.date($0))" } ?? ""
            return "\(purchase.productID): \(purchase.state)\(end), order \(purchase.orderID)"
        }
    }
}

import Foundation
import HTTPCore
import Primitives
import SimulatorControl
import StoreModel

extension StoreCommand {
    private static let replacementModes = [
        "WITH_TIME_PRORATION", "CHARGE_PRORATED_PRICE", "WITHOUT_PRORATION", "CHARGE_FULL_PRICE",
    ]

    static let googlePlay: [Command] =
        [
            action(
                "play buy ACCOUNT PRODUCT", "Buy a product or a subscription on Google Play",
                options: [
                    .init(name: "base-plan", value: "ID", help: "the base plan (the first one that is sold)"),
                    .init(name: "offer", value: "ID", help: "use this offer of the base plan"),
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
            play("show", "Show a purchase on Google Play", method: .get),
            play("acknowledge", "Acknowledge a purchase, as the app does"),
            play("consume", "Consume a one-time product, as the app does"),
            play("complete", "Pay a purchase that waits for its payment"),
            play("decline", "Cancel a purchase that waits for its payment"),
            play("cancel", "Turn the renewal of a subscription off"),
            play("restart", "Turn the renewal of a cancelled subscription on again"),
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
        ]
        + [
            ("refund", "Refund the latest order of a purchase"),
            ("chargeback", "Take the latest payment back, as a bank"),
        ]
        .map { word, summary in
            action(
                "play \(word) TOKEN", summary,
                options: [.init(name: "order", value: "ID", help: "another order of the purchase")]
                    + (word == "refund" ? [.init(name: "keep", help: "the customer keeps the purchase")] : [])
            ) { client, arguments in
                let refund = StoreControlWire.PlayRefund(
                    orderID: arguments.text("order"), keepsPurchase: arguments.has("keep") ? true : nil)
                return try await askForPurchase(client, arguments, word, refund)
            }
        }
        + [
            action("play notifications", "List the real-time developer notifications of Google Play, newest last") {
                client, _ in
                try await client.ask(.get, "/play/notifications", as: StoreControlWire.PlayNotifications.self) {
                    StoreText.table(
                        ["number", "at (UTC)", "type", "attempts", "result", "again (UTC)"],
                        $0.notifications.map {
                            [
                                "\($0.number)", StoreText.date($0.at), $0.type, "\($0.attempts)", $0.result ?? "–",
                                StoreText.date($0.due),
                            ]
                        })
                }
            },
            action("play test-notification", "Send a test notification of Google Play") { client, _ in
                try await client.ask(.post, "/play/test-notification", text: "sent")
            },
        ]

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

import HTTPCore
import SimulatorControl
import StoreModel

extension StoreEndpoints {
    private static let purchasePath = "/control/v1/play/purchases/{purchase}"

    /// The control of Google Play. Every endpoint refuses with `notNow` if the store has no Google Play.
    static let googlePlay: [Endpoint<StoreHandler>] = playCatalogue + playPurchases + playNotifications

    private static let playCatalogue: [Endpoint<StoreHandler>] = [
        endpoint(
            .get, "/control/v1/play/products", "playProducts", "What Google Play sells in a country, with prices",
            parameters: [
                .init("region", in: .query, .region, "a country or region such as US; by default that of the catalogue")
            ], refusals: [.notNow]
        ) { call in try call.store.playProducts(in: call.query["region"]) },
        endpoint(
            .get, "/control/v1/accounts/{account}/play-orders", "playOrders",
            "All orders of an account on Google Play, oldest first", refusals: [.notNow]
        ) { call in
            StoreControlWire.PlayOrders(orders: try await call.store.playOrders(of: try call.account))
        },
    ]

    private static let playPurchases: [Endpoint<StoreHandler>] = [
        endpoint(
            .post, "/control/v1/accounts/{account}/play-buy", "playBuy", "Buy on Google Play for an account",
            taking: StoreControlWire.PlayBuy.self,
            refusals: [.unknownProduct, .unknownPurchase, .invalidValue, .notNow]
        ) { call, body in try await call.store.playBuy(body, for: try call.account) },
        endpoint(
            .get, "/control/v1/accounts/{account}/play-purchases", "playPurchases",
            "All purchases of an account on Google Play, oldest first", refusals: [.notNow]
        ) { call in
            StoreControlWire.PlayPurchases(purchases: try await call.store.playPurchases(of: try call.account))
        },
        endpoint(.get, purchasePath, "playPurchase", "A purchase on Google Play", refusals: [.notNow]) { call in
            try await call.store.playPurchase(call.path["purchase"])
        },
        action("acknowledge", "playAcknowledge", "Acknowledge a purchase, as the app does", .acknowledge),
        action("consume", "playConsume", "Consume a one-time product, as the app does", .consume),
        action("complete", "playComplete", "Pay a purchase that waits for its payment", .complete),
        action("decline", "playDecline", "Cancel a purchase that waits for its payment", .decline),
        action("cancel", "playCancel", "Turn the renewal of a subscription off", .cancel),
        action("restart", "playRestart", "Turn the renewal of a cancelled subscription on again", .restart),
        endpoint(
            .post, purchasePath + "/resubscribe", "playResubscribe",
            "Buy a subscription that has ended again, in the Play Store and without the app",
            refusals: [.notNow, .unknownProduct]
        ) { call in try await call.store.playResubscribe(call.path["purchase"]) },
        endpoint(
            .post, purchasePath + "/pause", "playPause", "Pause a subscription from the end of its period on",
            taking: StoreControlWire.PlayPause.self, refusals: [.notNow, .invalidValue]
        ) { call, body in
            try await call.store.perform(.pause(body.period), onPlayPurchase: call.path["purchase"])
        },
        action("resume", "playResume", "End a pause, or remove the scheduled one", .resume),
        action("hold", "playHold", "Let the payments fail: a grace period and an account hold follow", .hold),
        action("recover", "playRecover", "Let the payments work again", .recover),
        endpoint(
            .post, purchasePath + "/price-change", "playPriceChange",
            "Change the price of a subscription for its subscriber, from a later renewal on",
            taking: StoreControlWire.PlayNewPrice.self, refusals: [.notNow, .invalidValue]
        ) { call, body in
            try await call.store.perform(.changePrice(body), onPlayPurchase: call.path["purchase"])
        },
        action("agree", "playAgree", "Agree to the new price of a subscription, as the customer", .agree),
        endpoint(
            .post, purchasePath + "/refund", "playRefund",
            "Refund an order of a purchase, and end the purchase; or refund some items of it",
            taking: StoreControlWire.PlayRefund.self, isOptional: true, refusals: [.notNow, .invalidValue]
        ) { call, body in
            try await call.store.refundPlayPurchase(call.path["purchase"], body)
        },
        endpoint(
            .post, purchasePath + "/chargeback", "playChargeback", "Let a bank take the payment of an order back",
            taking: StoreControlWire.PlayChargeback.self, isOptional: true, refusals: [.notNow]
        ) { call, body in
            try await call.store.refundPlayPurchase(
                call.path["purchase"], .init(orderID: body.orderID), chargeback: true)
        },
        endpoint(
            .post, purchasePath + "/request-chargeback", "playRequestChargeback",
            "Let a bank ask for the payment of an order, which the developer can review within 24 hours",
            taking: StoreControlWire.PlayChargeback.self, isOptional: true, refusals: [.notNow]
        ) { call, body in
            try await call.store.requestPlayChargeback(call.path["purchase"], order: body.orderID)
        },
    ]

    private static let notificationPath = "/control/v1/play/notifications"

    private static let playNotifications: [Endpoint<StoreHandler>] = [
        endpoint(
            .get, notificationPath, "playNotifications",
            "List the real-time developer notifications of Google Play, oldest first, with their attempts",
            parameters: [
                .init("account", in: .query, .name, "only notifications about purchases of this account"),
                .init("after", in: .query, .integer(0...(1 << 53)), "only notifications with a higher number"),
                .init("limit", in: .query, .integer(1...1000), "the maximum number of notifications (100)"),
            ], refusals: [.unknownAccount, .notNow]
        ) { call in
            StoreControlWire.PlayNotifications(
                notifications: try await call.store.playNotifications(
                    of: call.identifier("account"), after: call.integer("after") ?? 0,
                    limit: Int(call.integer("limit") ?? 100)))
        },
        endpoint(
            .post, notificationPath + "/deliver", "playDeliver",
            "Send every notification of Google Play that is due, and wait until it is sent", refusals: [.notNow]
        ) { call in
            let left = try await call.store.deliverPlayNotifications()
            return StoreControlWire.Deliveries(waiting: left.waiting, next: left.next)
        },
        endpoint(
            .post, notificationPath + "/{number}/resend", "playResend",
            "Send a notification of Google Play again, even if it has arrived", refusals: [.notNow]
        ) { call in
            guard let number = Int64(call.path["number"]), ColumnRange.key.contains(number) else {
                throw SimulatorError(
                    .unknownNotification, "The number of a notification is a whole number, 1 or more.")
            }
            return try await call.store.resendPlayNotification(number)
        },
        endpoint(
            .post, "/control/v1/play/test-notification", "playTestNotification",
            "Send a test notification of Google Play", refusals: [.notNow]
        ) { call in
            try await call.store.requestPlayTestNotification()
            return Nothing()
        },
    ]

    private static func action(
        _ word: String, _ id: String, _ summary: String, _ action: SimulatedAppStore.PlayAction
    ) -> Endpoint<StoreHandler> {
        endpoint(.post, "\(purchasePath)/\(word)", id, summary, refusals: [.notNow]) { call in
            try await call.store.perform(action, onPlayPurchase: call.path["purchase"])
        }
    }
}

import SimulatorControl
import HTTPCore
import StoreKitAdapter
import StoreModel

extension StoreEndpoints {
    private static let account1 = "/control/v1/accounts/{account}"
    private static let transaction1 = "/control/v1/transactions/{transaction}"

    static let purchases: [Endpoint<StoreHandler>] = [
        on(
            .post, account1 + "/buy", "buy", "Buy as a device of the account would that nobody holds",
            taking: StoreControlWire.Buy.self, maySell: true
        ) { call, body in try await call.store.buy(body, for: try call.account) },
        on(
            .post, account1 + "/redeem", "redeem", "Redeem an offer code", taking: StoreControlWire.Redeem.self,
            maySell: true
        ) { call, body in try await call.store.redeem(body, for: try call.account) },
        on(
            .post, account1 + "/promote", "promote",
            "Begin a purchase in the store itself; the app is to go on with it",
            taking: StoreControlWire.Promotion.self, refusals: [.unknownProduct], maySell: true
        ) { call, body in
            try await call.store.promote(body, for: try call.account)
            return Nothing()
        },
        on(
            .get, account1 + "/transactions", "transactions", "All transactions of an account, oldest first",
            refusals: [.tooManyTransactions]
        ) { call in
            StoreControlWire.Transactions(transactions: try await call.store.transactions(of: try call.account))
        },
        on(
            .get, account1 + "/subscriptions", "subscriptions", "All subscriptions of an account, with their status"
        ) { call in
            StoreControlWire.Subscriptions(subscriptions: try await call.store.subscriptions(of: try call.account))
        },
        on(
            .get, account1 + "/entitlements", "entitlements", "The transactions that give an account access now"
        ) { call in
            StoreControlWire.Transactions(transactions: try await call.store.entitlements(of: try call.account))
        },
        on(
            .get, account1 + "/unfinished", "unfinished", "The transactions that no device has finished",
            refusals: [.tooManyTransactions]
        ) { call in
            StoreControlWire.Transactions(
                transactions: try await call.store.unfinishedTransactions(of: try call.account))
        },
        on(
            .get, "/control/v1/orders", "pendingOrders", "Purchases that wait for somebody",
            parameters: [.init("account", in: .query, .name, "only those of this account")],
            refusals: [.unknownAccount]
        ) { call in
            StoreControlWire.PendingOrders(orders: try call.store.pendingOrders(of: call.identifier("account")))
        },
    ]

    static let subscriptions: [Endpoint<StoreHandler>] = [
        ofSubscription("renew", "renew", "Sell the next period now", refusals: [.notNow]) {
            try await $0.renew($2, for: $1)
        },
        ofSubscription("cancel", "cancel", "Turn auto-renewal off") { try await $0.cancel($2, for: $1) },
        on(
            .post, account1 + "/resume", "resume", "Turn auto-renewal on again, perhaps to another plan",
            taking: StoreControlWire.Resume.self, refusals: [.unknownSubscription, .otherGroup]
        ) { call, body in
            try await call.store.resume(body.productID, renewingTo: body.renewsTo, for: try call.account)
        },
        ofSubscription("expire", "expire", "End the current period now") {
            try await $0.expire($2, for: $1)
        },
        ofSubscription(
            "fail-billing", "failBilling", "Let its payments fail from now on"
        ) { try await $0.failBilling($2, for: $1) },
        ofSubscription(
            "resolve-billing", "resolveBilling", "Let its payments work again", refusals: [.notNow]
        ) { try await $0.resolveBilling($2, for: $1) },
        on(
            .post, account1 + "/price-consent", "answerPriceIncrease", "The customer's answer to a higher price",
            taking: StoreControlWire.PriceConsent.self,
            refusals: [.unknownSubscription, .nothingToAnswer]
        ) { call, body in
            try await call.store.answerPriceIncrease(
                of: body.productID, agreeing: body.agrees, for: try call.account)
        },
    ]

    private static func ofSubscription(
        _ word: String, _ id: String, _ summary: String, refusals: [SimulatorError.Code] = [],
        _ act:
            @escaping @Sendable (SimulatedAppStore, AccountName, ProductID) async throws -> StoreControlWire.Transaction
    ) -> Endpoint<StoreHandler> {
        on(
            .post, "\(account1)/\(word)", id, summary, taking: StoreControlWire.OfProduct.self,
            refusals: [.unknownSubscription] + refusals
        ) { call, body in try await act(call.store, try call.account, body.productID) }
    }

    static let transactions: [Endpoint<StoreHandler>] = [
        on(
            .post, transaction1 + "/refund", "refund", "Give the price back, whole or in part",
            taking: StoreControlWire.Refund.self, isOptional: true, refusals: [.alreadyRevoked, .invalidValue, .notNow]
        ) { call, body in try await call.store.refund(try call.transaction, body) },
        on(
            .post, transaction1 + "/reverse-refund", "reverseRefund", "Take a refund back",
            refusals: [.notRefunded]
        ) { call in try await call.store.reverseRefund(try call.transaction) },
        on(
            .post, transaction1 + "/request-refund", "requestRefund",
            "Ask for the price back, as the customer; the server is asked what was consumed",
            taking: StoreControlWire.RefundRequest.self, isOptional: true, refusals: [.alreadyRevoked, .notNow]
        ) { call, body in try await call.store.requestRefund(of: try call.transaction, body) },
        on(
            .post, transaction1 + "/decline-refund", "declineRefund", "Decline the refund that was asked for",
            refusals: [.alreadyRevoked, .notNow]
        ) { call in try await call.store.declineRefund(of: try call.transaction) },
        on(
            .post, transaction1 + "/revoke", "revoke", "Take access away, as when a family no longer shares",
            refusals: [.alreadyRevoked]
        ) { call in try await call.store.revoke(try call.transaction) },
        on(
            .get, transaction1 + "/consumption", "consumption", "What the app's server said about its use"
        ) { call in
            let said = try call.store.consumption(of: try call.transaction)
            return StoreControlWire.Consumption(
                transactionID: try call.transaction, sentAt: said.sentAt, version: said.version,
                information: said.information)
        },
        on(
            .post, transaction1 + "/ask-to-buy", "answerAskToBuy", "Approve or decline a purchase that asks to buy",
            taking: StoreControlWire.AskToBuy.self, refusals: [.notPending], maySell: true
        ) { call, body in try await call.store.answerAskToBuy(try call.transaction, body.decision) },
        on(
            .post, transaction1 + "/resolve", "resolveInterruption", "Let an interrupted purchase go through",
            refusals: [.notPending], maySell: true
        ) { call in try await call.store.resolveInterruption(try call.transaction) },
    ]
}

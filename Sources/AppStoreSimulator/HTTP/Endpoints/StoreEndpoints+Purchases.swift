import SimulatorControl
import HTTPCore
import StoreKitAdapter
import StoreModel

extension StoreEndpoints {
    private static let accountPath = "/control/v1/accounts/{account}"
    private static let transactionPath = "/control/v1/transactions/{transaction}"

    static let purchases: [Endpoint<StoreHandler>] = [
        endpoint(
            .post, accountPath + "/buy", "buy", "Buy for an account, on one of its devices or outside of the app",
            taking: StoreControlWire.Buy.self, refusals: [.unknownDevice], canReturnStoreFailure: true
        ) { call, body in try await call.store.buy(body, for: try call.account) },
        endpoint(
            .post, accountPath + "/redeem", "redeem", "Redeem an offer code", taking: StoreControlWire.Redeem.self,
            canReturnStoreFailure: true
        ) { call, body in try await call.store.redeem(body, for: try call.account) },
        endpoint(
            .post, accountPath + "/promote", "promote",
            "Begin a promoted purchase, which the app completes",
            taking: StoreControlWire.Promotion.self, refusals: [.unknownProduct], canReturnStoreFailure: true
        ) { call, body in
            try await call.store.promote(body, for: try call.account)
            return Nothing()
        },
        endpoint(
            .get, accountPath + "/transactions", "transactions", "All transactions of an account, oldest first",
            refusals: [.tooManyTransactions]
        ) { call in
            StoreControlWire.Transactions(transactions: try await call.store.transactions(of: try call.account))
        },
        endpoint(
            .get, accountPath + "/subscriptions", "subscriptions", "All subscriptions of an account, with their status"
        ) { call in
            StoreControlWire.Subscriptions(subscriptions: try await call.store.subscriptions(of: try call.account))
        },
        endpoint(
            .get, accountPath + "/entitlements", "entitlements", "The transactions that give an account access now"
        ) { call in
            StoreControlWire.Transactions(transactions: try await call.store.entitlements(of: try call.account))
        },
        endpoint(
            .get, accountPath + "/unfinished", "unfinished", "The transactions that no device has finished",
            refusals: [.tooManyTransactions]
        ) { call in
            StoreControlWire.Transactions(
                transactions: try await call.store.unfinishedTransactions(of: try call.account))
        },
        endpoint(
            .get, "/control/v1/orders", "pendingOrders", "List the purchases that wait",
            parameters: [.init("account", in: .query, .name, "only purchases of this account")],
            refusals: [.unknownAccount]
        ) { call in
            StoreControlWire.PendingOrders(orders: try call.store.pendingOrders(of: call.identifier("account")))
        },
        endpoint(
            .get, "/control/v1/promoted-purchases", "promotedPurchases",
            "List the promoted purchases that no device has taken",
            parameters: [.init("account", in: .query, .name, "only purchases of this account")],
            refusals: [.unknownAccount]
        ) { call in
            StoreControlWire.PromotedPurchases(
                promotedPurchases: try call.store.promotedPurchases(of: call.identifier("account")))
        },
        endpoint(
            .get, "/control/v1/offer-codes", "offerCodes", "List the offers that codes redeem",
            parameters: [
                .init("account", in: .query, .name, "the account whose states and prices are returned")
            ], refusals: [.unknownAccount]
        ) { call in
            StoreControlWire.OfferCodes(offerCodes: try call.store.offerCodes(for: call.identifier("account")))
        },
    ]

    static let subscriptions: [Endpoint<StoreHandler>] = [
        subscriptionEndpoint("renew", "renew", "Sell the next period now", refusals: [.notNow]) {
            try await $0.renew($2, for: $1)
        },
        endpoint(
            .post, accountPath + "/cancel", "cancel",
            "Turn auto-renewal off, after the retention message if there is one",
            taking: StoreControlWire.Cancel.self, refusals: [.unknownSubscription]
        ) { call, body in
            try await call.store.cancel(body.productID, for: try call.account, locale: body.locale)
        },
        endpoint(
            .post, accountPath + "/resume", "resume", "Turn auto-renewal on again, perhaps to another plan",
            taking: StoreControlWire.Resume.self, refusals: [.unknownSubscription, .otherGroup, .invalidValue]
        ) { call, body in
            try await call.store.resume(body, for: try call.account)
        },
        subscriptionEndpoint("expire", "expire", "End the current period now") {
            try await $0.expire($2, for: $1)
        },
        subscriptionEndpoint(
            "fail-billing", "failBilling", "Let the payments of a subscription fail from now on"
        ) { try await $0.failBilling($2, for: $1) },
        subscriptionEndpoint(
            "resolve-billing", "resolveBilling", "Let the payments of a subscription work again", refusals: [.notNow]
        ) { try await $0.resolveBilling($2, for: $1) },
        endpoint(
            .post, accountPath + "/price-consent", "answerPriceIncrease", "Answer a price increase for the customer",
            taking: StoreControlWire.PriceConsent.self,
            refusals: [.unknownSubscription, .nothingToAnswer]
        ) { call, body in
            try await call.store.answerPriceIncrease(
                of: body.productID, agreeing: body.agrees, for: try call.account)
        },
    ]

    private static func subscriptionEndpoint(
        _ word: String, _ id: String, _ summary: String, refusals: [SimulatorError.Code] = [],
        _ act:
            @escaping @Sendable (SimulatedAppStore, AccountName, ProductID) async throws -> StoreControlWire.Transaction
    ) -> Endpoint<StoreHandler> {
        endpoint(
            .post, "\(accountPath)/\(word)", id, summary, taking: StoreControlWire.OfProduct.self,
            refusals: [.unknownSubscription] + refusals
        ) { call, body in try await act(call.store, try call.account, body.productID) }
    }

    static let transactions: [Endpoint<StoreHandler>] = [
        endpoint(
            .post, transactionPath + "/refund", "refund", "Refund a transaction, in full or in part",
            taking: StoreControlWire.Refund.self, isOptional: true, refusals: [.alreadyRevoked, .invalidValue, .notNow]
        ) { call, body in try await call.store.refund(try call.transaction, body) },
        endpoint(
            .post, transactionPath + "/reverse-refund", "reverseRefund", "Reverse a refund",
            refusals: [.notRefunded]
        ) { call in try await call.store.reverseRefund(try call.transaction) },
        endpoint(
            .post, transactionPath + "/request-refund", "requestRefund",
            "Request a refund for the customer, and a consumption report from the server",
            taking: StoreControlWire.RefundRequest.self, isOptional: true, refusals: [.alreadyRevoked, .notNow]
        ) { call, body in try await call.store.requestRefund(of: try call.transaction, body) },
        endpoint(
            .post, transactionPath + "/decline-refund", "declineRefund", "Decline a refund request",
            refusals: [.alreadyRevoked, .notNow]
        ) { call in try await call.store.declineRefund(of: try call.transaction) },
        endpoint(
            .post, transactionPath + "/revoke", "revoke", "Revoke a transaction, as when a family stops sharing",
            refusals: [.alreadyRevoked]
        ) { call in try await call.store.revoke(try call.transaction) },
        endpoint(
            .get, transactionPath + "/consumption", "consumption",
            "Get the consumption information from the app's server"
        ) { call in
            let consumption = try call.store.consumption(of: try call.transaction)
            return StoreControlWire.Consumption(
                transactionID: try call.transaction, sentAt: consumption.sentAt, version: consumption.version,
                information: consumption.information)
        },
        endpoint(
            .post, transactionPath + "/ask-to-buy", "answerAskToBuy",
            "Approve or decline a purchase that waits for approval",
            taking: StoreControlWire.AskToBuy.self, refusals: [.notPending], canReturnStoreFailure: true
        ) { call, body in try await call.store.answerAskToBuy(try call.transaction, body.decision) },
        endpoint(
            .post, transactionPath + "/resolve", "resolveInterruption", "Complete an interrupted purchase",
            refusals: [.notPending], canReturnStoreFailure: true
        ) { call in try await call.store.resolveInterruption(try call.transaction) },
    ]
}

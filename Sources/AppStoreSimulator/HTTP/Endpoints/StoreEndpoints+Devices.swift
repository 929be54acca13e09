import SimulatorControl
import HTTPCore
import StoreKitAdapter
import StoreModel

extension StoreEndpoints {
    private static let devicePath = "/store/v1/devices/{device}"
    private static let productIDs = OpenAPIDocument.Parameter(
        "id", in: .query, .product, "only these products; all by default", repeats: true)
    private static let storefront = OpenAPIDocument.Parameter(
        "storefront", in: .query, .storefront, "the country whose prices are returned; the catalogue's by default")
    private static let wait = OpenAPIDocument.Parameter(
        "wait", in: .query, .number(0...3600), "the seconds to wait for a change, at most 30")

    /// The API for devices: for an app, StoreKit has this role.
    static let device: [Endpoint<StoreHandler>] = [
        endpoint(
            .post, "/store/v1/devices", "signIn", "Sign a device in to an account", taking: StoreWire.SignIn.self,
            refusals: [.unknownAccount]
        ) { call, body in try await call.store.signIn(account: AccountName(unchecked: body.account)) },
        endpoint(.get, devicePath, "device", "The device, its account and storefront") { call in
            try await call.store.state(of: try call.device)
        },
        endpoint(
            .get, devicePath + "/products", "deviceProducts", "Get the products in the device's storefront",
            parameters: [productIDs]
        ) {
            call in
            try await call.store.products(call.productIDs, for: try call.device)
        },
        endpoint(
            .post, devicePath + "/payments", "addPayment", "Add a payment; its outcome is one of the updates",
            taking: Payment.self
        ) { call, payment in
            try await call.store.add(payment, from: try call.device)
            return StoreWire.Accepted(paymentID: payment.id)
        },
        endpoint(
            .get, devicePath + "/updates", "updates", "Get the updates after a cursor, oldest first",
            parameters: [
                .init(
                    "after", in: .query, .text,
                    "the cursor of an earlier answer; without it, the unfinished transactions"),
                wait,
                .init(
                    "storefront", in: .query, .text,
                    "the id of the storefront that the device knows; if it has changed, the answer comes at once"),
            ], refusals: [.invalidValue]
        ) { call in
            try await call.store.updates(
                for: try call.device, after: call.query["after"], wait: call.seconds("wait"),
                storefront: call.query["storefront"])
        },
        endpoint(.post, devicePath + "/transactions/{transaction}/finish", "finish", "Mark a transaction as delivered")
        {
            call in
            try await call.store.finish(try call.transaction, from: try call.device)
            return Nothing()
        },
        endpoint(.post, devicePath + "/restore", "restore", "The transactions that give access now, freshly signed") {
            call in
            StoreWire.Transactions(transactions: try await call.store.restore(for: try call.device))
        },
        endpoint(
            .get, devicePath + "/owned-transactions", "ownedTransactions",
            "The transactions that give access now, without a restore"
        ) { call in
            StoreWire.Transactions(transactions: try call.store.ownedTransactions(of: try call.device))
        },
        endpoint(
            .post, devicePath + "/offer-codes", "redeemOnDevice",
            "Redeem an offer code; its outcome is one of the updates",
            taking: OfferCodeRedemption.self, canReturnStoreFailure: true
        ) { call, redemption in
            try await call.store.redeem(redemption, from: try call.device)
            return Nothing()
        },
        endpoint(
            .post, devicePath + "/messages/{message}", "answerMessage",
            "Answer a message of the store for the customer",
            taking: StoreWire.MessageAnswer.self, canReturnStoreFailure: true
        ) { call, body in
            try await call.store.answer(call.path["message"], with: body.answer, from: try call.device)
            return Nothing()
        },
        endpoint(
            .post, devicePath + "/promoted-purchases/{product}", "takePromotedPurchase",
            "Take a promoted purchase; only one device can", refusals: [.unknownPromotedPurchase]
        ) { call in try await call.store.takePromotedPurchase(of: try call.product, for: try call.device) },
        endpoint(
            .get, devicePath + "/receipt", "deviceReceipt", "Get the present app receipt",
            refusals: [.tooManyTransactions]
        ) { call in
            try await call.store.applyInjectedFaults(to: .receipt)
            return try await receipt(call)
        },
        endpoint(
            .get, devicePath + "/introductory-offers/{group}", "introductoryOfferEligibility",
            "Get the eligibility for the introductory offers of a subscription group"
        ) { call in
            StoreWire.IntroductoryOfferEligibility(
                isEligible: try call.store.isEligibleForIntroductoryOffer(
                    inGroup: try call.group, for: try call.device))
        },
        endpoint(
            .get, devicePath + "/app-transaction", "appTransaction", "Get the app transaction, signed for the device"
        ) {
            call in
            StoreWire.AppTransaction(signedAppTransaction: try call.store.appTransaction(of: try call.device))
        },
    ]

    static let clock: [Endpoint<StoreHandler>] = [
        endpoint(
            .get, "/control/v1/clock", "clock", "Get the virtual time; with `after`, wait for a change",
            parameters: [
                .init("after", in: .query, .integer(0...(1 << 53)), "wait until the revision differs from this one"),
                wait,
            ]
        ) { call in await call.store.clockState(after: call.integer("after"), wait: call.seconds("wait")) },
        endpoint(
            .post, "/control/v1/clock/advance", "advance",
            "Advance virtual time by a period or a number of seconds, or to an instant",
            taking: StoreControlWire.Advance.self, refusals: [.invalidValue]
        ) { call, body in try await call.store.advance(body) },
        endpoint(
            .put, "/control/v1/clock/rate", "setClockRate", "Change the speed of virtual time",
            taking: StoreControlWire.ClockRate.self
        ) { call, body in
            guard let rate = TimeRate(body.timeRate) else {
                throw SimulatorError(.malformed, "The time rate is one of \(TimeRate.names.joined(separator: ", ")).")
            }
            try await call.store.setTimeRate(rate)
            return await call.store.clockState()
        },
    ]

    static let catalogue: [Endpoint<StoreHandler>] = [
        endpoint(
            .get, "/control/v1/products", "products", "Get the products on sale",
            parameters: [productIDs, storefront], refusals: [.unknownStorefront]
        ) { call in
            try call.store.products(call.productIDs, storefront: call.query["storefront"])
        },
        endpoint(
            .post, "/control/v1/products/{product}/price-increase", "increasePrice",
            "Increase a price from the next renewal on", taking: StoreControlWire.NewPrice.self, status: 201,
            refusals: [.invalidValue]
        ) { call, body in try await call.store.increasePrice(of: try call.product, body) },
        endpoint(
            .get, "/control/v1/price-increases", "priceIncreases", "Get the price increases"
        ) {
            call in
            StoreControlWire.PriceIncreases(
                priceIncreases: try call.store.priceIncreases().map {
                    .init(productID: $0.productID, at: $0.at, price: $0.price, needsConsent: $0.needsConsent)
                })
        },
        endpoint(
            .post, "/control/v1/products/{product}/withdraw", "withdraw",
            "Withdraw a product; its subscriptions end with their periods"
        ) { call in
            try await call.store.setWithdrawn(try call.product, true)
            return Nothing()
        },
        endpoint(
            .post, "/control/v1/products/{product}/offer", "offer", "Sell a withdrawn product again"
        ) { call in
            try await call.store.setWithdrawn(try call.product, false)
            return Nothing()
        },
        endpoint(
            .get, "/control/v1/withdrawn-products", "withdrawnProducts", "Get the products that were withdrawn",
            parameters: [storefront], refusals: [.unknownStorefront]
        ) { call in
            ProductAnswer(products: try call.store.withdrawnProducts(storefront: call.query["storefront"]))
        },
    ]
}

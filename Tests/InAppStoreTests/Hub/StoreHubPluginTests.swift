import BaseTestSupport
import Foundation
import PluginHub
import Primitives
import Purchases
import StoreModel
import StoreTestSupport
import Testing

@testable import InAppStore

/// A real hub with a screen and the store's plugin, and a real purchase client and store.
@Suite(.timeLimit(.minutes(2)))
struct StoreHubPluginTests {
    private let test = StoreTestContext()

    private final class Screen: PluginProtocol {
        let policy = Policy(
            name: "screen",
            send: .init(
                commands: [
                    "store.purchase", "store.continuePurchase", "store.redeemOfferCode", "store.answerMessage",
                    "store.restore", "store.acquireAll", "store.fetchContent", "store.deleteContent", "store.validate",
                ],
                queries: ["store.products", "store.allowedProducts", "store.features", "store.status"],
                viewControllerQueries: ["store.storefront"]),
            subscribe: [
                "store.purchaseResult", "store.offerCodeRedeemed", "store.messageAnswered", "store.restoreResult",
                "store.acquired", "store.contentProgress", "store.contentDeleted", "store.validated",
                "store.featuresChanged", "store.messages", "store.event", "store.diagnostic",
            ])
        private let sender: any MessageSending

        init(messageSender: any MessageSending, configurationFiles: [String: String]) { sender = messageSender }

        func ask(_ query: Message) throws -> JSONObject { try sender.send(query: query, payload: nil, sender: self) }

        func view() throws -> ViewDocument {
            try sender.send(viewQuery: "store.storefront", payload: nil, sender: self)
        }

        func send(_ command: Message, _ payload: JSONObject? = nil) throws {
            try sender.send(command: command, payload: payload, sender: self)
        }

        func events(_ event: Message) throws -> EventPublisher {
            try sender.publisher(forEvent: event, payload: nil, subscriber: self)
        }

        /// Sends a command with a new id, and returns the payload of the event that answers it.
        func call(_ command: String, _ payload: JSONObject? = nil, answeredBy event: Message) async throws -> JSONObject
        {
            let id = MessageID.unique()
            let answers = try events(event).filter(correlationId: id).values()
            try send(try Message(command, id: id), payload)
            for await answer in answers { return try answer.result.get() }
            throw PluginError(.notAllowed, "The hub stopped before it answered.")
        }

        func buy(_ product: String, quantity: Int? = nil) async throws -> JSONObject {
            var payload: JSONObject = ["productID": .string(product)]
            if let quantity { payload["quantity"] = .number(Int64(quantity)) }
            return try await call("store.purchase", payload, answeredBy: "store.purchaseResult")
        }
    }

    /// A web shop that sells a product outside the store's list.
    private final class WebShop: PurchasePlugin {
        let name = "web"

        func purchase(
            _ product: Product, with promoOffer: PromoOffer?
        ) async -> PurchasePluginResult<SuccessfulPurchase, any Error> {
            guard product.productIdentifier == "book" else { return .notSupported }
            return .success(SuccessfulPurchase(paidFeatures: PaidFeatures(features: [PaidFeature(name: "book")])))
        }

        func getPromotionalOffer(
            for productDiscount: ProductDiscount, product: Product
        ) async -> PurchasePluginResult<PromoOffer, any Error> {
            guard productDiscount.identifier == "half" else { return .notSupported }
            return .success(
                PromoOffer(
                    productDiscount: productDiscount, identifier: "half", keyIdentifier: "key", nonce: UUID(),
                    signedAt: Fixture.start, signature: [1]))
        }
    }

    private func run(
        change: (inout StoreConfiguration) -> Void = { _ in }, _ body: (Screen, Store) async throws -> Void
    ) async throws {
        var configuration = test.configuration()
        change(&configuration)
        let store = try await test.open(configuration)
        let client = PurchaseClient()
        try await client.setup(
            with: [InAppStorePurchasePlugin(store: store), WebShop()], appUserId: .string("anna"))
        let hub = Hub()
        hub.register { sender, _ in StoreHubPlugin(messageSender: sender, store: store, client: client) }
        hub.register(Screen.self)
        let report = hub.start()
        #expect(!report.hasErrors, "\(report.findings)")
        let screen = try #require(hub.plugin(named: "screen") as? Screen)
        try await body(screen, store)
        await hub.stop()
        await client.close()
        await store.close()
    }

    @Test func `the plugin's policy equals the policy file`() throws {
        let file = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .appendingPathComponent("../../../Sources/InAppStore/Hub/store.policy.json")
        let policy = try JSONDecoder().decode(Policy.self, from: Data(contentsOf: file))
        #expect(policy == StoreHubPlugin.policy)
    }

    @Test func `a plugin without a store is refused, and the finding names the initializer`() throws {
        let hub = Hub()
        hub.register(StoreHubPlugin.self)
        let report = hub.start()
        #expect(report.findings.contains { $0.sentence.contains("init(messageSender:store:client:)") })
        #expect(report.running.isEmpty)
    }

    // MARK: - Buying

    @Test func `a purchase is answered with its transaction`() async throws {
        test.setAnswer(Fixture.customer(purchases: [Fixture.purchase("pack")]))
        try await run { screen, _ in
            let result = try await screen.buy("pack")
            let id = try #require(test.connection.payments.first).id
            #expect(!id.rawValue.isEmpty)
            #expect(Set(result.keys) == ["productID", "outcome", "transactionID"])
            #expect(result["productID"] == "pack")
            #expect(result["outcome"] == "purchased")
            #expect(result["transactionID"]?.stringValue?.isEmpty == false)
            #expect(try screen.ask("store.allowedProducts") == ["productIDs": ["pack"]])
        }
    }

    @Test func `several units of a consumable are bought in one payment`() async throws {
        try await run { screen, _ in
            let result = try await screen.buy("coins", quantity: 3)
            #expect(result["outcome"] == "purchased")
            #expect(result["transactionID"]?.stringValue?.isEmpty == false)
            #expect(test.connection.payments.map(\.quantity) == [3])
            let refused = try await screen.buy("pack", quantity: 2)
            #expect(refused["outcome"] == "failed")
            #expect(refused["error"]?["code"] == "invalidProductForPurchasing")
        }
    }

    @Test func `a product outside the list is bought from the other plugins`() async throws {
        try await run { screen, _ in
            #expect(try await screen.buy("book")["outcome"] == "purchased")
            let unsold = try await screen.buy("unheard.of")
            #expect(unsold["outcome"] == "failed")
            #expect(unsold["error"]?["code"] == "noSuitablePlugin")
        }
    }

    @Test func `each result of a purchase has its outcome`() async throws {
        try await run { screen, _ in
            let ends: [(StoreUpdate.State, JSONValue, JSONValue)] = [
                (.deferred, "deferred", "purchaseDeferred"),
                (.failed(StoreFailure(code: .cancelled, reason: "no")), "cancelled", "cancelledByUser"),
                (.failed(StoreFailure(code: .declined, reason: "no")), "failed", "purchaseFailed"),
                (.failed(StoreFailure(code: .unreachable, reason: "no")), "failed", "unreachable"),
            ]
            for (state, outcome, code) in ends {
                test.connection.whenPaying { payment, store in
                    store.send(StoreUpdate(paymentID: payment.id, productID: payment.productID, state: state))
                }
                let result = try await screen.buy("pack")
                #expect(result["outcome"] == outcome)
                #expect(result["error"]?["code"] == code)
                #expect(result["error"]?["message"]?.stringValue?.isEmpty == false)
                #expect(result["transactionID"] == nil)
            }
            test.connection.whenPaying { payment, store in store.sell(payment) }
            test.breakServer()
            let pending = try await screen.buy("pack")
            #expect(pending["outcome"] == "pendingAcknowledgement")
            #expect(pending["error"]?["code"] == "acknowledgementPending")
        }
    }

    @Test func `an offer is bought with the signature of another plugin, or unsigned if there is none`() async throws {
        try await run { screen, _ in
            for offer in ["half", "unsigned"] {
                let result = try await screen.call(
                    "store.purchase", ["productID": "pro.monthly", "offerID": .string(offer)],
                    answeredBy: "store.purchaseResult")
                #expect(result["outcome"] == "purchased")
            }
            let offers = test.connection.payments.map(\.offer)
            #expect(offers.first??.signature?.keyID == "key")
            #expect(offers.last == PaymentOffer(kind: .promotional, id: "unsigned"))
        }
    }

    @Test func `concurrent purchases are answered with the ids of their commands`() async throws {
        let both = Gate()
        test.connection.whenPaying { payment, store in
            if store.payments.count == 2 { both.open() }
            try await both.pass()
            store.sell(payment)
        }
        try await run { screen, _ in
            async let pack = screen.buy("pack")
            async let monthly = screen.buy("pro.monthly")
            let (one, two) = try await (pack, monthly)
            #expect(one["productID"] == "pack")
            #expect(two["productID"] == "pro.monthly")
            #expect(one["outcome"] == "purchased")
            #expect(two["outcome"] == "purchased")
            #expect(one["transactionID"] != two["transactionID"])
        }
    }

    @Test func `an invalid payload is an error for the sender, and nothing is bought`() async throws {
        try await run { screen, _ in
            let bad: [(JSONObject?, PluginError.Code)] = [
                (nil, .missingField), ([:], .missingField), (["productID": 7], .invalidField),
                (["productID": "coins", "quantity": 0], .invalidField),
                (["productID": "coins", "quantity": 11], .invalidField),
                (["productID": "coins", "quantity": "2"], .invalidField),
                (["productID": "coins", "offerID": 1], .invalidField),
                (["productID": "coins", "offerID": "half", "quantity": 2], .invalidField),
            ]
            for (payload, code) in bad {
                #expect {
                    try screen.send("store.purchase", payload)
                } throws: {
                    ($0 as? PluginError)?.code == code
                }
            }
            #expect(throws: PluginError.self) { try screen.send("store.fetchContent") }
            #expect(test.connection.payments.isEmpty)
        }
    }

    @Test func `a postponed purchase is reported, and bought on command`() async throws {
        try await run(change: { $0.promotedPurchases = { _, _, _ in .postpone } }) { screen, _ in
            let events = try screen.events("store.event").values()
            test.connection.promote("pack")
            for await event in events {
                if try event.result.get()["code"] == "promotedPurchasePostponed" { break }
            }
            #expect(try screen.ask("store.status")["postponed"] == ["pack"])
            let bought = try await screen.call(
                "store.continuePurchase", ["productID": "pack"], answeredBy: "store.purchaseResult")
            #expect(bought["outcome"] == "purchased" && bought["productID"] == "pack")
            await test.connection.calls.wait { $0.contains { if case .finish = $0 { true } else { false } } }
            #expect(bought["transactionID"]?.stringValue == test.connection.finished.first?.rawValue)
            #expect(try screen.ask("store.status")["postponed"] == [])
            let again = try await screen.call(
                "store.continuePurchase", ["productID": "pack"], answeredBy: "store.purchaseResult")
            #expect(again["outcome"] == "failed" && again["error"]?["code"] == "invalidProductForPurchasing")
            #expect(throws: PluginError(.missingField, "")) { try screen.send("store.continuePurchase") }
        }
    }

    @Test func `an offer code is redeemed on command, and a refusal has its reason`() async throws {
        try await run { screen, _ in
            let redeemed = try await screen.call(
                "store.redeemOfferCode", ["code": "SPRING"], answeredBy: "store.offerCodeRedeemed")
            #expect(redeemed == [:])
            test.connection.before { _ in throw StoreFailure(code: .invalidCode, reason: "No such code.") }
            let refused = try await screen.call("store.redeemOfferCode", answeredBy: "store.offerCodeRedeemed")
            #expect(refused == ["error": ["code": "codeRedemptionFailed", "message": "No such code."]])
            #expect(throws: PluginError(.invalidField, "")) { try screen.send("store.redeemOfferCode", ["code": 7]) }
        }
    }

    @Test func `messages are sent unchanged, and answered on command`() async throws {
        try await run { screen, _ in
            var messages = try screen.events("store.messages").values().makeAsyncIterator()
            #expect(
                try await messages.next()?.result.get() == ["messages": []], "The first value must be the current one.")
            test.connection.set(messages: [
                StoreMessage(id: "1", reason: .billingIssue, productID: "pro.monthly"),
                StoreMessage(id: "2", reason: .generic),
            ])
            #expect(
                try await messages.next()?.result.get() == [
                    "messages": [
                        ["messageID": "1", "reason": "billingIssue", "productID": "pro.monthly"],
                        ["messageID": "2", "reason": "generic"],
                    ]
                ])
            let answer: JSONObject = ["messageID": "1", "answer": "show"]
            #expect(
                try await screen.call("store.answerMessage", answer, answeredBy: "store.messageAnswered")
                    == ["messageID": "1"])
            #expect(test.connection.calls.all.contains(.answer("1", .show)))
            test.connection.before { _ in throw StoreFailure(code: .unsupported, reason: "Not so.") }
            let refused = try await screen.call("store.answerMessage", answer, answeredBy: "store.messageAnswered")
            #expect(refused["error"] == ["code": "unsupported", "message": "Not so."])
            for payload in [["messageID": "1"], ["answer": "show"]] as [JSONObject] {
                #expect(throws: PluginError(.missingField, "")) { try screen.send("store.answerMessage", payload) }
            }
        }
    }

    // MARK: - Other commands

    @Test func `a restore reports the restored products, or that there are none`() async throws {
        try await run { screen, _ in
            let nothing = try await screen.call("store.restore", answeredBy: "store.restoreResult")
            #expect(nothing == ["restored": [], "nothingToRestore": true])
            test.connection.set(restorable: [ScriptedStoreConnection.transaction("1", "pack")])
            let something = try await screen.call("store.restore", answeredBy: "store.restoreResult")
            #expect(something == ["restored": ["pack"], "nothingToRestore": false])
        }
    }

    @Test func `acquiring all products requires a subscription`() async throws {
        try await run { screen, store in
            await #expect(throws: PurchaseError(.acquireAllRequestedForNonSubscriber, "")) {
                try await screen.call("store.acquireAll", answeredBy: "store.acquired")
            }
            test.setAnswer(Fixture.customer(subscriptions: [Fixture.subscription("basic.monthly")]))
            try await store.validateReceipt()
            let acquired = try await screen.call("store.acquireAll", answeredBy: "store.acquired")
            #expect(acquired == ["productIDs": ["film.noir"]])
        }
    }

    @Test func `a product without content is complete at once, and an unlisted product is refused`() async throws {
        try await run { screen, _ in
            let progress = try await screen.call(
                "store.fetchContent", ["productID": "pack"], answeredBy: "store.contentProgress")
            #expect(progress == ["productID": "pack", "received": 0, "total": 0, "isComplete": true])
            await #expect(throws: PurchaseError(.invalidProductIdentifier, "")) {
                try await screen.call(
                    "store.fetchContent", ["productID": "unheard.of"], answeredBy: "store.contentProgress")
            }
        }
    }

    @Test func `content is fetched over HTTP on command, and its progress is reported to the end`() async throws {
        try await ContentScene.run { scene in
            test.setAnswer(Fixture.customer(purchases: [Fixture.purchase("film")]))
            func change(_ configuration: inout StoreConfiguration) {
                configuration.productList = ProductList(
                    ["film", "other"].map {
                        ListedProduct(
                            id: $0, productType: .nonConsumable, contentFetcherParameters: scene.parameters())
                    })
                configuration.contentManager = scene.library()
            }
            try await run(change: change) { screen, store in
                let id = MessageID.unique()
                let reported = try screen.events("store.contentProgress").filter(correlationId: id).values()
                try screen.send(try Message("store.fetchContent", id: id), ["productID": "film"])
                var received: [Int] = []
                for await event in reported {
                    let progress = try event.result.get()
                    received.append(try #require(progress["received"]?.intValue))
                    #expect(progress["productID"] == "film")
                    if progress["isComplete"] == true {
                        #expect(progress["total"] == progress["received"])
                        break
                    }
                }
                #expect(received.count > 2 && received == received.sorted())
                #expect(received.last == ContentScene.archive.count)
                #expect(try screen.ask("store.status")["downloaded"] == ["film"])
                #expect(ContentScene.isFilm(store.contentLocation("film")))
                await #expect(throws: PurchaseError(.contentNotAcquired, "")) {
                    try await screen.call(
                        "store.fetchContent", ["productID": "other"], answeredBy: "store.contentProgress")
                }
                _ = try await screen.call(
                    "store.deleteContent", ["productID": "film"], answeredBy: "store.contentDeleted")
                #expect(try screen.ask("store.status")["downloaded"] == [])
                #expect(store.contentLocation("film") == nil)
                scene.next(ContentScene.status(404))
                await #expect(throws: PurchaseError(.contentFetchFailed, "")) {
                    try await screen.call(
                        "store.fetchContent", ["productID": "film"], answeredBy: "store.contentProgress")
                }
            }
        }
    }

    @Test func `content is deleted on command, and an unlisted product is refused`() async throws {
        try await run { screen, _ in
            let removed = try await screen.call(
                "store.deleteContent", ["productID": "pack"], answeredBy: "store.contentDeleted")
            #expect(removed == ["productID": "pack"])
            await #expect(throws: PurchaseError(.invalidProductIdentifier, "")) {
                try await screen.call(
                    "store.deleteContent", ["productID": "unheard.of"], answeredBy: "store.contentDeleted")
            }
            #expect(throws: PluginError(.missingField, "")) { try screen.send("store.deleteContent") }
        }
    }

    @Test func `a validation on command reports the time of the last answer, and the error`() async throws {
        try await run { screen, _ in
            let done = try await screen.call("store.validate", answeredBy: "store.validated")
            #expect(done == ["validatedAt": "2026-01-01T00:00:00Z"])
            test.breakServer()
            let failed = try await screen.call("store.validate", answeredBy: "store.validated")
            #expect(failed["error"]?["code"] == "receiptValidationFailed")
            #expect(failed["validatedAt"] == "2026-01-01T00:00:00Z")
        }
    }

    // MARK: - Queries and events

    @Test func `the status is the store's snapshot`() async throws {
        try await run { screen, store in
            let purchases = [Fixture.purchase("pack")]
            test.setAnswer(Fixture.customer(subscriptions: [Fixture.subscription()], purchases: purchases))
            try await store.validateReceipt()
            try await store.purchaseProduct("film.noir")
            let status = try screen.ask("store.status")
            #expect(status["customer"] == "anna")
            #expect(status["allowed"] == ["film.noir", "pack"])
            #expect(status["purchased"] == ["pack"])
            #expect(status["acquired"] == ["film.noir", "pack"])
            #expect(status["downloaded"]?.arrayValue?.contains("coins") == true)
            #expect(
                status["subscription"]
                    == ["productID": "pro.monthly", "isExpired": false, "until": "2026-01-31T00:00:00Z"])
            #expect(status["validatedAt"] == "2026-01-01T00:00:00Z")
            #expect(status["failingSince"] == nil)
        }
    }

    @Test func `products are returned with their prices, and are in the view`() async throws {
        try await run { screen, store in
            var products: [JSONValue] = []
            try await until("the products are known") {
                products = try screen.ask("store.products")["products"]?.arrayValue ?? []
                return !products.isEmpty
            }
            #expect(products.map { $0["productID"] } == ["basic.monthly", "coins", "pack", "pro.monthly"])
            #expect(products[1]["price"] == ["amount": "4.99", "currency": "USD"])
            #expect(products[1]["kind"] == "consumable")
            let view = try screen.view()
            #expect(view.sections.count == 4)
            #expect(view.sections[2].actions.first?.values == ["productID": "pack"])
            #expect(view.sections[2].actions.first?.id == "store.purchase")
        }
    }

    @Test func `a failed request for products is repeated`() async throws {
        test.connection.before { call in
            // The storefront may be known from the connection's updates.
            switch call {
            case .storefront, .products: throw StoreFailure(code: .unreachable, reason: "gone")
            default: break
            }
        }
        try await run { screen, _ in
            #expect(try screen.ask("store.products") == ["products": []])
            test.connection.before { _ in }
            try await until("the products are known") {
                try screen.ask("store.products")["products"]?.arrayValue?.isEmpty == false
            }
        }
    }

    @Test func `features are sent at once, when they change, and when they end`() async throws {
        let end = Fixture.start + Fixture.month
        let active: JSONValue = [
            ["name": "pro", "isActive": true, "until": .string(RFC3339.string(from: end))]
        ]
        let ended: JSONValue = [
            ["name": "pro", "isActive": false, "until": .string(RFC3339.string(from: end))]
        ]
        try await run { screen, store in
            var changes = try screen.events("store.featuresChanged").values().makeAsyncIterator()
            #expect(
                try await changes.next()?.result.get() == ["features": []], "The first value must be the current one.")
            test.setAnswer(Fixture.customer(subscriptions: [Fixture.subscription()]))
            _ = try await screen.buy("pro.monthly")
            #expect(try await changes.next()?.result.get() == ["features": active])
            #expect(try screen.ask("store.features") == ["features": active])
            var late = try screen.events("store.featuresChanged").values().makeAsyncIterator()
            #expect(
                try await late.next()?.result.get() == ["features": active],
                "A later subscriber must get the current value.")

            await test.clock.waiters(atLeast: 2)
            test.clock.advance(to: end)
            #expect(try screen.ask("store.features") == ["features": ended])
            #expect(try await changes.next()?.result.get() == ["features": ended])
        }
    }

    @Test func `events of the store are sent`() async throws {
        try await run { screen, store in
            var events = try screen.events("store.event").values().makeAsyncIterator()
            test.breakServer()
            _ = try await screen.buy("pack")
            let event = try await events.next()?.result.get()
            #expect(event?["type"] == "nonCriticalError")
            #expect(event?["code"] == "receiptValidationFailed")
            #expect(event?["message"]?.stringValue?.isEmpty == false)
        }
    }

    @Test func `a diagnostic contains the source of an answer, and only the code of an error`() async throws {
        try await run { screen, _ in
            var reported = try screen.events("store.diagnostic").values().makeAsyncIterator()
            try screen.send("store.restore")
            let store = try await reported.next()?.result.get()
            #expect(store?["operation"] == "restorePurchases" && store?["plugin"] == "inAppStore")
            #expect(store?["from"] == "plugin" && store?["age"] == 0 && store?["error"] == nil)
            #expect(try await reported.next()?.result.get()["plugin"] == "web")
            let payload = StoreHubPlugin.payload(
                PurchaseDiagnostic(
                    operation: "getFeatures", askedAt: Fixture.start,
                    origin: AnswerOrigin(.disk, asOf: Fixture.start.addingTimeInterval(-90)),
                    error: PurchaseError(.unreachable, "the server at 10.0.0.1")))
            #expect(payload["error"] == "unreachable" && payload["from"] == "disk" && payload["age"] == 90)
            #expect(payload["plugin"] == nil && !"\(payload)".contains("10.0.0.1"))
        }
    }
}

import Foundation
import HTTPCore
import Primitives
import Purchases
import Testing

@Suite struct RemotePurchasePluginTests {
    private let backend = RemoteBackend()

    @Test func `without a user there is no request`() async throws {
        let (plugin, _) = try await backend.plugin([], user: nil)
        let expected = PurchaseError(.noUserId)
        func expectRefusals() async {
            await #expect(throws: expected) { try await plugin.getFeatures() }
            await #expect(throws: expected) { try await plugin.getPaidFeatures() }
            await #expect(throws: expected) { try await plugin.getSubscriptions() }
            await #expect(throws: expected) { try await plugin.getProductsAndPricePoints(with: ["a"]) }
            await #expect(throws: expected) { try await plugin.getWebPricePoints(with: ["a"]) }
            await #expect(throws: expected) { try await plugin.restorePurchases() }
        }
        await expectRefusals()
        try await plugin.logIn(appUserId: .string("ada"))
        await plugin.logOut()
        await expectRefusals()
    }

    @Test func `requests have their paths, headers and bodies`() async throws {
        let (plugin, transport) = try await backend.plugin([
            backend.features(backend.feature("pro", subscription: backend.first)),
            backend.subscriptions(backend.subscription(backend.first)), backend.pricePoints(),
        ])
        _ = try await plugin.getPaidFeatures()
        _ = try await plugin.getWebPricePoints(with: ["b", "a"])
        #expect(
            transport.requests.map { "\($0.method) \($0.url)" } == [
                "POST http://server/base/feature-provisioner/get-features",
                "POST http://server/base/subscriptions-tracker/get-subscriptions",
                "POST http://server/base/showcase/get-price-points",
            ])
        let user: JSONValue = ["type": "merchant-str", "value": "ada"]
        let bodies: [JSONValue] = [
            ["customerId": user], ["customerId": user], ["customerId": user, "ident": ["a", "b"]],
        ]
        for (request, body) in zip(transport.requests, bodies) {
            #expect(request.headers["x-api-key"] == "pk_secret")
            #expect(request.headers["Content-Type"] == "application/json")
            #expect(request.headers["Authorization"] == nil && request.headers["Souk-Environment"] == nil)
            #expect(try await request.body.json() == body)
        }
    }

    @Test func `a user id that is a UUID is sent with its type, and an environment as a header`() async throws {
        let id = try #require(UUID(uuidString: "7e3fb20b-4cdb-47cc-936d-99d65f608138"))
        let (plugin, transport) = try await backend.plugin([backend.features()], user: .uuid(id)) {
            $0.environment = .sandbox
        }
        _ = try await plugin.getFeatures()
        let request = try #require(transport.requests.first)
        #expect(request.headers["Souk-Environment"] == "sandbox")
        #expect(
            try await request.body.json() == [
                "customerId": ["type": "merchant-uuid", "value": .string(id.uuidString)]
            ])
    }

    @Test func `features have their dates`() async throws {
        let (plugin, _) = try await backend.plugin([
            backend.features(backend.feature("pro", till: 10), backend.feature("export"))
        ])
        #expect(
            try await plugin.getFeatures().features == [
                Feature(name: "pro", startDate: backend.date(-100), endDate: backend.date(10)),
                Feature(name: "export", startDate: backend.date(-100)),
            ])
    }

    @Test func `when no feature has a subscription, no subscriptions are requested`() async throws {
        let (plugin, transport) = try await backend.plugin([
            backend.features(backend.feature("pro"), backend.feature("trial", till: 10))
        ])
        _ = try await plugin.getPaidFeatures()
        #expect(transport.requests.count == 1)
    }

    @Test func `the failure of either request is thrown`() async throws {
        let (plugin, _) = try await backend.plugin([
            .answer(status: 401), backend.features(backend.feature("pro", subscription: backend.first)),
            .answer(status: 500), .answer(json: ["features": 3]),
        ])
        await #expect(throws: PurchaseError(.invalidKey)) { try await plugin.getPaidFeatures() }
        await #expect(throws: PurchaseError(.serverError)) { try await plugin.getPaidFeatures() }
        await #expect(throws: PurchaseError(.decodingError)) { try await plugin.getFeatures() }
    }

    @Test func `an unreadable feature fails the answer, so that no feature is lost by mistake`()
        async throws
    {
        let (plugin, _) = try await backend.plugin([backend.features(backend.feature("pro"), ["feature": "export"])])
        await #expect(throws: PurchaseError(.decodingError)) { try await plugin.getPaidFeatures() }
    }

    @Test func `a restore requests the features again and lists the active ones as restored`() async throws {
        let (plugin, _) = try await backend.plugin([
            backend.features(
                backend.feature("pro", subscription: backend.first), backend.feature("old", till: -1)),
            backend.subscriptions(backend.subscription(backend.first)),
            backend.features(backend.feature("old", till: -1)),
        ])
        let result = try await plugin.restorePurchases()
        #expect(result.restored == ["point-1"] && !result.nothingToRestore)
        #expect(result.paidFeatures.names == ["pro", "old"])
        #expect(try await plugin.restorePurchases().nothingToRestore)
    }

    @Test func `purchases, offers and cancellations are not supported`() async throws {
        let (plugin, _) = try await backend.plugin([])
        let client = try await PurchaseClient.with(plugin)
        let noPlugin = PurchaseError(.noSuitablePlugin)
        let product = Product(productIdentifier: "pro")
        await #expect(throws: noPlugin) { try await client.purchase(product) }
        await #expect(throws: noPlugin) {
            try await client.getPromotionalOffer(for: ProductDiscount(), product: product)
        }
        let token = CancellationToken(pluginName: "kiosk", rawValue: "1")
        await #expect(throws: noPlugin) { try await client.cancelSubscription(with: token) }
    }

    @Test func `a web product is refused, and no other plugin is called`() async throws {
        let (plugin, _) = try await backend.plugin([
            backend.pricePoints(["ident": "gift", "name": "Gift", "currencyCode": "EUR", "type": "freebie"])
        ])
        let seller = StubPlugin("store")
        let client = try await PurchaseClient.with(plugin, seller)
        let gift = try #require(try await plugin.getProductsAndPricePoints(with: ["gift"]).first)
        await #expect(throws: PurchaseError(.webPaymentsNotSupported)) { try await client.purchase(gift) }
        #expect(!seller.calls.contains("purchase"))
    }

    @Test func `if signed answers are required, nothing is requested without a verifier`() async throws {
        let (plugin, _) = try await backend.plugin([]) { $0.requiresSignedAnswers = true }
        let expected = PurchaseError(.untrustedAnswer)
        await #expect(throws: expected) { try await plugin.getPaidFeatures() }
        await #expect(throws: expected) { try await plugin.getSubscriptions() }
        await #expect(throws: expected) { try await plugin.getWebPricePoints(with: ["a"]) }
    }
}

import AppStoreSimulator
import EntitlementServer
import Foundation
import HTTPCore
import InAppStore
import Primitives
import Purchases
import SignedData
import StoreKitAdapter
import StoreModel
import Testing

/// The entitlement server signs promotional offers, and devices buy with them in the simulated App Store, in one process.
@Suite(.timeLimit(.minutes(2))) struct OfferLifeTests {
    private static let catalogue = """
        {
          "subscriptionGroups": [
            { "id": "g", "name": "Plus", "subscriptions": [
              { "productID": "monthly", "displayPrice": "5.00", "recurringSubscriptionPeriod": "P1M", "groupNumber": 1,
                "adHocOffers": [
                  { "offerID": "half", "paymentMode": "payAsYouGo", "subscriptionPeriod": "P1M", "numberOfPeriods": 1,
                    "displayPrice": "2.50" },
                  { "offerID": "back", "paymentMode": "payAsYouGo", "subscriptionPeriod": "P1M", "numberOfPeriods": 1,
                    "displayPrice": "1.00" } ] }
            ] }
          ],
          "version": { "major": 4, "minor": 0 }
        }
        """
    private static let rules: JSONValue = [
        "groups": ["g": ["monthly"]],
        "offers": [
            ["productId": "monthly", "offerIdentifier": "half"],
            [
                "productId": "monthly", "offerIdentifier": "back", "when": ["states": ["expired"]],
                "oncePerCustomer": true,
            ],
        ],
    ]

    /// A simulated App Store and a server that signs with its key.
    private struct World {
        let appStore: SimulatedAppStore
        let service: EntitlementService
        let keys: IssuedKeys
        let folder: TemporaryFolder

        init() async throws {
            folder = try TemporaryFolder()
            let server = Locked<EntitlementService?>(nil)
            var configuration = SimulatedAppStore.Configuration(
                catalogue: try Catalogue(parsing: Array(OfferLifeTests.catalogue.utf8), file: "shop"),
                dataDirectory: folder.file("store"))
            configuration.timeRate = .frozen
            configuration.notificationsURL = "http://server/v1/notifications/app-store"
            configuration.notificationTransport = InProcessTransport(
                AnyHTTPHandler { request in
                    server.withLock(\.self)?.respond(to: request) ?? .ready(HTTPResponse(status: 503))
                })
            appStore = try await SimulatedAppStore.open(configuration)
            let (api, bundleID) = (appStore.summary.serverAPI, appStore.summary.bundleID)
            let key = AppStoreConnectKey(
                try ServerAPIClientTests.World.key(of: appStore), id: api.keyID, issuerID: api.issuerID,
                bundleID: bundleID)
            var app = EntitlementService.Configuration.App(bundleID: bundleID)
            app.offers = PromotionalOffers(try OfferRules(json: OfferLifeTests.rules), key: key)
            let root = try TrustAnchor(fingerprint: appStore.summary.rootFingerprint)
            let clock = appStore.clock
            service = try await EntitlementService(
                ledgerAt: URL(fileURLWithPath: folder.file("ledger.sqlite")), for: app, environments: [.sandbox]
            ) {
                $0.trustAnchors = [root]
                $0.clock = clock
            }
            keys = try #require(try await service.createMissingKeys().first)
            server.withLock { [service] in $0 = service }
        }

        func device(of customer: CustomerID) async throws -> Device {
            let account = AccountName(unchecked: customer.rawValue)
            try await appStore.createAccount(account)
            var configuration = StoreConfiguration(
                productList: ProductList([ListedProduct(id: "monthly", productType: .renewableSubscription)]),
                serverURL: "http://server", publicKey: APIKey(keys.publicKey))
            configuration.transport = InProcessTransport(service)
            configuration.connection = try await appStore.connection(account: account)
            configuration.storage = try FileSecureStorage(directory: folder.file(customer.rawValue))
            configuration.storageName = folder.file(customer.rawValue)
            configuration.customer = customer
            configuration.clock = appStore.clock
            configuration.customerToken = { try await self.token(of: $0) }
            let store = try Store(configuration: configuration)
            let client = PurchaseClient()
            try await client.setup(with: [InAppStorePurchasePlugin(store: store)])
            let described = try #require(try await store.fetchProductsInfo(["monthly"])["monthly"])
            return Device(store: store, client: client, product: Product(described))
        }

        /// Returns the token that the app's own server would issue.
        func token(of customer: CustomerID) async throws -> String? {
            try await send(.post, "/v1/customers/\(customer)/tokens", body: .json([:]))["token"]?.stringValue
        }

        func send(_ method: HTTPRequest.Method, _ path: String, body: HTTPBody = .empty) async throws -> JSONValue {
            let request = HTTPRequest(
                method: method, url: "http://server" + path, headers: ["Authorization": "Bearer \(keys.secretKey)"],
                body: body)
            return try await InProcessTransport(service).send(request).body.json(upTo: 1 << 20)
        }

        /// Lets a customer's subscription of a month expire.
        func lapse(_ device: Device, of account: AccountName) async throws {
            _ = try await device.client.purchase(device.product)
            try await appStore.cancel("monthly", for: account)
            try await appStore.advance(by: .months(2))
            try await appStore.deliverNotifications()
        }

        func close() async { await appStore.close() }
    }

    private struct Device {
        let store: Store
        let client: PurchaseClient
        let product: Product

        func buy(with id: String) async throws -> (offer: PromoOffer, purchase: SuccessfulPurchase) {
            let discount = try #require(product.discounts.first { $0.identifier == id })
            let offer = try await client.getPromotionalOffer(for: discount, product: product)
            let purchase = try await client.purchase(product, with: offer)
            return (offer, purchase)
        }

        func offer(_ id: String) async throws -> PromoOffer {
            let discount = try #require(product.discounts.first { $0.identifier == id })
            return try await client.getPromotionalOffer(for: discount, product: product)
        }

        /// Returns the code with which the App Store refuses a purchase; `nil` if it sells.
        func refusal(of offer: PromoOffer) async throws -> StoreFailure.Code? {
            do {
                _ = try await client.purchase(product, with: offer)
                return nil
            } catch let error as PurchaseError {
                let payment = try #require(error.underlying as? PaymentError, "\(error)")
                return (payment.underlying as? StoreFailure)?.code
            }
        }

        /// Returns the code of the server's problem, and its detail.
        func problem(of offer: String) async throws -> (code: String, detail: String)? {
            do {
                _ = try await self.offer(offer)
                return nil
            } catch let error as PurchaseError {
                let problem = try #require(error.underlying as? HTTPProblem, "\(error)")
                return (problem.code, problem.detail)
            }
        }

        func close() async {
            await client.close()
            await store.close()
        }
    }

    @Test func `a former subscriber redeems an offer that the server signed, once`() async throws {
        let world = try await World()
        let anna = try await world.device(of: "anna")
        let early = try #require(try await anna.problem(of: "back"))
        #expect(early.code == "not_eligible" && early.detail.hasPrefix("neverSubscribed"))
        #expect(try await anna.store.offerEligibility().products.first?.introductoryOffer.isEligible == true)
        try await world.lapse(anna, of: "anna")

        let eligible = try await anna.store.offerEligibility(for: "monthly").products
        #expect(eligible.first?.promotionalOffers.allSatisfy(\.isEligible) == true)
        let (offer, bought) = try await anna.buy(with: "back")
        #expect(bought.transaction?.offer?.id == "back" && !bought.isPendingAcknowledgement)
        let customer = try await world.send(.get, "/v1/customers/anna")
        #expect(customer["subscriptions"]?[0]?["price"]?["amount"] == "1")
        #expect(customer["subscriptions"]?[0]?["state"] == "active")

        #expect(try await anna.refusal(of: offer) == .invalidOfferSignature)
        let late = try #require(try await anna.problem(of: "back"))
        #expect(late.code == "not_eligible" && late.detail.hasPrefix("alreadyUsed"))
        await anna.close()
        await world.close()
    }

    @Test func `a signature does not serve another customer, in either version`() async throws {
        let world = try await World()
        let (anna, ben) = (try await world.device(of: "anna"), try await world.device(of: "ben"))
        try await world.lapse(anna, of: "anna")
        try await world.lapse(ben, of: "ben")
        let (own, others) = (try await anna.offer("half"), try await ben.offer("half"))
        #expect(own.nonce != others.nonce)
        #expect(try await ben.refusal(of: own) == .invalidOfferSignature)

        let signed = try await world.send(
            .post, "/v1/customers/anna/offer-signatures", body: .json(["productID": "monthly", "offerID": "half"]))
        var second = PromoOffer(productDiscount: own.productDiscount, identifier: "half")
        second.compactJWS = try #require(signed["compactJWS"]?.stringValue)
        #expect(try await ben.refusal(of: second) == .invalidOfferSignature)
        #expect(try await anna.refusal(of: second) == nil)
        // The refusals used nothing up.
        #expect(try await ben.refusal(of: others) == nil)
        await anna.close()
        await ben.close()
        await world.close()
    }
}

import AppStoreSimulator
import EntitlementServer
import Foundation
import HTTPCore
import Primitives
import SignedData
import StoreModel
import Testing

/// The simulated App Store asks the entitlement server for the message before a cancellation, in one process.
@Suite(.timeLimit(.minutes(2))) struct RetentionMessageLifeTests {
    private static let catalogue = """
        {
          "subscriptionGroups": [
            { "id": "g", "name": "Plus", "subscriptions": [
              { "productID": "monthly", "displayPrice": "5.00", "recurringSubscriptionPeriod": "P1M", "groupNumber": 1,
                "adHocOffers": [
                  { "offerID": "half", "paymentMode": "payAsYouGo", "subscriptionPeriod": "P1M", "numberOfPeriods": 3,
                    "displayPrice": "2.50" } ] },
              { "productID": "yearly", "displayPrice": "50.00", "recurringSubscriptionPeriod": "P1Y", "groupNumber": 1 }
            ] }
          ],
          "version": { "major": 4, "minor": 0 }
        }
        """

    private static func rules(_ message: JSONValue, signature: String) -> JSONValue {
        let offer: JSONValue = [
            "messageIdentifier": message, "offerIdentifier": "half", "signature": .string(signature),
        ]
        return [
            "rules": [
                [
                    "name": "loyal", "when": ["paidPeriods": ["min": 2], "usedPromotionalOffer": false],
                    "answer": ["promotionalOffer": offer],
                ],
                [
                    "name": "german", "when": ["locales": ["de"]],
                    "answer": ["alternateProduct": ["messageIdentifier": message, "productId": "yearly"]],
                ],
                ["name": "others", "answer": ["message": ["messageIdentifier": message]]],
            ]
        ]
    }

    @Test(arguments: ["V1", "V2"])
    func `the simulator shows what the server chooses by the customer's past`(signature: String) async throws {
        let folder = try TemporaryFolder()
        let server = Locked<EntitlementService?>(nil)
        var configuration = SimulatedAppStore.Configuration(
            catalogue: try Catalogue(parsing: Array(Self.catalogue.utf8), file: "shop"),
            dataDirectory: folder.file("store"))
        configuration.timeRate = .frozen
        configuration.realtimeTimeout = .seconds(60)
        configuration.notificationsURL = "http://server/v1/notifications/app-store"
        configuration.notificationTransport = InProcessTransport(
            AnyHTTPHandler { request in
                server.withLock(\.self)?.respond(to: request) ?? .ready(HTTPResponse(status: 503))
            })
        let store = try await SimulatedAppStore.open(configuration)
        let (api, bundleID) = (store.summary.serverAPI, store.summary.bundleID)
        let signingKey = try ServerAPIClientTests.World.key(of: store)
        let key = AppStoreConnectKey(signingKey, id: api.keyID, issuerID: api.issuerID, bundleID: bundleID)
        let message = UUID()
        try await ServerAPIClientTests.World.client(of: store, signingKey, SystemClock()).uploadMessage(
            message,
            .init {
                $0.header = "Stay"
                $0.body = "You keep your photos."
            })

        // The simulator's number of an app without one in the catalogue is 1.
        var app = EntitlementService.Configuration.App(bundleID: bundleID, appAppleID: 1)
        app.retentionMessages = RetentionMessages(
            try RetentionRules(json: Self.rules(.string(message.uuidString), signature: signature)), key: key)
        let root = try TrustAnchor(fingerprint: store.summary.rootFingerprint)
        let service = try await EntitlementService(
            ledgerAt: URL(fileURLWithPath: folder.file("ledger.sqlite")), for: app, environments: [.sandbox]
        ) {
            $0.trustAnchors = [root]
            $0.clock = store.clock
        }
        server.withLock { $0 = service }
        try await store.set(.realtimeURL, to: .string("http://server/v1/retention-messages/app-store"))
        try await store.createAccount("anna")
        try await store.buy("monthly", for: "anna")
        try await store.deliverNotifications()

        let first = try await store.showRetentionMessage(of: "monthly", for: "anna", locale: "en-GB")
        #expect(first.source == .realtime && first.kind == .text && first.messageIdentifier == message, "\(first)")
        let german = try await store.showRetentionMessage(of: "monthly", for: "anna", locale: "de-AT")
        #expect(german.kind == .alternateProduct && german.offeredProductID == "yearly", "\(german)")

        try await store.advance(by: .months(1))
        try await store.deliverNotifications()
        let cancelled = try await store.cancel("monthly", for: "anna", locale: "de-AT").retentionMessage
        let last = try #require(cancelled)
        #expect(last.source == .realtime && last.kind == .promotionalOffer && last.offerID == "half", "\(last)")
        #expect(last.refusal == nil && last.result == "SUCCESS")
        await store.close()
    }
}

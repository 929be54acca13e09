import Foundation
import HTTPCore
import Primitives
import Purchases
import StoreTestSupport
import Testing

@Suite struct RemotePurchasePluginTests {
    private let clock = ManualClock(Date(timeIntervalSince1970: 1_795_185_600))
    private let first = UUID(uuidString: "11111111-1111-4111-8111-111111111111") ?? UUID()
    private let second = UUID(uuidString: "22222222-2222-4222-8222-222222222222") ?? UUID()

    private func plugin(_ script: [ScriptedTransport.Step], user: UserId? = .string("ada")) async throws -> (
        RemotePurchasePlugin, ScriptedTransport
    ) {
        let transport = ScriptedTransport(script)
        var configuration = RemotePurchasePlugin.Configuration(baseURL: "http://server/base", key: "pk_secret")
        configuration.clock = clock
        configuration.backoff = .none
        let plugin = RemotePurchasePlugin(configuration: configuration, transport: transport)
        if let user { try await plugin.logIn(appUserId: user) }
        return (plugin, transport)
    }

    private func date(_ offset: TimeInterval) -> Date { clock.now().addingTimeInterval(offset) }
    private func text(_ offset: TimeInterval) -> JSONValue { .string(RFC3339.string(from: date(offset))) }

    private func feature(_ name: String, till: TimeInterval? = nil, subscription: UUID? = nil) -> JSONValue {
        var row: JSONValue = ["quantity": 1, "actualFrom": text(-100), "feature": .string(name)]
        if let till { row["actualTill"] = text(till) }
        if let subscription { row["lastSubscriptionId"] = .string(subscription.uuidString) }
        return row
    }

    private func subscription(
        _ id: UUID, state: String = "active", end: TimeInterval = 100, next: UUID? = nil, tags: [JSONValue] = []
    ) -> JSONValue {
        var row: JSONValue = [
            "id": .string(id.uuidString), "state": .string(state), "createdAt": text(-200),
            "currentPeriodStartAt": text(-100), "currentPeriodEndAt": text(end), "tags": .array(tags),
            "pricePoint": [
                "ident": .string("point-\(id.uuidString.prefix(1))"), "services": [["featureIdent": "pro"]],
                "currencyCode": "EUR", "nextTotalPrice": "4.99", "nextPeriodValue": 1, "nextPeriodType": "month",
                "introTotalPrice": "0.99", "introPeriodValue": 3, "introPeriodType": "fortnight",
            ],
        ]
        if let next { row["nextSubscriptionId"] = .string(next.uuidString) }
        if state == "canceled" { row["canceledAt"] = text(-1) }
        return row
    }

    private func features(_ rows: JSONValue...) -> ScriptedTransport.Step {
        .answer(json: ["features": .array(rows)])
    }

    private func subscriptions(_ rows: JSONValue...) -> ScriptedTransport.Step {
        .answer(json: ["subscriptions": .array(rows)])
    }

    @Test func `without a user nothing is asked`() async throws {
        let (plugin, _) = try await plugin([], user: nil)
        let expected = PurchaseError(.noUserId)
        await #expect(throws: expected) { try await plugin.getFeatures() }
        await #expect(throws: expected) { try await plugin.getPaidFeatures() }
        await #expect(throws: expected) { try await plugin.getSubscriptions() }
        await #expect(throws: expected) { try await plugin.restorePurchases() }
        try await plugin.logIn(appUserId: .string("ada"))
        await plugin.logOut()
        await #expect(throws: expected) { try await plugin.getFeatures() }
    }

    @Test func `requests are those of seed 000`() async throws {
        let (plugin, transport) = try await plugin([
            features(feature("pro", subscription: first)), subscriptions(subscription(first)),
        ])
        _ = try await plugin.getPaidFeatures()
        #expect(transport.requests.map(\.method) == [.post, .post])
        #expect(
            transport.requests.map(\.url) == [
                "http://server/base/feature-provisioner/get-features",
                "http://server/base/subscriptions-tracker/get-subscriptions",
            ])
        for request in transport.requests {
            #expect(request.headers["x-api-key"] == "pk_secret")
            #expect(request.headers["Content-Type"] == "application/json")
            #expect(request.headers["Authorization"] == nil)
            #expect(try await request.body.json() == ["customerId": ["type": "merchant-str", "value": "ada"]])
        }
    }

    @Test func `it sells nothing itself`() async throws {
        let (plugin, _) = try await plugin([])
        let client = try await PurchaseClient.with(plugin)
        await #expect(throws: PurchaseError(.noSuitablePlugin)) {
            try await client.purchase(Product(productIdentifier: "pro"))
        }
    }

    @Test func `features have their dates`() async throws {
        let (plugin, _) = try await plugin([features(feature("pro", till: 10), feature("export"))])
        #expect(
            try await plugin.getFeatures().features == [
                Feature(name: "pro", startDate: date(-100), endDate: date(10)),
                Feature(name: "export", startDate: date(-100)),
            ])
    }

    @Test func `when no feature names a subscription none is asked for`() async throws {
        let (plugin, transport) = try await plugin([features(feature("pro"), feature("trial", till: 10))])
        let paid = try await plugin.getPaidFeatures()
        #expect(paid.features.map(\.paymentType) == [.oneOff, .until(date(10))])
        #expect(paid.features.allSatisfy { $0.transactionType == .web && $0.authority == .server })
        #expect(transport.requests.count == 1)
        #expect(paid.hasActiveFeature(with: "trial", at: date(9)))
        #expect(!paid.hasActiveFeature(with: "trial", at: date(10)))
    }

    @Test func `a feature is joined with its subscription and the next one`() async throws {
        let (plugin, _) = try await plugin([
            features(feature("pro", subscription: first)),
            subscriptions(
                subscription(first, next: second, tags: ["trial"]), subscription(second, state: "is_upcoming"),
                subscription(first, end: 999)),
        ])
        let pro = try #require(try await plugin.getPaidFeatures().features.first)
        let period = PaidFeature.Period(
            id: first, startDate: date(-100), endDate: date(100), isTrial: true, price: Decimal(string: "4.99"),
            currencyCode: "EUR", subscriptionPeriod: .months(1), introPrice: Decimal(string: "0.99"))
        var next = period
        next.id = second
        next.isTrial = false
        #expect(pro.paymentType == .subscription(.init(current: period, next: next)))
        #expect(pro.pricePointIdent == "point-1" && pro.productIdentifier == nil)
        #expect(pro.transactionType == .web && pro.originalTransactionID == nil)
    }

    @Test func `tags say that a subscription is the App Store's`() async throws {
        let tags: [JSONValue] = ["source:appStore", "originalTransactionID:2000000123"]
        let (plugin, _) = try await plugin([
            features(feature("pro", subscription: first)), subscriptions(subscription(first, tags: tags)),
            subscriptions(subscription(first, tags: tags)),
        ])
        let pro = try #require(try await plugin.getPaidFeatures().features.first)
        #expect(pro.transactionType == .appStore && pro.originalTransactionID == "2000000123")
        #expect(pro.productIdentifier == "point-1")
        let subscription = try #require(try await plugin.getSubscriptions().first)
        #expect(subscription.type == .apple && subscription.originalTransactionID == "2000000123")
    }

    @Test func `an App Store purchase that the device reports too is one, in the server's words`() async throws {
        let device = PaidFeature(name: "pro", originalTransactionID: "2000000123")
        let (plugin, _) = try await plugin(
            [
                features(feature("pro", till: -5, subscription: first)),
                subscriptions(
                    subscription(first, tags: ["source:appStore", "originalTransactionID:2000000123"])),
            ], user: nil)
        let client = try await PurchaseClient.with(
            StubPlugin("device") { $0.paidFeatures = { PaidFeatures(features: [device]) } }, plugin,
            user: .string("ada"))
        let paid = try await client.getPaidFeatures()
        #expect(paid.features.count == 1)
        #expect(!paid.hasActiveFeature(with: "pro", at: date(0)))
    }

    @Test(arguments: [50, 150] as [TimeInterval])
    func `the feature's own end counts, before or after the period's`(till: TimeInterval) async throws {
        let (plugin, _) = try await plugin([
            features(feature("pro", till: till, subscription: first)), subscriptions(subscription(first)),
        ])
        let paid = try await plugin.getPaidFeatures()
        #expect(paid.hasActiveFeature(with: "pro", at: date(till - 1)))
        #expect(!paid.hasActiveFeature(with: "pro", at: date(till)))
    }

    @Test func `a feature whose subscription is missing ends when the feature does`() async throws {
        let (plugin, _) = try await plugin([
            features(feature("pro", till: 10, subscription: second), feature("export", subscription: second)),
            subscriptions(subscription(first)),
        ])
        #expect(try await plugin.getPaidFeatures().features.map(\.paymentType) == [.until(date(10)), .oneOff])
    }

    @Test func `an unknown state drops one row, which is reported`() async throws {
        let (plugin, _) = try await plugin([
            subscriptions(7, subscription(first, state: "paused"), subscription(second)), subscriptions(),
        ])
        #expect(try await plugin.getSubscriptions().map(\.id) == [second])
        #expect(plugin.unreadableRows.map(\.index) == [0, 1])
        #expect(plugin.unreadableRows.last?.reason.contains("\"paused\"") ?? false)
        #expect(try await plugin.getSubscriptions().isEmpty)
        #expect(plugin.unreadableRows.isEmpty)
    }

    @Test func `an unknown state still says when what it pays for ends`() async throws {
        let (plugin, _) = try await plugin([
            features(feature("pro", subscription: first)), subscriptions(subscription(first, state: "paused")),
        ])
        let paid = try await plugin.getPaidFeatures()
        #expect(paid.hasActiveFeature(with: "pro", at: date(99)))
        #expect(!paid.hasActiveFeature(with: "pro", at: date(100)))
    }

    @Test(
        arguments: [
            ("new", 100, .active), ("active", 100, .active), ("active", -1, .active), ("canceled", 100, .cancelled),
            ("canceled", 0, .expired), ("is_upcoming", 100, .upcoming),
        ] as [(String, TimeInterval, Subscription.State)])
    func `states are read`(state: String, end: TimeInterval, expected: Subscription.State) async throws {
        let (plugin, _) = try await plugin([subscriptions(subscription(first, state: state, end: end))])
        let found = try #require(try await plugin.getSubscriptions().first)
        #expect(found.state == expected)
        #expect(found.providedFeatures == ["pro"] && found.productIdentifier == "point-1")
        #expect(found.price == Decimal(string: "4.99") && found.currencyCode == "EUR" && found.type == .web)
    }

    @Test func `a subscription knows its successor, one step far`() async throws {
        let third = UUID()
        let (plugin, _) = try await plugin([
            subscriptions(
                subscription(first, next: second), subscription(second, next: third),
                subscription(third, next: UUID()))
        ])
        let found = try await plugin.getSubscriptions()
        #expect(found.map { $0.next?.id } == [second, third, nil])
        #expect(found[0].next?.next == nil)
    }

    @Test func `a circle of successors is cut where it closes`() async throws {
        let (plugin, _) = try await plugin([
            subscriptions(subscription(first, next: second), subscription(second, next: first)),
            subscriptions(subscription(first, next: first)),
        ])
        #expect(try await plugin.getSubscriptions().map { $0.next?.id } == [second, nil])
        #expect(try await plugin.getSubscriptions().map { $0.next?.id } == [nil])
    }

    @Test func `the failure of either question is the answer's`() async throws {
        let (plugin, _) = try await plugin([
            .answer(status: 401), features(feature("pro", subscription: first)), .answer(status: 500),
            .answer(json: ["features": 3]),
        ])
        await #expect(throws: PurchaseError(.invalidKey)) { try await plugin.getPaidFeatures() }
        await #expect(throws: PurchaseError(.serverError)) { try await plugin.getPaidFeatures() }
        await #expect(throws: PurchaseError(.decodingError)) { try await plugin.getFeatures() }
    }

    @Test func `restoring reads again and names what is active`() async throws {
        let (plugin, _) = try await plugin([
            features(feature("pro", subscription: first), feature("old", till: -1)), subscriptions(subscription(first)),
            features(feature("old", till: -1)),
        ])
        let result = try await plugin.restorePurchases()
        #expect(result.restored == ["point-1"] && !result.nothingToRestore)
        #expect(result.paidFeatures.names == ["pro", "old"])
        #expect(try await plugin.restorePurchases().nothingToRestore)
    }
}

import BaseTestSupport
import Foundation
import HTTPCore
import Primitives
import Purchases
import StoreTestSupport
import Testing

/// The maximum age of the backend's answers, and the reports about them.
@Suite(.timeLimit(.minutes(1))) struct FreshnessTests {
    private let backend = RemoteBackend()

    private func plugin(
        _ script: [ScriptedTransport.Step], isInBackground: @escaping @Sendable () -> Bool = { false }
    ) async throws -> (RemotePurchasePlugin, ScriptedTransport) {
        try await backend.plugin(script) {
            $0.freshness = .init(foreground: .seconds(60), background: .seconds(3600))
            $0.isInBackground = isInBackground
        }
    }

    private func pro(till: TimeInterval? = nil) -> ScriptedTransport.Step {
        backend.features(backend.feature("pro", till: till))
    }

    @Test func `an answer is fresh for a minute in the foreground and for an hour in the background`() async throws {
        let isInBackground = Locked(false)
        let (plugin, transport) = try await plugin([pro(), pro(), pro()]) { isInBackground.withLock { $0 } }
        var asked: [Int] = []
        func ask(after seconds: TimeInterval, inBackground: Bool) async throws {
            backend.clock.advance(by: seconds)
            isInBackground.withLock { $0 = inBackground }
            _ = try await plugin.getFeatures()
            asked.append(transport.requests.count)
        }
        try await ask(after: 0, inBackground: false)
        try await ask(after: 59, inBackground: false)
        try await ask(after: 1, inBackground: true)
        try await ask(after: 3539, inBackground: true)
        try await ask(after: 1, inBackground: true)
        try await ask(after: 60, inBackground: false)
        #expect(asked == [1, 1, 1, 1, 2, 3])
    }

    @Test func `the default maximum ages are five minutes and 25 hours`() {
        let configuration = RemotePurchasePlugin.Configuration(baseURL: "http://server", key: "pk")
        #expect(configuration.freshness == .init(foreground: .seconds(300), background: .seconds(90_000)))
        #expect(!configuration.isInBackground())
    }

    @Test func `features and paid features share one answer, subscriptions have their own`() async throws {
        let subscribed = backend.features(backend.feature("pro", subscription: backend.first))
        let (plugin, transport) = try await plugin([
            subscribed, backend.subscriptions(backend.subscription(backend.first)),
        ])
        _ = try await plugin.getFeatures()
        _ = try await plugin.getPaidFeatures()
        #expect(try await plugin.getSubscriptions().count == 1)
        #expect(try await plugin.getPaidFeatures().hasActiveFeature(with: "pro", at: backend.date(0)))
        #expect(transport.requests.count == 2)
    }

    @Test func `at the next date in an answer, a new request is sent to the backend`() async throws {
        let (plugin, _) = try await plugin([pro(till: 10), pro(till: 1000)])
        _ = try await plugin.getFeatures()
        backend.clock.advance(by: 9)
        #expect(try await plugin.getFeatures()["pro"].first?.endDate == backend.date(1))
        backend.clock.advance(by: 1)
        #expect(try await plugin.getFeatures()["pro"].first?.endDate == backend.date(990))
    }

    @Test func `after an invalidation, for another user and for a restore, a request is sent`() async throws {
        let (plugin, transport) = try await plugin([pro(), pro(), pro(), pro(), pro()])
        _ = try await plugin.getFeatures()
        await plugin.invalidatePaidFeaturesCache()
        _ = try await plugin.getFeatures()
        try await plugin.logIn(appUserId: .string("ben"))
        _ = try await plugin.getFeatures()
        _ = try await plugin.restorePurchases()
        await plugin.logOut()
        try await plugin.logIn(appUserId: .string("ben"))
        _ = try await plugin.getFeatures()
        #expect(transport.requests.count == 5)
        let users = try await transport.requests.asyncMap { try await $0.body.json()["customerId"]?["value"] }
        #expect(users == ["ada", "ada", "ben", "ben", "ben"])
    }

    @Test func `a restored answer is cached`() async throws {
        let (plugin, transport) = try await plugin([pro(), backend.features()])
        #expect(try await plugin.getPaidFeatures().names == ["pro"])
        #expect(try await plugin.restorePurchases().nothingToRestore)
        #expect(try await plugin.getPaidFeatures().names.isEmpty)
        #expect(transport.requests.count == 2)
    }

    @Test func `an outdated answer does not replace an error, and the next success is used`() async throws {
        let (plugin, _) = try await plugin([pro(), .answer(status: 503), backend.features()])
        _ = try await plugin.getFeatures()
        backend.clock.advance(by: 60)
        await #expect(throws: PurchaseError(.serverError)) { try await plugin.getFeatures() }
        #expect(try await plugin.getFeatures().features.isEmpty)
    }

    @Test func `an answer that comes when the user has logged out is not kept`() async throws {
        let gate = Gate()
        let (late, fresh) = (pro(), backend.features())
        let (plugin, transport) = try await plugin([
            .perform { _ in
                await gate.pass()
                return HTTPResponse(status: 200, json: ["features": []])
            },
            late, fresh,
        ])
        let asked = Task { try await plugin.getFeatures() }
        await gate.arrivals()
        await plugin.logOut()
        gate.open()
        _ = try await asked.value
        try await plugin.logIn(appUserId: .string("ada"))
        #expect(try await plugin.getFeatures()["pro"].count == 1)
        await plugin.invalidatePaidFeaturesCache()
        #expect(try await plugin.getFeatures().features.isEmpty)
        #expect(transport.requests.count == 3)
    }

    @Test func `after a purchase at another plugin, a request is sent to the backend`() async throws {
        let (plugin, transport) = try await plugin([backend.features(), pro()])
        let seller = StubPlugin("store") {
            $0.purchase = { _ in .success(SuccessfulPurchase(paidFeatures: .of("plus"))) }
        }
        let client = try await PurchaseClient.with(seller, plugin, user: .string("ada"))
        #expect(try await client.getPaidFeatures().names.isEmpty)
        let purchase = try await client.purchase(Product(productIdentifier: "plus"))
        #expect(purchase.paidFeatures.names == ["plus", "pro"])
        #expect(transport.requests.count == 2)
    }

    @Test func `the client reports the date of an answer, the older one of two`() async throws {
        let subscribed = backend.features(backend.feature("pro", subscription: backend.first))
        let (plugin, _) = try await plugin([
            backend.subscriptions(backend.subscription(backend.first)), subscribed, backend.features(),
        ])
        let client = try await PurchaseClient.with(plugin, user: .string("ada"))
        let began = backend.date(0)
        func origins() async throws -> [AnswerOrigin?] {
            try await client.collectPaidFeatures().reports.map(\.origin)
        }
        _ = try await client.getSubscriptions(.strict)
        #expect(plugin.answerOrigin(of: .getSubscriptions) == AnswerOrigin(.network, asOf: began))
        backend.clock.advance(by: 20)
        #expect(try await origins() == [AnswerOrigin(.cache, asOf: began)])
        backend.clock.advance(by: 30)
        await client.invalidatePaidFeaturesCache()
        #expect(try await origins() == [AnswerOrigin(.network, asOf: backend.date(0))])
        #expect(plugin.answerOrigin(of: .getFeatures) == nil)
    }

    @Test func `each answer is reported with its origin and age, and each failure with its error`() async throws {
        let (plugin, _) = try await plugin([
            pro(), .answer(status: 500), backend.subscriptions(backend.subscription(backend.first, state: "paused")),
        ])
        let reported = plugin.answers
        let began = backend.date(0)
        _ = try await plugin.getFeatures()
        backend.clock.advance(by: 40)
        _ = try await plugin.getPaidFeatures()
        backend.clock.advance(by: 20)
        _ = try? await plugin.getFeatures()
        _ = try await plugin.getSubscriptions()
        var answers: [RemoteAnswer] = []
        for await answer in reported.prefix(4) { answers.append(answer) }
        #expect(answers.map(\.question) == [.features, .features, .features, .subscriptions])
        #expect(answers.map(\.origin?.source) == [.network, .cache, nil, .network])
        #expect(answers.map(\.age) == [0, 40, 0, 0])
        #expect(answers.map(\.origin?.asOf) == [began, began, nil, began.addingTimeInterval(60)])
        #expect(answers.map(\.address) == ["http://server/base", "http://server/base", nil, "http://server/base"])
        #expect(answers.map(\.error) == [nil, nil, PurchaseError(.serverError), nil])
        #expect(answers.map(\.unreadableRows.count) == [0, 0, 0, 1])
        #expect(answers.allSatisfy { $0.pluginName == "remote" })
    }
}

extension Array where Element: Sendable {
    fileprivate func asyncMap<Value>(_ transform: (Element) async throws -> Value) async rethrows -> [Value] {
        var values: [Value] = []
        for element in self { values.append(try await transform(element)) }
        return values
    }
}

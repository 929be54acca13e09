import Foundation
import HTTPCore
import Primitives
import Purchases
import StoreTestSupport
import Testing

/// The join of features and subscriptions. Each rule is a row of the table in Documentation/RemotePlugin.md.
@Suite struct FeatureJoinTests {
    struct Rule: CustomTestStringConvertible, Sendable {
        /// The first cell of the row.
        let situation: String
        var features: @Sendable (RemoteBackend) -> ScriptedTransport.Step
        /// The answer about subscriptions, or `nil` if there is no such request.
        var subscriptions: (@Sendable (RemoteBackend) -> ScriptedTransport.Step)?
        let expected: @Sendable (RemoteBackend) -> [PaidFeature]
        /// The indices of the rows that are reported as unreadable.
        var reported: [Int] = []

        var testDescription: String { situation }
    }

    /// A feature that `subscription(first)` pays for.
    private static func paid(
        _ backend: RemoteBackend, till end: TimeInterval = 100, next: PaidFeature.Period? = nil,
        _ change: (inout PaidFeature.Period) -> Void = { _ in }
    ) -> PaidFeature {
        var period = backend.period(backend.first, end: end)
        change(&period)
        return PaidFeature(
            name: "pro", pricePointIdent: "point-1", paymentType: .subscription(.init(current: period, next: next)),
            transactionType: .web)
    }

    private static func web(_ type: PaidFeature.PaymentType) -> PaidFeature {
        PaidFeature(name: "pro", paymentType: type, transactionType: .web)
    }

    private static let one: @Sendable (RemoteBackend) -> ScriptedTransport.Step = {
        $0.features($0.feature("pro", subscription: $0.first))
    }

    static let rules: [Rule] = [
        Rule(
            situation: "a feature without a subscription and without an end",
            features: { $0.features($0.feature("pro")) }, expected: { _ in [web(.oneOff)] }),
        Rule(
            situation: "a feature without a subscription, but with an end",
            features: { $0.features($0.feature("pro", till: 10)) }, expected: { [web(.until($0.date(10)))] }),
        Rule(
            situation: "a feature with its subscription", features: one,
            subscriptions: { $0.subscriptions($0.subscription($0.second), $0.subscription($0.first)) },
            expected: { [paid($0)] }),
        Rule(
            situation: "a feature that ends before its subscription does",
            features: { $0.features($0.feature("pro", till: 50, subscription: $0.first)) },
            subscriptions: { $0.subscriptions($0.subscription($0.first)) }, expected: { [paid($0, till: 50)] }),
        Rule(
            situation: "a feature that ends after its subscription does",
            features: { $0.features($0.feature("pro", till: 150, subscription: $0.first)) },
            subscriptions: { $0.subscriptions($0.subscription($0.first)) }, expected: { [paid($0, till: 150)] }),
        Rule(
            situation: "a feature that ends, whose subscription is missing",
            features: { $0.features($0.feature("pro", till: 10, subscription: $0.first)) },
            subscriptions: { $0.subscriptions($0.subscription($0.second)) },
            expected: { [web(.until($0.date(10)))] }),
        Rule(
            situation: "a feature without an end, whose subscription is missing", features: one,
            subscriptions: { $0.subscriptions() }, expected: { _ in [web(.oneOff)] }),
        Rule(
            situation: "a subscription that names the next one", features: one,
            subscriptions: {
                $0.subscriptions(
                    $0.subscription($0.first, next: $0.second), $0.subscription($0.second, state: "is_upcoming"))
            }, expected: { [paid($0, next: $0.period($0.second))] }),
        Rule(
            situation: "a subscription whose next one is missing", features: one,
            subscriptions: { $0.subscriptions($0.subscription($0.first, next: $0.second)) },
            expected: { [paid($0)] }),
        Rule(
            situation: "a subscription that names itself as the next", features: one,
            subscriptions: { $0.subscriptions($0.subscription($0.first, next: $0.first)) }, expected: { [paid($0)] }),
        Rule(
            situation: "two subscriptions that name each other", features: one,
            subscriptions: {
                $0.subscriptions(
                    $0.subscription($0.second, next: $0.first), $0.subscription($0.first, next: $0.second))
            }, expected: { [paid($0)] }),
        Rule(
            situation: "two subscriptions with one id", features: one,
            subscriptions: { $0.subscriptions($0.subscription($0.first), $0.subscription($0.first, end: 999)) },
            expected: { [paid($0)] }),
        Rule(
            situation: "a subscription in an unknown state", features: one,
            subscriptions: { $0.subscriptions($0.subscription($0.first, state: "paused")) }, expected: { [paid($0)] },
            reported: [0]),
        Rule(
            situation: "a subscription that cannot be read",
            features: { $0.features($0.feature("pro", till: 10, subscription: $0.first)) },
            subscriptions: { $0.subscriptions(7, $0.subscription($0.second)) },
            expected: { [web(.until($0.date(10)))] }, reported: [0]),
        Rule(
            situation: "a cancelled subscription", features: one,
            subscriptions: { $0.subscriptions($0.subscription($0.first, state: "canceled")) },
            expected: { backend in [paid(backend) { $0.cancellationDate = backend.date(-1) }] }),
        Rule(
            situation: "the tag `trial`", features: one,
            subscriptions: { $0.subscriptions($0.subscription($0.first, tags: ["trial", "anything"])) },
            expected: { [paid($0) { $0.isTrial = true }] }),
        Rule(
            situation: "the tags `source:appStore` and `originalTransactionID:…`", features: one,
            subscriptions: {
                $0.subscriptions(
                    $0.subscription($0.first, tags: ["source:appStore", "originalTransactionID:2000000123"]))
            },
            expected: {
                [
                    PaidFeature(
                        name: "pro", productIdentifier: "point-1", pricePointIdent: "point-1",
                        originalTransactionID: "2000000123",
                        paymentType: .subscription(.init(current: $0.period($0.first))), transactionType: .appStore)
                ]
            }),
        Rule(
            situation: "the tags `source:googlePlay` and `originalTransactionID:…`", features: one,
            subscriptions: {
                $0.subscriptions(
                    $0.subscription($0.first, tags: ["source:googlePlay", "originalTransactionID:play.0a"]))
            },
            expected: {
                [
                    PaidFeature(
                        name: "pro", productIdentifier: "point-1", pricePointIdent: "point-1",
                        originalTransactionID: "play.0a",
                        paymentType: .subscription(.init(current: $0.period($0.first))), transactionType: .googlePlay)
                ]
            }),
        Rule(
            situation: "one feature in several rows",
            features: {
                $0.features(
                    $0.feature("pro", till: 10), $0.feature("pro", subscription: $0.first), $0.feature("pro", till: 10))
            }, subscriptions: { $0.subscriptions($0.subscription($0.first)) },
            expected: { [web(.until($0.date(10))), paid($0)] }),
    ]

    @Test(arguments: rules) func `each rule holds`(rule: Rule) async throws {
        let backend = RemoteBackend()
        let (plugin, _) = try await backend.plugin(
            [rule.features(backend), rule.subscriptions?(backend)].compactMap { $0 })
        let paid = try await plugin.getPaidFeatures()
        #expect(paid.features == rule.expected(backend))
        #expect(paid.features.allSatisfy { $0.authority == .server })
        #expect(plugin.unreadableRows.map(\.index) == rule.reported)
    }

    @Test func `the chapter has exactly these rules`() throws {
        let documented = try Chapter.table(under: "Features and subscriptions").map(\.first)
        #expect(documented == Self.rules.map(\.situation))
    }

    @Test func `a feature ends at its own end, not with its period`() async throws {
        let backend = RemoteBackend()
        for till in [50, 150] as [TimeInterval] {
            let (plugin, _) = try await backend.plugin([
                backend.features(backend.feature("pro", till: till, subscription: backend.first)),
                backend.subscriptions(backend.subscription(backend.first)),
            ])
            let paid = try await plugin.getPaidFeatures()
            #expect(paid.hasActiveFeature(with: "pro", at: backend.date(till - 1)))
            #expect(!paid.hasActiveFeature(with: "pro", at: backend.date(till)))
        }
    }

    @Test func `an App Store purchase that the device also reports counts once, with the server's values`() async throws
    {
        let backend = RemoteBackend()
        let device = PaidFeature(name: "pro", originalTransactionID: "2000000123")
        let tags: [JSONValue] = ["source:appStore", "originalTransactionID:2000000123"]
        let (plugin, _) = try await backend.plugin(
            [
                backend.features(backend.feature("pro", till: -5, subscription: backend.first)),
                backend.subscriptions(backend.subscription(backend.first, tags: tags)),
            ], user: nil)
        let client = try await PurchaseClient.with(
            StubPlugin("device") { $0.paidFeatures = { PaidFeatures(features: [device]) } }, plugin,
            user: .string("ada"))
        let paid = try await client.getPaidFeatures()
        #expect(paid.features.count == 1)
        #expect(!paid.hasActiveFeature(with: "pro", at: backend.date(0)))
    }
}

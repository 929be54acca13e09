import AppStoreSimulator
import Foundation
import Primitives
import StoreModel
import Testing

@testable import EntitlementServer

/// Subscriptions that a customer bought again in the Play Store, without the app.
@Suite(.onBothEngines) struct PlayResubscriptionTests {
    /// Without an account id, the claim on the expired purchase decides; with one, the id does. Google removes both from
    /// the new purchase with its acknowledgement.
    @Test(arguments: [nil, "anna", "0D2A6E3F-5C0B-4B57-9C4C-6C1F9F8B7A21"] as [String?])
    func `the customer of the expired purchase has the features, before and after the acknowledgement`(
        account: String?
    ) async throws {
        try await PlayBench.with { bench, play in
            let old = try await play.buy("pro.monthly", "monthly") { $0.obfuscatedAccountID = account }
            try await bench.post(old)
            #expect(try await bench.acknowledge().isEmpty)
            _ = try await play.store.perform(.cancel, onPlayPurchase: old.purchaseToken)
            try await bench.advance(.init(value: 2, unit: .month))
            try await bench.poll()
            #expect(try await bench.bench.get("anna").active() == [])

            let again = try await play.store.playResubscribe(old.purchaseToken).purchaseToken
            try await bench.notify(again)
            #expect(try await bench.bench.get("anna").active() == ["pro"])
            #expect(try await bench.acknowledge().isEmpty)
            #expect(try await play.store.playPurchase(again).isAcknowledged)
            #expect(try await bench.bench.get("anna").active() == ["pro"])

            // The next fetches have no context.
            try await bench.notify(again)
            #expect(try await bench.bench.get("anna").active() == ["pro"])
            try await bench.advance(.init(value: 1, unit: .month))
            try await bench.poll()
            let customer = try await bench.bench.get("anna").customer()
            #expect(customer.subscriptions.map(\.state) == [.expired, .active])
            #expect(customer.features.filter(\.isActive).map(\.name) == ["pro"])
            #expect(try differences(bench) == [])
        }
    }

    @Test func `the customer who got the expired purchase by a transfer gets the new one`() async throws {
        try await PlayBench.with { bench, play in
            let old = try await play.buy("pro.monthly", "monthly")
            try await bench.post(old)
            try await bench.post(old, for: "ben")
            #expect(try await bench.acknowledge().isEmpty)
            _ = try await play.store.refundPlayPurchase(old.purchaseToken, .init())
            try await bench.notify(old.purchaseToken)
            try await bench.notify(try await play.store.playResubscribe(old.purchaseToken).purchaseToken)
            #expect(try await bench.bench.get("anna").active() == [])
            #expect(try await bench.bench.get("ben").active() == ["pro"])
            #expect(try differences(bench) == [])
        }
    }

    @Test func `the customer whom the account names has priority over the one who had the expired purchase`()
        async throws
    {
        try await PlayBench.with { bench, play in
            let owner = "0d2a6e3f-5c0b-4b57-9c4c-6c1f9f8b7a21"
            let old = try await play.buy("pro.monthly", "monthly") { $0.obfuscatedAccountID = owner }
            try await bench.post(old)
            #expect(try await bench.acknowledge().isEmpty)
            #expect(try await bench.bench.get("anna").active() == ["pro"])
            _ = try await play.store.refundPlayPurchase(old.purchaseToken, .init())
            try await bench.notify(old.purchaseToken)
            // Another purchase makes the owner of the account known.
            try await bench.post(try await play.buy("tools"), for: owner)
            try await bench.notify(try await play.store.playResubscribe(old.purchaseToken).purchaseToken)
            #expect(try await bench.bench.get("anna").active() == [])
            #expect(try await bench.bench.get(owner).active() == ["pro", "tools"])
            #expect(try differences(bench) == [])
        }
    }

    private func differences(_ bench: PlayBench) throws -> [LedgerReplay.Difference] {
        try LedgerReplay(
            database: bench.bench.database,
            apps: [.init(bundleID: ServerBench.app, features: ServerBench.map), .init(bundleID: ServerBench.otherApp)],
            clock: bench.play.store.clock
        ).run().differences
    }
}

import BaseTestSupport
import Foundation
import HTTPCore
import Purchases
import SignedData
import StoreModel
import StoreTestSupport
import Testing

@testable import InAppStore

/// A local verifier replaces an unreachable server, but acknowledges nothing.
@Suite(.timeLimit(.minutes(2)))
struct ProvisionalPurchaseTests {
    private let test = StoreTestContext()
    private let day: TimeInterval = 86400

    /// Accepts every transaction of the scripted store as one of `product`.
    private struct AcceptingVerifier: TransactionVerifier {
        var product: ProductID = "pack"
        var kind = ProductType.nonConsumable
        var expires: Date?

        func verify(_ signedTransaction: String) async throws -> VerifiedTransaction {
            VerifiedTransaction(
                id: TransactionID(rawValue: String(signedTransaction.split(separator: ".").last ?? "")),
                productID: product, kind: kind, purchaseDate: Fixture.start, expiresDate: expires)
        }
    }

    private struct RejectingVerifier: TransactionVerifier {
        struct Untrue: Error {}
        func verify(_ signedTransaction: String) async throws -> VerifiedTransaction { throw Untrue() }
    }

    private func open(_ verifier: any TransactionVerifier) async throws -> Store {
        var configuration = test.configuration()
        configuration.localVerifier = verifier
        return try await test.open(configuration)
    }

    /// Opens a store on the same device, as after a restart.
    private func relaunch(_ verifier: any TransactionVerifier) async throws -> Store {
        var configuration = test.configuration()
        configuration.localVerifier = verifier
        configuration.connection = test.connection.reconnected()
        return try await test.open(configuration)
    }

    // MARK: - Access

    @Test func `a verified purchase is allowed, and unfinished until the server has acknowledged it`()
        async throws
    {
        try await RealWorld.run { world in
            let network = DeviceNetwork()
            var configuration = world.configuration(network: network, storage: MemorySecureStorage())
            let root = try Data(contentsOf: URL(fileURLWithPath: world.simulator.summary.rootCertificate))
            configuration.localVerifier = SignedDataVerifier(
                configuration: .init(
                    bundleIDs: [world.simulator.summary.bundleID], environments: [.sandbox],
                    trustAnchors: try TrustAnchor.certificates(in: Array(root))))
            let store = try Store(configuration: configuration)
            try await store.validateReceipt()
            network.cut([.server])
            let answer = await InAppStorePurchasePlugin(store: store).purchase(
                Product(productIdentifier: "pack"), with: nil)
            guard case .success(let bought) = answer else {
                Issue.record("nothing was bought: \(answer)")
                return await store.close()
            }
            #expect(bought.isPendingAcknowledgement)
            #expect(store.allowedProducts == ["pack"])
            try await store.purchaseProduct("pro.weekly")
            #expect(store.subscriptionInfo?.isExpired == false)
            try await store.purchaseProduct("film.noir")
            await #expect(throws: PurchaseError(.acknowledgementPending, "")) {
                try await store.purchaseConsumableProduct("coins", quantity: 1)
            }
            #expect(try await world.simulator.unfinishedTransactions(of: "ada").count == 3)
            network.mend([.server])
            try await world.settle(deviceIsOnline: true)
            #expect(await store.reaches { _ in store.coordinator.state.provisional.isEmpty } != nil)
            #expect(store.allowedProducts == ["pack", "film.noir"], "The server must have acknowledged the purchase.")
            await store.close()
        }
    }

    @Test func `a purchase that fails the verification waits for the server`() async throws {
        test.breakServer()
        let store = try await open(RejectingVerifier())
        await #expect(throws: PurchaseError(.acknowledgementPending, "")) { try await store.purchaseProduct("pack") }
        #expect(store.allowedProducts.isEmpty)
        await store.close()
    }

    @Test func `the local verifier is not used while the server answers`() async throws {
        let store = try await open(RejectingVerifier())
        test.server.judge { transactions, customer in
            TransactionValidation(
                customer: Fixture.customer(customer, purchases: [Fixture.purchase("pack")]),
                acknowledged: Set(transactions.map(\.id)))
        }
        try await store.purchaseProduct("pack")
        #expect(store.coordinator.state.provisional.isEmpty)
        await store.close()
    }

    // MARK: - Outcomes

    @Test func `a provisional purchase ends when the server rejects it`() async throws {
        test.breakServer()
        let first = try await open(AcceptingVerifier())
        try await first.purchaseProduct("pack")
        #expect(first.allowedProducts == ["pack"])
        #expect(test.connection.finished.isEmpty)
        await first.close()
        test.setAnswer(Fixture.customer())
        test.server.judge { transactions, customer in
            TransactionValidation(
                customer: Fixture.customer(customer), acknowledged: [],
                rejected: transactions.indices.map {
                    RejectedTransaction(index: $0, code: "invalid_signature", detail: "No.", retryable: false)
                })
        }
        let second = try await relaunch(AcceptingVerifier())
        #expect(await second.reaches { $0.allowedProducts.isEmpty } != nil)
        await second.close()
        #expect(test.connection.finished.isEmpty)
        test.breakServer()
        let third = try await relaunch(AcceptingVerifier())
        #expect(third.allowedProducts.isEmpty, "The rejection must be stored.")
        await third.close()
    }

    @Test func `a provisional purchase ends with the offline time to live, also across restarts`() async throws {
        test.breakServer()
        let first = try await open(AcceptingVerifier())
        try await first.purchaseProduct("pack")
        await first.close()
        test.clock.advance(by: 59 * day)
        let second = try await relaunch(AcceptingVerifier())
        #expect(second.allowedProducts == ["pack"])
        test.clock.advance(by: day)
        #expect(await second.reaches { $0.allowedProducts.isEmpty } != nil)
        await second.close()
        let third = try await relaunch(AcceptingVerifier())
        #expect(third.allowedProducts.isEmpty)
        await third.close()
    }

    @Test func `a provisional subscription ends at its expiry, without a grace period`() async throws {
        test.breakServer()
        let store = try await open(
            AcceptingVerifier(
                product: "pro.monthly", kind: .autoRenewableSubscription, expires: Fixture.start + Fixture.month))
        try await store.purchaseProduct("pro.monthly")
        #expect(store.subscriptionInfo?.isExpired == false)
        test.clock.advance(by: Fixture.month)
        #expect(store.subscriptionInfo?.isExpired == true)
        await store.close()
    }

    // MARK: - Verification

    @Test(arguments: [
        VerifiedTransaction(id: "8", productID: "pack", kind: .nonConsumable, purchaseDate: Fixture.start),
        .init(id: "7", productID: "lens.macro", kind: .nonConsumable, purchaseDate: Fixture.start),
        .init(id: "7", productID: "pack", kind: .consumable, purchaseDate: Fixture.start),
        .init(id: "7", productID: "pack", kind: .nonConsumable, purchaseDate: nil),
        .init(id: "7", productID: "pack", kind: nil, purchaseDate: Fixture.start),
        .init(id: "7", productID: "pack", kind: .autoRenewableSubscription, purchaseDate: Fixture.start),
        .init(
            id: "7", productID: "pack", kind: .nonConsumable, purchaseDate: Fixture.start, appAccountToken: UUID()),
        .init(
            id: "7", productID: "pack", kind: .nonConsumable, purchaseDate: Fixture.start,
            revocationDate: Fixture.start),
        .init(id: "7", productID: "pack", kind: .nonConsumable, purchaseDate: Fixture.start, isUpgraded: true),
    ])
    func `a signed transaction without lasting access for this customer is not a provisional purchase`(
        verified: VerifiedTransaction
    ) {
        let transaction = ScriptedStoreConnection.transaction("7", "pack")
        #expect(ProvisionalPurchase(verified, of: transaction, for: "anna", at: Fixture.start) == nil)
    }
}

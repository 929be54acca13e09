import ContractSuites
import Foundation
import HTTPCore
import NetworkTestSupport
import SignedData
import StoreKitAdapter
import StoreModel
import Testing

@testable import AppStoreSimulator

@Suite(.timeLimit(.minutes(2)))
struct StoreConnectionContractTests {
    private static let account: AccountName = "contract"

    private func verify(
        _ test: TestStore, connect: @escaping @Sendable () async throws -> any StoreConnection
    ) async throws {
        try await test.store.createAccount(Self.account)
        var contract = StoreConnectionContract(pack: "pack", coins: "coins", connect: connect)
        contract.subscriptions = ("monthly", "paygo")
        contract.promotionalOffer = "half"
        contract.controls = try controls(of: test.store)
        #expect(try await contract.verify() == [], "The simulator must support every part of the contract.")
        await test.store.close()
    }

    private func controls(of store: SimulatedAppStore) throws -> StoreControls {
        let account = Self.account
        var controls = StoreControls()
        controls.advance = { period in _ = try await store.advance(.init(period: period)) }
        controls.cancel = { product in _ = try await store.cancel(product, for: account) }
        controls.approve = { payment in _ = try await store.answerAskToBuy(try store.held(payment), .approve) }
        controls.decline = { payment in _ = try await store.answerAskToBuy(try store.held(payment), .decline) }
        controls.refund = { transaction in _ = try await store.refund(transaction) }
        controls.reverseRefund = { transaction in _ = try await store.reverseRefund(transaction) }
        controls.failBilling = { product in _ = try await store.failBilling(product, for: account) }
        controls.resolveBilling = { product in _ = try await store.resolveBilling(product, for: account) }
        controls.raisePrice = { product in _ = try await store.increasePrice(of: product, .init(price: "3.99")) }
        controls.promote = { product in try await store.promote(.init(productID: product), for: account) }
        controls.setMayPay = { mayPay in try await store.change(account, .init(canMakePayments: mayPay)) }
        controls.moveAbroad = {
            try await store.change(account, .init(storefront: "DEU"))
            return try #require(Storefronts.storefront("DEU"))
        }
        controls.makeOfferCode = { _ in "spring" }
        let key = store.summary.serverAPI
        let signingKey = try SigningKey(Array(Data(contentsOf: URL(fileURLWithPath: key.privateKey))))
        controls.signOffer = { product, offer, customer in
            let subject = PromotionalOffer(
                bundleID: store.configuration.bundleID, productID: product, offerID: offer, appAccountToken: customer)
            let signed = try PromotionalOfferSignature.sign(
                subject, key: signingKey, keyID: key.keyID, nonce: UUID(), at: store.virtualClock.now())
            return OfferSignature(
                keyID: signed.keyID, nonce: signed.nonce, timestamp: signed.timestamp, signature: signed.signature)
        }
        return controls
    }

    @Test func `a device in the same process passes the contract`() async throws {
        let test = try await TestStore.open()
        let store = test.store
        try await verify(test) { try await store.connection(account: Self.account) }
    }

    @Test func `a device over HTTP passes the contract`() async throws {
        let test = try await TestStore.open()
        let transport = InProcessTransport(test.store.handler)
        try await verify(test) {
            RemoteStoreConnection(
                configuration: .init(url: "http://store.test", account: Self.account.rawValue, transport: transport))
        }
    }

    @Test func `a device at the other end of a socket passes the contract`() async throws {
        let test = try await TestStore.open()
        try await withLoopbackServer(test.store.handler) { url in
            let transport = loopbackTransport()
            try await verify(test) {
                RemoteStoreConnection(
                    configuration: .init(url: url, account: Self.account.rawValue, transport: transport))
            }
        }
    }
}

extension SimulatedAppStore {
    /// Returns the id of the waiting order of a payment.
    fileprivate func held(_ payment: Payment) throws -> TransactionID {
        let held = try database.read { sql in
            let db = SimulatorDatabase(sql)
            return try db.heldOrder(payment.id, of: try db.existingAccount("contract").id)
        }
        return TransactionID(unchecked: "\(try #require(held).number)")
    }
}

import HTTPCore
import StoreKitAdapter
import StoreModel
import StoreTestSupport
import Testing

@testable import AppStoreSimulator

@Suite(.timeLimit(.minutes(2)))
struct StoreConnectionContractTests {
    /// What the simulator cannot do yet; a part that it can do and that stands here fails.
    private static let leftOut = [
        "promotional offers", "billing failure", "price increase", "offer codes", "ask to buy", "refund",
        "payments switched off", "storefront",
    ]

    private func verify(
        _ test: TestStore, connect: @escaping @Sendable () async throws -> any StoreConnection
    ) async throws {
        let store = test.store
        try await store.createAccount("contract")
        var contract = StoreConnectionContract(pack: "pack", coins: "coins", connect: connect)
        contract.subscriptions = ("monthly", "paygo")
        contract.promotionalOffer = "half"
        contract.controls.advance = { period in _ = try await store.advance(.init(period: period)) }
        contract.controls.cancel = { product in _ = try await store.cancel(product, for: "contract") }
        #expect(try await contract.verify() == Self.leftOut)
        await store.close()
    }

    @Test func `a device in the same process keeps the contract`() async throws {
        let test = try await TestStore.open()
        let store = test.store
        try await verify(test) { try await store.connection(account: "contract") }
    }

    @Test func `a device over HTTP keeps the contract`() async throws {
        let test = try await TestStore.open()
        let transport = InProcessTransport(test.store.handler)
        try await verify(test) {
            RemoteStoreConnection(
                configuration: .init(url: "http://store", account: "contract", transport: transport))
        }
    }
}

import HTTPCore
import StoreKitAdapter
import StoreModel
import StoreTestSupport
import Testing

@testable import AppStoreSimulator

@Suite(.timeLimit(.minutes(2)))
struct StoreConnectionContractTests {
    @Test func `a device in the same process keeps the contract`() async throws {
        let test = try await TestStore.open()
        try await test.store.createAccount("contract")
        let store = test.store
        try await StoreConnectionContract(pack: "pack", coins: "coins") {
            try await store.connection(account: "contract")
        }.verify()
        await store.close()
    }

    @Test func `a device over HTTP keeps the contract`() async throws {
        let test = try await TestStore.open()
        try await test.store.createAccount("contract")
        let transport = InProcessTransport(test.store.handler)
        try await StoreConnectionContract(pack: "pack", coins: "coins") {
            RemoteStoreConnection(
                configuration: .init(url: "http://store", account: "contract", transport: transport))
        }.verify()
        await test.store.close()
    }
}

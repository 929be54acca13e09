import BaseTestSupport
import InAppStore
import Testing

/// Code that uses the earlier public names.
@Suite struct SeedNamesTests {
    private let test = StoreTestContext(Fixture.customer())

    /// Uses each of the earlier names. If one is missing, this does not compile.
    private func open(_ configuration: BZRStoreConfiguration) throws -> BZRStore {
        try BZRStore(configuration: configuration)
    }
    private func allowed(_ provider: any BZRProductsInfoProvider) -> Set<String> { provider.allowedProducts }
    private func receiptIsAsked(_ manager: any BZRProductsManager) async throws { try await manager.validateReceipt() }

    @Test func `the earlier public names still compile`() async throws {
        #expect(BZRStore.self == Store.self)
        #expect(BZRStoreConfiguration.self == StoreConfiguration.self)
        let store = try open(test.configuration())
        #expect(allowed(store).isEmpty)
        try await receiptIsAsked(store)
        await store.close()
    }
}

import CurlTransport
import Purchases
import Testing

/// The first example of Documentation/RemotePlugin.md.
@Suite struct RemoteChapterTests {
    @Test func `setup sends no request to the backend`() async throws {
        let client = PurchaseClient()
        let store = StubPlugin("store")
        let remote = RemotePurchasePlugin(
            configuration: .init(baseURL: "https://purchases.example.com", key: "pk_…"), transport: CurlTransport())
        try await client.setup(with: [store, remote], appUserId: .string("customer-1042"))
        #expect(client.userId == .string("customer-1042"))
        await client.close()
    }
}

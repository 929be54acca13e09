import CurlTransport
import Purchases
import Testing

/// The first example of Documentation/RemotePlugin.md.
@Suite struct RemoteChapterTests {
    @Test func `setting the client up asks the backend nothing`() async throws {
        let client = PurchaseClient()
        let store = StubPlugin("store")
        let remote = RemotePurchasePlugin(
            configuration: .init(baseURL: "https://purchases.example.com", key: "pk_…"), transport: CurlTransport())
        try await client.setup(with: [store, remote], appUserId: .string("customer-1042"))
        #expect(client.userId == .string("customer-1042"))
        await client.close()
    }
}

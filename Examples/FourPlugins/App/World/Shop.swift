import InAppStore
import Purchases
import SandboxTestSupport

/// The app's store and purchase client, with an App Store simulator and an entitlement server in the same process.
struct Shop: Sendable {
    let store: Store
    let client: PurchaseClient
    private let sandbox: Sandbox

    /// Opens a shop with the products of `catalogue`.
    static func open(catalogue: String) async throws -> Shop {
        let sandbox = try await Sandbox.open(catalogue: catalogue)
        let store = try await sandbox.launch(customer: "ada", account: "ada")
        let client = PurchaseClient()
        try await client.setup(with: [InAppStorePurchasePlugin(store: store)], appUserId: .string("ada"))
        return Shop(store: store, client: client, sandbox: sandbox)
    }

    func close() async {
        await client.close()
        await store.close()
        await sandbox.close()
    }
}

import Foundation
import HTTPCore
import Primitives
import Purchases
import StoreKitAdapter
import StoreModel

/// What a store is made of. The one-argument initialiser suits most apps; every collaborator can be replaced.
///
/// What is left `nil` is made when the store is, from the environment: `SOUK_STORE_URL` (where the App Store simulator
/// listens; `SOUK_STORE_ACCOUNT` names the account, `default` without it), `SOUK_SERVER_URL` and `SOUK_PUBLIC_KEY` (the
/// entitlement server and the app's public key there). On Apple platforms the App Store is the store when no simulator is
/// named; visionOS has to be told where purchases are confirmed, so there the connection is to be given.
///
///     let store = try Store(configuration: StoreConfiguration(productListPath: "products.json"))
public struct StoreConfiguration: Sendable {
    /// The product list's file (seed 001's JSON).
    public var productListPath: String
    /// Takes the place of the file when set.
    public var productList: ProductList?
    public var connection: (any StoreConnection)?
    public var validator: (any ReceiptValidator)?
    public var storage: (any SecureStorage)?
    /// Tells stores apart that would use the same storage: a second one is refused while the first lives.
    public var storageName: String
    /// Who uses the app; `nil` until somebody logs in, and then an anonymous customer made once and kept.
    public var customer: CustomerID?
    public var clock: any WallClock
    public var environment: [String: String]
    public var transport: (any HTTPTransport)?
    /// How long a subscription outlives its expiry while the server cannot be asked; production only.
    public var gracePeriod: Duration
    /// After how long the server is asked again though nothing is known to have changed.
    public var validationInterval: Duration
    /// How the payment queue names payments, waits and paces its retries.
    public var makePaymentID: @Sendable () -> PaymentID
    public var sleep: @Sendable (Duration) async throws -> Void
    public var retryPause: @Sendable (Int) -> Duration

    public init(productListPath: String) {
        self.productListPath = productListPath
        clock = SystemClock()
        environment = ProcessInfo.processInfo.environment
        storageName = "default"
        gracePeriod = .seconds(7 * 86400)
        validationInterval = .seconds(14 * 86400)
        makePaymentID = { PaymentID(UUID()) }
        sleep = { try await Task.sleep(for: $0) }
        retryPause = { .milliseconds(250 << min($0 - 1, 10)) }
    }

    func resolvedProductList() throws -> ProductList { try productList ?? ProductList(contentsOf: productListPath) }

    func resolvedConnection() throws -> any StoreConnection {
        if let connection { return connection }
        #if canImport(StoreKit) && !os(visionOS)
            // A simulator may take the App Store's place there too.
            if environment["SOUK_STORE_URL"] == nil {
                return StoreKitConnection(configuration: .init(storage: try resolvedStorage()))
            }
        #endif
        return RemoteStoreConnection(
            configuration: .init(
                url: try setting("SOUK_STORE_URL", "where the App Store simulator listens"),
                account: environment["SOUK_STORE_ACCOUNT"] ?? "default", transport: resolvedTransport, sleep: sleep))
    }

    func resolvedValidator() throws -> any ReceiptValidator {
        if let validator { return validator }
        return EntitlementServiceClient(
            configuration: .init(
                baseURL: try setting("SOUK_SERVER_URL", "where the entitlement server listens"),
                key: APIKey(try setting("SOUK_PUBLIC_KEY", "the app's public key at the entitlement server"))),
            transport: resolvedTransport)
    }

    func resolvedStorage() throws -> any SecureStorage {
        if let storage { return storage }
        let folder = FileManager.default.urls(for: .applicationSupportDirectory, in: .userDomainMask).first
        let directory = (folder?.path ?? NSHomeDirectory()) + "/Souk/\(storageName)"
        return try FileSecureStorage(directory: directory)
    }

    private var resolvedTransport: any HTTPTransport { transport ?? URLSessionTransport() }

    private func setting(_ name: String, _ meaning: String) throws -> String {
        guard let value = environment[name], !value.isEmpty else {
            throw StoreError(
                .missingSetting, "Set \(name) to \(meaning), or give the store configuration its collaborator.")
        }
        return value
    }
}

extension Duration {
    var inSeconds: TimeInterval { Double(components.seconds) + Double(components.attoseconds) / 1e18 }
}

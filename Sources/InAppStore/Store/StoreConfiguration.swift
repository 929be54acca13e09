import Foundation
import HTTPCore
import Primitives
import Purchases
import StoreKitAdapter
import StoreModel

/// The settings and parts of a store. The initialiser with one argument suits most apps; every part can be replaced.
///
/// The store creates each required part that is `nil`, and uses the other parts for it. For example, the default
/// validator uses the transport that you set. An app names its entitlement server in code (`serverURLs`, `publicKey`)
/// or in its `Info.plist` (`SoukServerURL`, `SoukPublicKey`). Programs and tests can name it in the environment
/// (`SOUK_SERVER_URL`, `SOUK_PUBLIC_KEY`), which takes precedence over `Info.plist`, but not over code.
/// `SOUK_STORE_URL` is the URL of the App Store simulator, and `SOUK_STORE_ACCOUNT` the account there (`default` if it
/// is not set). On Apple platforms, the App Store is used if no simulator is named.
///
///     let store = try Store(configuration: StoreConfiguration(productListPath: "products.json"))
public struct StoreConfiguration: Sendable {
    /// The path of the product list, a JSON document (Documentation/ProductList.md). A relative path is looked up among
    /// the resources of `bundle`, then in the current folder.
    public var productListPath: String
    /// The product list; replaces the file.
    public var productList: ProductList?

    /// Decrypts the product list, if it is encrypted (`souk catalog encrypt`).
    public var productListDecryptor: (any ProductListDecryptor)?
    /// Selects the variant of a product that is sold in its place.
    public var variantSelector: VariantSelector

    /// The connection to the store that sells.
    public var connection: (any StoreConnection)?
    /// Fetches products from the connection and caches them. Set it to share one cache with other code.
    public var products: ProductRequest?
    /// The base URL of the entitlement server, followed by the URLs to use if it does not answer. In `SOUK_SERVER_URL`
    /// and `SoukServerURL`, commas separate several URLs.
    public var serverURLs: [String] = []
    /// The app's public key at the entitlement server. It is meant to be in the app. With it, a program can read a
    /// customer only by the customer's id; the server can also require a `customerToken`.
    public var publicKey: APIKey?
    /// Validates purchases: by default a client of the entitlement server.
    public var validator: (any ReceiptValidator)?
    /// Verifies transactions on the device while the validator is unreachable. An accepted transaction gives
    /// provisional access until the validator decides, and no longer than `offlineTimeToLive`. Without a local
    /// verifier, a purchase waits for the validator.
    public var localVerifier: (any TransactionVerifier)?
    /// Manages the credit that consumables add: by default the validator if it supports credit, as the client of the
    /// entitlement server does.
    public var credits: (any CreditService)?
    /// Signs promotional offers: by default the validator if it supports offers, as the client of the entitlement
    /// server does, and if `customerToken` is set, which that server requires.
    public var offers: (any OfferService)?
    /// Stores the content of products on the device: by default a `ContentLibrary` in `contentFolder`.
    public var contentManager: (any ContentManager)?
    /// The folder of the default `contentManager`: by default the folder of `storageName` with `.content` appended.
    public var contentFolder: String?
    /// Unpacks archives for the default `contentManager`: by default `SystemZipExtractor` on Apple platforms. Elsewhere
    /// there is no default: archives are `unsupported` unless you set one, such as `ZipExtractor` of `ZipExtraction`.
    public var archiveExtractor: (any ArchiveExtractor)?
    /// Additional content fetchers. They take precedence over the default fetchers with the same `type`.
    public var contentFetchers: [any ContentFetcher] = []
    /// Stores the state: by default the Keychain on Apple platforms, elsewhere the folder of `storageName`. The store
    /// locks the storage while it exists, if the storage supports locks.
    public var storage: (any SecureStorage)?
    /// Distinguishes stores that would use the same storage: a second store with the same name is refused while the
    /// first one exists. It is an absolute path, or a folder name in `Souk` in the user's Application Support folder.
    public var storageName: String
    /// The storage in which this app and its sibling apps share their subscriptions: on Apple platforms
    /// `KeychainStorage` with a common access group, elsewhere a folder. `nil` shares nothing. See
    /// `SharedUserInfoReader`.
    public var sharedStorage: (any SecureStorage)?
    /// The bundle id under which this app shares its subscriptions: by default its own.
    public var application: BundleID?
    /// The sibling apps whose subscriptions may give access in this app.
    public var bundledApplications: Set<BundleID> = []
    /// Decides which subscriptions of the siblings give access in this app. Without a classifier, none of them gives
    /// access.
    public var multiAppSubscriptionClassifier: (any MultiAppSubscriptionClassifier)?

    /// The transport of the default `connection`, `validator` and `contentManager`. `nil` is `URLSession` on Apple
    /// platforms; elsewhere there is no default, and `CurlTransport()` is recommended.
    public var transport: (any HTTPTransport)?
    /// The environment variables that name the servers: by default those of the process.
    public var environment: [String: String]
    /// The bundle that contains the product list, and whose `Info.plist` names the entitlement server: by default the
    /// app's own.
    public var bundle: Bundle

    /// Receives each event of the store at once, on any thread, as a log entry: by default `LogEntry.systemLog()`.
    /// `nil` disables the log.
    public var log: (@Sendable (LogEntry) -> Void)? = LogEntry.systemLog()

    /// Returns the answer to a promoted purchase; see `PromotedPurchaseAnswer`. It is called for each promoted purchase
    /// of a listed product, one at a time. Promoted purchases of other products are refused.
    public var promotedPurchases:
        @Sendable (PromotedPurchase, ListedProduct, StoreSnapshot) async -> PromotedPurchaseAnswer

    /// The customer who is logged in when the store is created. With `nil`, it is the anonymous customer of this
    /// device, which is created once and kept.
    public var customer: CustomerID?
    /// Returns the customer's token, for servers that require it: see
    /// `EntitlementServiceClient.Configuration.customerToken`.
    public var customerToken: (@Sendable (CustomerID) async throws -> String?)?

    /// The time for which a subscription gives access after its expiry while the server's answer is outdated, for
    /// example because the server is unreachable. Applies to production only.
    public var gracePeriod: Duration
    /// The time after which the answer is requested from the server again, even without a known change.
    public var validationInterval: Duration
    /// `validationInterval` outside production, where subscriptions last for minutes. Applies during a subscription.
    public var sandboxValidationInterval: Duration
    /// The longest time without the server in which a subscription can have a grace period, counted from the first
    /// failed request. A subscription that has not expired keeps its access. The duration also limits provisional
    /// access, counted from the first verification on the device.
    public var offlineTimeToLive: Duration

    /// The clock for subscriptions. Setting it back extends nothing: time continues from the latest known instant.
    public var clock: any WallClock
    /// Waits for a duration, or throws if the task is cancelled. The store, the payment queue and the default parts use it.
    public var sleep: @Sendable (Duration) async throws -> Void
    /// Returns the pause before retry 1, 2, … of a delivery or a finish.
    public var retryPause: @Sendable (Int) -> Duration
    /// Returns a number from 0 to 1, which varies the pauses between the retries of the default validator and fetcher.
    public var random: @Sendable () -> Double
    /// Creates the id of a payment. Each call must return another id.
    public var makePaymentID: @Sendable () -> PaymentID

    /// Creates a configuration whose product list is a file, for example among the app's resources, and whose server is
    /// named in `Info.plist` or in the environment.
    ///
    /// - Parameter productListPath: The path of the product list.
    public init(productListPath: String) {
        self.productListPath = productListPath
        bundle = .main
        clock = SystemClock()
        application = Bundle.main.bundleIdentifier.flatMap(BundleID.init(rawValue:))
        environment = ProcessInfo.processInfo.environment
        storageName = "default"
        variantSelector = .base
        promotedPurchases = { PromotedPurchaseAnswer.unlessOwned($0, of: $1, knowing: $2) }
        gracePeriod = .seconds(7 * 86400)
        validationInterval = .seconds(14 * 86400)
        sandboxValidationInterval = .seconds(150)
        offlineTimeToLive = .seconds(60 * 86400)
        makePaymentID = { PaymentID(UUID()) }
        sleep = { try await Task.sleep(for: $0) }
        random = { .random(in: 0...1) }
        retryPause = { .milliseconds(250 << min($0 - 1, 10)) }
    }

    /// Creates a configuration in code.
    ///
    ///     let configuration = StoreConfiguration(
    ///         productList: ProductList([ListedProduct(id: "pack", productType: .nonConsumable)]),
    ///         serverURL: "https://purchases.example.com", publicKey: "souk_public_…")
    ///
    /// - Parameters:
    ///   - productList: The products that the app sells.
    ///   - serverURL: The base URL of the entitlement server, `http` or `https`.
    ///   - publicKey: The key that `souk keys create --kind public` prints.
    public init(productList: ProductList, serverURL: String, publicKey: APIKey) {
        self.init(productListPath: "")
        self.productList = productList
        self.serverURLs = [serverURL]
        self.publicKey = publicKey
    }
}

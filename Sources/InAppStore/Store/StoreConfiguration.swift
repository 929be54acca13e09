import Foundation
import HTTPCore
import Primitives
import Purchases
import StoreKitAdapter
import StoreModel

/// What a store is made of. The one-argument initialiser suits most apps; every collaborator can be replaced.
///
/// What is left `nil` is made when the store is, out of the others: a replaced transport or connection is used by
/// everything that would have used the default. An app names its entitlement server in code (`serverURLs`, `publicKey`) or
/// in its `Info.plist` (`SoukServerURL`, `SoukPublicKey`). Programs and tests can name it in the environment
/// (`SOUK_SERVER_URL`, `SOUK_PUBLIC_KEY`), which comes before `Info.plist` and after the code. `SOUK_STORE_URL` is where
/// the App Store simulator listens, and `SOUK_STORE_ACCOUNT` names the account there, `default` without it. On Apple
/// platforms the App Store is the store when no simulator is named.
///
///     let store = try Store(configuration: StoreConfiguration(productListPath: "products.json"))
public struct StoreConfiguration: Sendable {
    /// The product list's file, a JSON document (Documentation/InAppStore.md). A relative path is looked up among the
    /// resources of `bundle`, and then in the current folder.
    public var productListPath: String
    /// Takes the place of the file when set.
    public var productList: ProductList?

    /// Opens the list's file when it is encrypted (`souk catalog encrypt`).
    public var productListDecryptor: (any ProductListDecryptor)?
    /// Which variant of a product is sold in its place.
    public var variantSelector: VariantSelector

    /// Where things are bought.
    public var connection: (any StoreConnection)?
    /// Asks the connection about products and remembers the answers; give one to share it with others.
    public var products: ProductRequest?
    /// Where the entitlement server listens: its base URL, and those that are asked when it does not answer.
    public var serverURLs: [String] = []
    /// The app's public key at the entitlement server. It may be in the app: it lets it ask for its own customer only.
    public var publicKey: APIKey?
    /// Who says what is true: the entitlement server.
    public var validator: (any ReceiptValidator)?
    /// Judges transactions on the device while the validator cannot be asked. What it finds true may be used provisionally:
    /// until the validator judges, and no longer than `offlineTimeToLive`. `nil` waits for the validator.
    public var localVerifier: (any TransactionVerifier)?
    /// Who keeps the credit that consumables fill: the validator when it can, as the entitlement server's client does.
    public var credits: (any CreditService)?
    /// Keeps the content of products on the device: a `ContentLibrary` in `contentFolder`.
    public var contentManager: (any ContentManager)?
    /// Where the default `contentManager` keeps content: the folder of `storageName` with `.content` behind.
    public var contentFolder: String?
    /// Unpacks what the default `contentManager` fetches: `SystemZipExtractor` on Apple's systems. Elsewhere there is no
    /// default, and without one archives are `unsupported`; `ZipExtractor` of `ZipExtraction` is one to take.
    public var archiveExtractor: (any ArchiveExtractor)?
    /// Ways to fetch content besides those that come with the store, or in their place: the first that has a `type` is
    /// used.
    public var contentFetchers: [any ContentFetcher] = []
    /// Where the state is kept: the Keychain on Apple platforms, elsewhere the folder of `storageName`. A storage that can
    /// be claimed is claimed while the store lives.
    public var storage: (any SecureStorage)?
    /// Tells stores apart that would use the same storage: a second one is refused while the first lives. It names a folder
    /// among those of the user's for applications, or is the absolute path of one.
    public var storageName: String
    /// Where this app and its sibling apps tell each other of their subscriptions: on Apple platforms `KeychainStorage` with
    /// an access group of theirs, elsewhere one folder. `nil` tells nobody. See `SharedUserInfoReader`.
    public var sharedStorage: (any SecureStorage)?
    /// Under which bundle identifier this app tells; by default its own.
    public var application: BundleID?
    /// The sibling apps whose subscriptions may count here too.
    public var bundledApplications: Set<BundleID> = []
    /// Which of the siblings' subscriptions count here; without one, none.
    public var multiAppSubscriptionClassifier: (any MultiAppSubscriptionClassifier)?

    /// How the defaults of `connection`, `validator` and `contentManager` send their requests. `nil` is `URLSession` on Apple's
    /// systems; elsewhere there is no default, and `CurlTransport()` is the one to take.
    public var transport: (any HTTPTransport)?
    public var environment: [String: String]
    /// Where the product list is looked up, and whose `Info.plist` names the entitlement server: the app's own.
    public var bundle: Bundle

    /// Gets each of the store's events at once, on any thread, as an entry for a log: by default `LogEntry.systemLog()`.
    /// With `nil` no entry is made.
    public var log: (@Sendable (LogEntry) -> Void)? = LogEntry.systemLog()

    /// What becomes of a purchase that the customer has begun in the App Store; see `PromotedPurchaseAnswer`. It is asked
    /// for each such product of the list, one at a time; what is not in the list is refused.
    public var promotedPurchases:
        @Sendable (PromotedPurchase, ListedProduct, StoreSnapshot) async -> PromotedPurchaseAnswer

    /// Who uses the app; `nil` until somebody logs in, and then an anonymous customer made once and kept.
    public var customer: CustomerID?
    /// The customer's own token, for servers that ask for it: see `EntitlementServiceClient.Configuration.customerToken`.
    public var customerToken: (@Sendable (CustomerID) async throws -> String?)?

    /// How long a subscription outlives its expiry while the server cannot be asked; production only.
    public var gracePeriod: Duration
    /// After how long the server is asked again though nothing is known to have changed.
    public var validationInterval: Duration
    /// The same outside production, where subscriptions live for minutes; it counts while there is a subscription.
    public var sandboxValidationInterval: Duration
    /// For how long the server's last answer may stand in for it, from the first question that failed on. After that a
    /// subscription has no grace any more; what has not expired is never ended.
    public var offlineTimeToLive: Duration

    /// What time it is for subscriptions. Setting it back extends nothing: time then goes on from the latest instant that
    /// is known to have come.
    public var clock: any WallClock
    /// How the store, the payment queue and the defaults wait in real time.
    public var sleep: @Sendable (Duration) async throws -> Void
    /// The pause before attempt 1, 2, … to present or finish a transaction.
    public var retryPause: @Sendable (Int) -> Duration
    /// Spreads the repetitions of the default validator and the default fetcher; from 0 to 1.
    public var random: @Sendable () -> Double
    /// Names payments; never the same twice.
    public var makePaymentID: @Sendable () -> PaymentID

    /// A store whose list is a file, among the app's resources for example, and whose server is named in `Info.plist` or in
    /// the environment.
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
    /// A store of which everything is named in code.
    ///
    ///     let configuration = StoreConfiguration(
    ///         productList: ProductList([ListedProduct(id: "pack", productType: .nonConsumable)]),
    ///         serverURL: "https://purchases.example.com", publicKey: "souk_public_…")
    ///
    /// - Parameters:
    ///   - productList: the products that the app sells.
    ///   - serverURL: the base URL of the entitlement server, `http` or `https`.
    ///   - publicKey: what `souk keys create --kind public` prints.
    public init(productList: ProductList, serverURL: String, publicKey: APIKey) {
        self.init(productListPath: "")
        self.productList = productList
        self.serverURLs = [serverURL]
        self.publicKey = publicKey
    }
}

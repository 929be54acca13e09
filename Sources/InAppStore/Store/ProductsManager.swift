import Purchases
import StoreKitAdapter
import StoreModel

/// What a store can be asked to do. All of it throws `StoreError`, and `ProductRequestError` where products are asked for.
public protocol ProductsManager: Sendable {
    /// Buys one of a product; returns when the purchase is delivered, acknowledged by the server and ready to use.
    ///
    /// A product for subscribers only is acquired without the store, and only while a subscription enables it. Buying a
    /// subscription does not by itself acquire what it enables: see `acquireAllEnabledProducts`.
    /// Throws `acknowledgementPending` when the customer has paid but the server cannot be reached: the purchase is kept
    /// and acknowledged later, by itself.
    func purchaseProduct(_ productIdentifier: String) async throws
    /// Buys 1 to 10 of a consumable.
    func purchaseConsumableProduct(_ productIdentifier: String, quantity: Int) async throws
    /// The same as `restorePurchases`, under the seed's name.
    func refreshReceipt() async throws
    /// Asks the store for everything this customer owns and presents it to the server.
    @discardableResult func restorePurchases() async throws -> RestoreResult
    /// Asks the server what this customer may use now.
    func validateReceipt() async throws
    /// Presents one unfinished transaction again.
    func validateTransaction(_ transactionIdentifier: String) async throws
    /// Acquires all products that the active subscription enables; throws without one.
    func acquireAllEnabledProducts() async throws
    /// Not built yet: the stream ends with `unsupported`.
    func fetchProductContent(_ productIdentifier: String) -> AsyncThrowingStream<ContentProgress, any Error>
    /// Not built yet: throws `unsupported`.
    func deleteProductContent(_ productIdentifier: String) async throws
    /// The products of the list, without discounts, each with what the store says of it.
    func productList() async throws -> [StoreProduct]
    /// What the store says of products in the list, by identifier.
    func fetchProductsInfo(_ productIdentifiers: Set<String>) async throws -> [String: StoreProduct]
    /// Transactions that were acknowledged without anybody waiting for them, such as renewals; one with a
    /// `revocationDate` was taken back.
    var completedTransactions: AsyncStream<StoreTransaction> { get }
}

/// How far a download of a product's content has come, in bytes.
public struct ContentProgress: Sendable, Equatable {
    public var received: Int64
    public var total: Int64?
    /// The folder of the content, once it is complete.
    public var location: String?

    public init(received: Int64, total: Int64? = nil, location: String? = nil) {
        self.received = received
        self.total = total
        self.location = location
    }
}

/// Something that happened in a store and that nobody asked about.
public struct StoreEvent: Sendable, Equatable {
    public struct Kind: RawRepresentable, Hashable, Sendable {
        public let rawValue: String
        public init(rawValue: String) { self.rawValue = rawValue }
        public static let informational = Kind(rawValue: "informational")
        public static let nonCriticalError = Kind(rawValue: "nonCriticalError")
        public static let criticalError = Kind(rawValue: "criticalError")
    }

    public var kind: Kind
    public var code: StoreError.Code
    public var sentence: String
    public var transactionID: TransactionID?

    public init(kind: Kind, code: StoreError.Code, sentence: String, transactionID: TransactionID? = nil) {
        self.kind = kind
        self.code = code
        self.sentence = sentence
        self.transactionID = transactionID
    }
}

extension StoreEvent {
    /// What an app should hear of a completion besides its transaction.
    init?(_ completion: PaymentCompletion) {
        switch completion.event {
        case .purchased, .renewalChanged: return nil
        case .revoked(let transaction):
            self.init(
                kind: .informational, code: .purchaseRevoked,
                sentence: "The store took \(transaction.productID) back.", transactionID: transaction.id)
        case .failed(let failure):
            self.init(
                kind: .informational, code: failure.code == .declined ? .purchaseDeclined : .purchaseFailed,
                sentence: "\(completion.productID) was not bought: \(failure.reason)")
        }
    }
}

import Foundation
import Primitives

/// The client side of a store: what StoreKit is on a device, and what the simulator serves.
///
/// The connection listens from the moment it is made: `updates` first yields what is unfinished, then what happens.
/// Every method ends by the store's answer, by its deadline or by the caller's cancellation.
public protocol StoreConnection: Sendable {
    /// Whether this device may pay at all.
    func canMakePayments() async throws -> Bool
    /// Where the customer shops: prices and languages belong to it.
    func storefront() async throws -> Storefront
    /// The products among `ids` that the store sells, and the ids it does not know.
    func products(_ ids: Set<ProductID>) async throws -> ProductAnswer
    /// Asks the store to take a payment. Returns when the store has accepted the question; the outcome arrives in
    /// `updates` under the payment's id. Asking again with the same `PaymentID` never buys twice.
    func add(_ payment: Payment) async throws
    /// What the store reports, in order, to one consumer: unfinished transactions first.
    var updates: AsyncStream<StoreUpdate> { get }
    /// Tells the store that the purchase was delivered. A finished transaction is not reported again.
    func finish(_ transaction: TransactionID) async throws
    /// The transactions that give this customer access now, freshly signed; empty when there is nothing to restore.
    func restore() async throws -> [StoreTransaction]
    /// The app receipt, where the store has one.
    func receipt() async throws -> [UInt8]?
    /// Stops listening; `updates` ends.
    func close() async
}

/// A country's store.
public struct Storefront: Hashable, Sendable, Codable {
    /// ISO 3166-1 alpha-3, for example `USA`.
    public var countryCode: String
    /// Apple's number of the storefront, for example `143441`.
    public var id: String
    /// The language and region in which names and prices are written, for example `en_US`.
    public var locale: String
    public var currency: String

    public init(countryCode: String, id: String, locale: String, currency: String) {
        self.countryCode = countryCode
        self.id = id
        self.locale = locale
        self.currency = currency
    }
}

/// The store's answer to a question about products.
public struct ProductAnswer: Hashable, Sendable, Codable {
    public var products: [StoreProduct]
    public var invalidProductIDs: [ProductID]

    public init(products: [StoreProduct], invalidProductIDs: [ProductID] = []) {
        self.products = products
        self.invalidProductIDs = invalidProductIDs
    }
}

/// What an app asks the store to sell.
public struct Payment: Hashable, Sendable, Codable {
    public var id: PaymentID
    public var productID: ProductID
    public var quantity: Int
    /// Binds the purchase to a customer; set for every purchase of a known one.
    public var appAccountToken: UUID?
    /// A promotional offer by its identifier.
    public var offerID: String?

    public init(
        id: PaymentID, productID: ProductID, quantity: Int = 1, appAccountToken: UUID? = nil, offerID: String? = nil
    ) {
        self.id = id
        self.productID = productID
        self.quantity = quantity
        self.appAccountToken = appAccountToken
        self.offerID = offerID
    }
}

/// One thing the store reports.
public struct StoreUpdate: Hashable, Sendable {
    /// The payment that this answers; `nil` for what happened by itself or in an earlier run.
    public var paymentID: PaymentID?
    public var productID: ProductID
    public var state: State

    public init(paymentID: PaymentID? = nil, productID: ProductID, state: State) {
        self.paymentID = paymentID
        self.productID = productID
        self.state = state
    }

    /// Closed: the states of a transaction at a store, and the change of how a subscription goes on.
    public enum State: Hashable, Sendable {
        /// The payment is on its way to the store.
        case purchasing
        /// Paid; it must be delivered and finished. `alreadyOwned` when the store gave back an earlier purchase.
        case purchased(StoreTransaction, alreadyOwned: Bool = false)
        /// Waits for somebody's approval; an update with the same payment id follows, perhaps in another run.
        case deferred
        case failed(StoreFailure)
        /// Taken back by the store.
        case revoked(StoreTransaction)
        /// The latest transaction of a subscription with its changed renewal info. There is nothing to finish.
        case renewalChanged(StoreTransaction)
    }
}

/// Why the store did not sell.
public struct StoreFailure: Error, Hashable, Sendable, Codable {
    public var code: Code
    public var reason: String

    public init(code: Code, reason: String) {
        self.code = code
        self.reason = reason
    }

    public struct Code: RawRepresentable, Hashable, Sendable, Codable {
        public let rawValue: String
        public init(rawValue: String) { self.rawValue = rawValue }
        public static let cancelled = Code(rawValue: "cancelled")
        public static let notAllowed = Code(rawValue: "notAllowed")
        public static let invalidProduct = Code(rawValue: "invalidProduct")
        public static let invalidQuantity = Code(rawValue: "invalidQuantity")
        public static let invalidOffer = Code(rawValue: "invalidOffer")
        public static let declined = Code(rawValue: "declined")
        public static let unreachable = Code(rawValue: "unreachable")
        public static let unsupported = Code(rawValue: "unsupported")
        public static let unknown = Code(rawValue: "unknown")
    }
}

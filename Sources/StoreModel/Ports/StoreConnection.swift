import Foundation
import Primitives

/// The client side of a store: what StoreKit is on a device, and what the simulator serves.
///
/// The connection listens from the moment it is made: `updates` first yields what is unfinished, then what happens.
/// Every method ends by the store's answer, by its deadline or by the caller's cancellation, and throws `StoreFailure` or
/// `CancellationError`.
public protocol StoreConnection: Sendable {
    /// Whether this device may pay at all.
    func canMakePayments() async throws -> Bool
    /// Where the customer shops: prices and languages belong to it.
    func storefront() async throws -> Storefront
    /// The storefront of the customer: the one last known, then each one it changes to. Each reading of the property is a
    /// stream of its own, which ends with the connection.
    var storefrontUpdates: AsyncStream<Storefront> { get }
    /// The products among `ids` that the store sells, and the ids it does not know.
    func products(_ ids: Set<ProductID>) async throws -> ProductAnswer
    /// Asks the store to take a payment. Returns when the store has accepted the question; the outcome arrives in
    /// `updates` under the payment's id. Asking again with the same `PaymentID` never buys twice.
    func add(_ payment: Payment) async throws
    /// Redeems an offer code. Returns when the store has taken the code, or its sheet was closed; what the code gave
    /// arrives in `updates` without a payment's id. Throws `unsupported` where the store has no codes.
    func redeem(_ redemption: OfferCodeRedemption) async throws
    /// What the store reports, in order, to one consumer: unfinished transactions first.
    var updates: AsyncStream<StoreUpdate> { get }
    /// What the store wants to tell the customer, such as a price increase: all that is open, again at each change. Each
    /// reading of the property is a stream of its own. Ends at once where the store has nothing to say.
    var messages: AsyncStream<[StoreMessage]> { get }
    /// What the customer has begun to buy in the store itself; nothing is paid yet. To one consumer: of what nobody reads
    /// the newest 100 are kept. Each is told to one device of the customer. Ends at once where the store has no such
    /// purchases.
    var promotedPurchases: AsyncStream<PromotedPurchase> { get }
    /// What the customer said to a message. Throws `unsupported` where the store asks the customer itself.
    func answer(_ message: StoreMessage.ID, with answer: StoreMessage.Answer) async throws
    /// Tells the store that the purchase was delivered. A finished transaction is not reported again.
    func finish(_ transaction: TransactionID) async throws
    /// The transactions that give this customer access now, freshly signed; empty when there is nothing to restore.
    func restore() async throws -> [StoreTransaction]
    /// The app receipt, where the store has one.
    func receipt() async throws -> [UInt8]?
    /// Stops listening; `updates` ends.
    func close() async
}

extension StoreConnection {
    public func redeem(_ redemption: OfferCodeRedemption) async throws {
        throw StoreFailure(code: .unsupported, reason: "This store redeems no offer codes; buy the product itself.")
    }

    public var messages: AsyncStream<[StoreMessage]> { AsyncStream { $0.finish() } }

    public var promotedPurchases: AsyncStream<PromotedPurchase> { AsyncStream { $0.finish() } }

    public func answer(_ message: StoreMessage.ID, with answer: StoreMessage.Answer) async throws {
        throw StoreFailure(
            code: .unsupported, reason: "This store tells its customers itself; there is nothing to answer.")
    }
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

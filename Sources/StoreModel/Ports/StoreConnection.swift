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
    /// The transactions that give this customer access now, freshly signed; empty when there is nothing to restore. The
    /// store may ask the customer to sign in: call it only when they ask for it.
    func restore() async throws -> [StoreTransaction]
    /// The transactions that give this customer access now, as this device knows them. The customer is asked nothing, so an
    /// app may call it at any time. Empty by default.
    func ownedTransactions() async throws -> [StoreTransaction]
    /// The latest state of each subscription that this customer has or had. Throws `unsupported` where the store does not
    /// say.
    func subscriptionStatuses() async throws -> [StoreSubscriptionStatus]
    /// The app receipt, where the store has one.
    func receipt() async throws -> [UInt8]?
    /// How the customer got the app, signed for this device: a JWS of Apple's app transaction. Throws `unsupported` where
    /// the store has none.
    func appTransaction() async throws -> String
    /// Whether this customer may get the introductory offer of a subscription group. Throws `unsupported` where the store
    /// does not say before a purchase.
    func isEligibleForIntroductoryOffer(subscriptionGroupID: String) async throws -> Bool
    /// Shows where the customer cancels or changes subscriptions: those of one group, or all with `nil`. Returns when it
    /// was closed. Throws `unsupported` where the store shows nothing.
    func showManageSubscriptions(subscriptionGroupID: String?) async throws
    /// Lets the customer ask the store for a refund. Returns when they have answered; the refund itself arrives in
    /// `updates`. Throws `unsupported` where the store takes no requests from an app.
    func beginRefundRequest(for transaction: TransactionID) async throws -> RefundRequestStatus
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

    public func ownedTransactions() async throws -> [StoreTransaction] { [] }

    public func subscriptionStatuses() async throws -> [StoreSubscriptionStatus] {
        throw StoreFailure(
            code: .unsupported, reason: "This store does not list subscriptions; ask the entitlement server.")
    }

    public func appTransaction() async throws -> String {
        throw StoreFailure(code: .unsupported, reason: "This store has no app transaction; use the app receipt.")
    }

    public func isEligibleForIntroductoryOffer(subscriptionGroupID: String) async throws -> Bool {
        throw StoreFailure(
            code: .unsupported, reason: "This store decides about introductory offers when it sells, not before.")
    }

    public func showManageSubscriptions(subscriptionGroupID: String?) async throws {
        throw StoreFailure(
            code: .unsupported, reason: "This store shows no page on which subscriptions are managed.")
    }

    public func beginRefundRequest(for transaction: TransactionID) async throws -> RefundRequestStatus {
        throw StoreFailure(
            code: .unsupported, reason: "This store takes no refund requests from an app; ask its support.")
    }
}

/// How a customer's request for a refund ended. It says nothing about the refund itself, which the store decides later
/// (Apple: `Transaction.RefundRequestStatus`).
public struct RefundRequestStatus: RawRepresentable, Hashable, Sendable, Codable {
    public let rawValue: String
    public init(rawValue: String) { self.rawValue = rawValue }
    /// The store has received the request.
    public static let success = RefundRequestStatus(rawValue: "success")
    /// The customer closed the sheet without a request.
    public static let userCancelled = RefundRequestStatus(rawValue: "userCancelled")
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

import Foundation
import Primitives

/// The client side of a store: StoreKit on a device, or a connection to the simulator.
///
/// The connection listens to the store from its creation on. `updates` first has the unfinished transactions, then new
/// events. A call ends when the store answers, when the deadline of the call passes, or when the caller cancels it. A
/// failed call throws `StoreFailure`, and a cancelled call throws `CancellationError`.
public protocol StoreConnection: Sendable {
    /// Returns whether this device can make payments.
    ///
    /// - Returns: `false` if payments are not allowed.
    /// - Throws: `StoreFailure` or `CancellationError`.
    func canMakePayments() async throws -> Bool
    /// Returns the storefront of the customer, which determines prices and languages.
    ///
    /// - Returns: The storefront.
    /// - Throws: `StoreFailure` or `CancellationError`.
    func storefront() async throws -> Storefront
    /// The storefront of the customer: the last known one, then each change. Each access returns a new stream, which
    /// ends with the connection.
    var storefrontUpdates: AsyncStream<Storefront> { get }
    /// Requests products by their identifiers.
    ///
    /// - Parameter ids: The identifiers.
    /// - Returns: The products that the store sells, and the unknown identifiers.
    /// - Throws: `StoreFailure` or `CancellationError`.
    func products(_ ids: Set<ProductID>) async throws -> ProductAnswer
    /// Sends a payment to the store. Returns when the store has accepted the payment. The result arrives in `updates`
    /// with the payment's id. A second payment with the same `PaymentID` does not buy again.
    ///
    /// - Parameter payment: The payment.
    /// - Throws: `StoreFailure` or `CancellationError`.
    func add(_ payment: Payment) async throws
    /// Redeems an offer code. Returns when the store has accepted the code, or when the customer has closed the store's
    /// sheet. The transaction arrives in `updates` without a payment id.
    ///
    /// - Parameter redemption: The code.
    /// - Throws: `StoreFailure`, with `unsupported` if the store has no codes, or `CancellationError`.
    func redeem(_ redemption: OfferCodeRedemption) async throws
    /// The events of the store in order, for one consumer. Unfinished transactions come first.
    var updates: AsyncStream<StoreUpdate> { get }
    /// The messages of the store to the customer, for example about a price increase. Each element has all open
    /// messages. A new element follows each change. Each access returns a new stream, which ends at once if the store
    /// does not send messages.
    var messages: AsyncStream<[StoreMessage]> { get }
    /// The purchases that the customer began in the App Store and has not paid yet, for one consumer. The stream
    /// buffers the newest 100. The store reports each purchase to one device of the customer. The stream ends at once
    /// if the store does not support promoted purchases.
    var promotedPurchases: AsyncStream<PromotedPurchase> { get }
    /// Sends the customer's answer to a message.
    ///
    /// - Parameters:
    ///   - message: The id of the message.
    ///   - answer: The answer.
    /// - Throws: `StoreFailure`, with `unsupported` if the store asks the customer itself, or `CancellationError`.
    func answer(_ message: StoreMessage.ID, with answer: StoreMessage.Answer) async throws
    /// Finishes a transaction: confirms to the store that the purchase was delivered. The store does not report a
    /// finished transaction again.
    ///
    /// - Parameter transaction: The transaction.
    /// - Throws: `StoreFailure` or `CancellationError`.
    func finish(_ transaction: TransactionID) async throws
    /// Restores the purchases of the customer. The store may ask the customer to sign in, so call it only when the
    /// customer requests it.
    ///
    /// - Returns: The transactions that give access now, newly signed, or none.
    /// - Throws: `StoreFailure` or `CancellationError`.
    func restore() async throws -> [StoreTransaction]
    /// Returns the owned transactions, as this device knows them. The store does not ask the customer to sign in, so an
    /// app can call it at any time. Empty by default.
    ///
    /// - Returns: The transactions that give access now.
    /// - Throws: `StoreFailure` or `CancellationError`.
    func ownedTransactions() async throws -> [StoreTransaction]
    /// Returns the latest status of each subscription that the customer has or had.
    ///
    /// - Returns: The statuses.
    /// - Throws: `StoreFailure`, with `unsupported` if the store does not report them, or `CancellationError`.
    func subscriptionStatuses() async throws -> [StoreSubscriptionStatus]
    /// Returns the app receipt.
    ///
    /// - Returns: The bytes of the receipt, or `nil` if the store has none.
    /// - Throws: `StoreFailure` or `CancellationError`.
    func receipt() async throws -> [UInt8]?
    /// Returns the app transaction, which states how the customer got the app and is signed for this device.
    ///
    /// - Returns: A JWS in compact serialization.
    /// - Throws: `StoreFailure`, with `unsupported` if the store has no app transaction, or `CancellationError`.
    func appTransaction() async throws -> String
    /// Returns whether the customer is eligible for the introductory offer of a subscription group.
    ///
    /// - Parameter subscriptionGroupID: The identifier of the group.
    /// - Returns: Whether the store would sell the offer to this customer.
    /// - Throws: `StoreFailure`, with `unsupported` if the store decides only at the purchase, or `CancellationError`.
    func isEligibleForIntroductoryOffer(subscriptionGroupID: String) async throws -> Bool
    /// Shows the sheet on which the customer changes and cancels subscriptions. Returns when the sheet is closed.
    ///
    /// - Parameter subscriptionGroupID: The group to show, or `nil` for all subscriptions.
    /// - Throws: `StoreFailure`, with `unsupported` if the store has no such sheet, or `CancellationError`.
    func showManageSubscriptions(subscriptionGroupID: String?) async throws
    /// Shows the sheet on which the customer requests a refund. Returns when the customer has answered. The refund
    /// itself arrives in `updates`.
    ///
    /// - Parameter transaction: The transaction to refund.
    /// - Returns: The result of the request.
    /// - Throws: `StoreFailure`, with `unsupported` if the store takes no requests from an app, or `CancellationError`.
    func beginRefundRequest(for transaction: TransactionID) async throws -> RefundRequestStatus
    /// Closes the connection. `updates` ends.
    func close() async
}

extension StoreConnection {
    /// Throws `unsupported`.
    ///
    /// - Parameter redemption: The code.
    /// - Throws: `StoreFailure`.
    public func redeem(_ redemption: OfferCodeRedemption) async throws {
        throw StoreFailure(code: .unsupported, reason: "This store redeems no offer codes; buy the product itself.")
    }

    /// A stream that ends at once.
    public var messages: AsyncStream<[StoreMessage]> { AsyncStream { $0.finish() } }

    /// A stream that ends at once.
    public var promotedPurchases: AsyncStream<PromotedPurchase> { AsyncStream { $0.finish() } }

    /// Throws `unsupported`.
    ///
    /// - Parameters:
    ///   - message: The id of the message.
    ///   - answer: The answer.
    /// - Throws: `StoreFailure`.
    public func answer(_ message: StoreMessage.ID, with answer: StoreMessage.Answer) async throws {
        throw StoreFailure(
            code: .unsupported, reason: "This store asks its customers itself; there is nothing to answer.")
    }

    /// Returns no transactions.
    ///
    /// - Returns: An empty array.
    /// - Throws: Nothing. Another implementation may throw.
    public func ownedTransactions() async throws -> [StoreTransaction] { [] }

    /// Throws `unsupported`.
    ///
    /// - Throws: `StoreFailure`.
    public func subscriptionStatuses() async throws -> [StoreSubscriptionStatus] {
        throw StoreFailure(
            code: .unsupported, reason: "This store does not list subscriptions; ask the entitlement server.")
    }

    /// Throws `unsupported`.
    ///
    /// - Throws: `StoreFailure`.
    public func appTransaction() async throws -> String {
        throw StoreFailure(code: .unsupported, reason: "This store has no app transaction; use the app receipt.")
    }

    /// Throws `unsupported`.
    ///
    /// - Parameter subscriptionGroupID: The identifier of the group.
    /// - Throws: `StoreFailure`.
    public func isEligibleForIntroductoryOffer(subscriptionGroupID: String) async throws -> Bool {
        throw StoreFailure(
            code: .unsupported, reason: "This store decides about introductory offers when it sells, not before.")
    }

    /// Throws `unsupported`.
    ///
    /// - Parameter subscriptionGroupID: The group to show, or `nil` for all subscriptions.
    /// - Throws: `StoreFailure`.
    public func showManageSubscriptions(subscriptionGroupID: String?) async throws {
        throw StoreFailure(
            code: .unsupported, reason: "This store shows no page on which subscriptions are managed.")
    }

    /// Throws `unsupported`.
    ///
    /// - Parameter transaction: The transaction to refund.
    /// - Throws: `StoreFailure`.
    public func beginRefundRequest(for transaction: TransactionID) async throws -> RefundRequestStatus {
        throw StoreFailure(
            code: .unsupported, reason: "This store takes no refund requests from an app; ask its support.")
    }
}

/// The result of a refund request. It does not include the refund itself, which the store decides later (Apple:
/// `Transaction.RefundRequestStatus`).
public struct RefundRequestStatus: RawRepresentable, Hashable, Sendable, Codable {
    public let rawValue: String
    public init(rawValue: String) { self.rawValue = rawValue }
    /// The store has received the request.
    public static let success = RefundRequestStatus(rawValue: "success")
    /// The customer closed the sheet without a request.
    public static let userCancelled = RefundRequestStatus(rawValue: "userCancelled")
}

/// The App Store of one country or region.
public struct Storefront: Hashable, Sendable, Codable {
    /// The ISO 3166-1 alpha-3 code of the country or region, for example `USA`.
    public var countryCode: String
    /// Apple's number of the storefront, for example `143441`.
    public var id: String
    /// The language and region of names and prices, for example `en_US`.
    public var locale: String
    /// The ISO 4217 code of the currency.
    public var currency: String

    /// Creates a storefront.
    ///
    /// - Parameters:
    ///   - countryCode: The ISO 3166-1 alpha-3 code of the country or region, for example `USA`.
    ///   - id: Apple's number of the storefront, for example `143441`.
    ///   - locale: The language and region of names and prices, for example `en_US`.
    ///   - currency: The ISO 4217 code of the currency.
    public init(countryCode: String, id: String, locale: String, currency: String) {
        self.countryCode = countryCode
        self.id = id
        self.locale = locale
        self.currency = currency
    }
}

/// The answer of the store to a request for products.
public struct ProductAnswer: Hashable, Sendable, Codable {
    /// The products that the store sells.
    public var products: [StoreProduct]
    /// The identifiers that the store does not know.
    public var invalidProductIDs: [ProductID]

    /// Creates an answer.
    ///
    /// - Parameters:
    ///   - products: The products that the store sells.
    ///   - invalidProductIDs: The identifiers that the store does not know.
    public init(products: [StoreProduct], invalidProductIDs: [ProductID] = []) {
        self.products = products
        self.invalidProductIDs = invalidProductIDs
    }
}

import Foundation
import StoreModel

/// A customer of the simulated store, by name.
public struct AccountName: Identifier {
    public let rawValue: String
    public init(unchecked rawValue: String) { self.rawValue = rawValue }
}

/// A device signed in to an account.
public struct DeviceID: Identifier {
    public let rawValue: String
    public init(unchecked rawValue: String) { self.rawValue = rawValue }
}

/// What somebody asks the store to sell, and who is to be answered.
struct Order: Sendable, Hashable {
    var accountID: Int64
    var productID: ProductID
    var quantity = 1
    var appAccountToken: UUID?
    var offerID: String?
    /// Who asked; without a payment the caller is answered directly and every device of the account hears of it.
    var payment: PaymentID?
    var device: DeviceID?
}

/// One transaction in the store's books.
struct TransactionRecord: Sendable, Hashable {
    var id: Int64
    var accountID: Int64
    var originalID: Int64
    var webOrderLineItemID: Int64?
    var productID: ProductID
    var kind: StoreProduct.Kind
    var groupID: String?
    var purchaseDate: Date
    var originalPurchaseDate: Date
    var expiresDate: Date?
    var quantity = 1
    var appAccountToken: UUID?
    var price: Price
    var isRenewal = false
    var offer: AppliedOffer?
    var isUpgraded = false
    var revocationDate: Date?
    var isFinished = false
    /// No signature of this state is dated earlier; kept by the books.
    var signedFrom = Date.distantPast
}

/// The offer under which a period was sold.
struct AppliedOffer: Sendable, Hashable {
    /// Closed: the offers that this store sells. Raw values are Apple's `offerType`.
    enum Kind: Int, Sendable { case introductory = 1, promotional = 2 }

    var kind: Kind
    var id: String?
    var paymentMode: Offer.PaymentMode
    var period: SubscriptionPeriod
}

/// A customer's subscription in one group, from the first purchase on and through every plan: one original transaction.
struct SubscriptionRecord: Sendable, Hashable {
    var originalID: Int64
    var accountID: Int64
    var groupID: String
    var productID: ProductID
    /// The transaction of the current period.
    var latestID: Int64
    var originalPurchaseDate: Date
    /// When the customer last subscribed anew.
    var startedAt: Date
    var expiresDate: Date
    var phase: Phase
    var autoRenews = true
    var renewsTo: ProductID
    var appAccountToken: UUID?
    var hasUsedIntroductoryOffer = false
    var isActive = true
    var expirationIntent: ExpirationIntent?
    /// No signature of this state is dated earlier; kept by the books.
    var signedFrom = Date.distantPast

    /// A run of periods at one price: ends are counted from its start, so that the day of the month is kept.
    struct Phase: Sendable, Hashable {
        var start: Date
        /// How many periods of it were sold.
        var sold: Int
        var offer: OfferName?
    }

    /// An offer in the catalogue.
    struct OfferName: Sendable, Hashable {
        var kind: AppliedOffer.Kind
        var id: String?
    }

    /// Closed: why a subscription of this store ends. Raw values are Apple's `expirationIntent`.
    enum ExpirationIntent: Int, Sendable { case cancelled = 1, productUnavailable = 4 }
}

/// One thing to report to an account's devices.
struct UpdateRecord: Sendable, Hashable {
    /// Closed: what this store reports. Raw values are those of the wire.
    enum State: String, Sendable { case purchased, failed, renewalChanged }

    var accountID: Int64
    /// The one device that is told; `nil`: all of them.
    var device: DeviceID?
    var payment: PaymentID?
    var productID: ProductID
    var state: State
    var transactionID: Int64?
    var isAlreadyOwned = false
    var failure: StoreFailure?
}

/// What changes in the books.
enum Fact: Sendable, Hashable {
    case transaction(TransactionRecord)
    /// A transaction made way for another of its group.
    case upgraded(Int64)
    case subscription(SubscriptionRecord)
    case update(UpdateRecord)
}

/// The store's next numbers; each is given out once.
struct Numbers: Sendable, Hashable {
    var transaction: Int64
    var order: Int64

    mutating func nextTransaction() -> Int64 {
        defer { transaction += 1 }
        return transaction
    }

    mutating func nextOrder() -> Int64 {
        defer { order += 1 }
        return order
    }
}

extension Date {
    /// The store's instants are whole milliseconds, as Apple's are.
    init(milliseconds: Int64) { self.init(timeIntervalSince1970: Double(milliseconds) / 1000) }
    var milliseconds: Int64 { Int64((timeIntervalSince1970 * 1000).rounded()) }
    var wholeMilliseconds: Date { Date(milliseconds: milliseconds) }
}

import Foundation
import Primitives
import StoreModel

/// The name of an account, which is a customer of the simulated store.
public struct AccountName: Identifier {
    public let rawValue: String
    /// Creates a name without checking `rawValue`.
    public init(unchecked rawValue: String) { self.rawValue = rawValue }
}

/// The id of a device that is signed in to an account.
public struct DeviceID: Identifier {
    public let rawValue: String
    /// Creates an id without checking `rawValue`.
    public init(unchecked rawValue: String) { self.rawValue = rawValue }
}

/// A request to sell a product, with the payment and the device that receive the answer.
struct Order: Sendable, Hashable {
    var accountID: Int64
    var productID: ProductID
    var quantity = 1
    var appAccountToken: UUID?
    /// The identifier of an offer of the product.
    var offerID: String?
    /// The kind of the offer; `nil` means the promotional or else the win-back offer with that identifier.
    var offerKind: AppliedOffer.Kind?
    /// The billing plan of a subscription. The offer of a code has its own.
    var billingPlan = BillingPlan.Kind.upFront
    /// The offer of a product that does not renew, which only a code redeems.
    var purchaseOffer: PurchaseOffer?
    /// Whether this customer gets the introductory offer, as the app's server decided; `nil` means that the store
    /// decides.
    var allowsIntroductory: Bool?
    /// The payment that the order came with. Without a payment, the caller receives the answer, and each device of the
    /// account receives an update about a sale.
    var payment: PaymentID?
    var device: DeviceID?
    /// The transaction number that was reserved while the order was held.
    var number: Int64?
}

/// An order that waits for an approval, or for the end of an interruption.
struct HeldOrder: Sendable, Hashable {
    /// The reason to wait: a parent's approval, or an action of the customer that the purchase needs first. The set is
    /// closed.
    enum Reason: String, Sendable { case approval, interruption }

    var number: Int64
    var order: Order
    var reason: Reason
    var at: Date
}

/// One transaction of the store.
struct TransactionRecord: Sendable, Hashable {
    var id: Int64
    var accountID: Int64
    var originalID: Int64
    var webOrderLineItemID: Int64?
    var productID: ProductID
    var kind: ProductType
    var groupID: String?
    var purchaseDate: Date
    var originalPurchaseDate: Date
    var expiresDate: Date?
    var quantity = 1
    var appAccountToken: UUID?
    var price: Price
    /// The country of the sale; `nil` means the catalogue's.
    var storefront: String?
    var isRenewal = false
    var offer: AppliedOffer?
    /// The billing plan of a subscription.
    var billingPlan: BillingPlan.Kind?
    var commitment: CommitmentProgress?
    /// The offer of a purchase that does not renew, by its identifier.
    var redeemedOfferID: String?
    /// The instant at which another plan of the group replaced it.
    var upgradedAt: Date?
    /// Present while the transaction is revoked.
    var revocation: Revocation?
    /// The instant at which a revocation was last reversed.
    var restoredAt: Date?
    /// The instant from which Family Sharing gives this account another member's purchase, or from which it has a seat
    /// of another customer's subscription.
    var sharedAt: Date?
    /// Whether the account has a seat of another customer's subscription.
    var isAssigned = false
    /// The seats of a subscription that one customer buys for several.
    var seats: Seats?
    /// The number of seats that were refunded while the others stay valid.
    var refundedSeats: Int?
    /// Whether seats were added to the period.
    var hasSeatAdditions = false
    /// The transaction of the period to which this one added seats.
    var additionTo: Int64?

    var isShared: Bool { sharedAt != nil }
}

extension TransactionRecord {
    /// The offer as signed transactions have it. The offer of a product that does not renew has no period.
    var signedOffer: TransactionOffer? {
        if let redeemedOfferID { return TransactionOffer(type: .offerCode, id: redeemedOfferID, paymentMode: .oneTime) }
        return offer.map {
            TransactionOffer(
                type: .init(rawValue: $0.kind.rawValue), id: $0.id,
                paymentMode: .init(rawValue: $0.paymentMode.rawValue), period: $0.period)
        }
    }
}

/// An update for an account's devices about an action. Updates about renewals are computed and have no record.
struct UpdateRecord: Sendable, Hashable {
    /// The states that this store reports. Raw values are those of the HTTP API. The set is closed.
    enum State: String, Sendable { case purchased, deferred, failed, revoked }

    var accountID: Int64
    /// The device that receives the update; `nil` means every device of the account.
    var device: DeviceID?
    var payment: PaymentID?
    var productID: ProductID
    var state: State
    var transactionID: Int64?
    var isAlreadyOwned = false
    var failure: StoreFailure?
}

/// A change of the simulator database.
enum StoreChange: Sendable, Hashable {
    /// A purchase that does not renew.
    case purchase(TransactionRecord, share: Share? = nil)
    /// A subscription after an event.
    case subscription(SubscriptionRecord)
    case revocation(Int64, Revocation)
    /// Seats that were added to the current period of a subscription.
    case seatAddition(SeatAddition, to: SubscriptionRecord)
    /// A new app account token of a purchase that does not renew.
    case appAccountToken(Int64, UUID)
    case held(HeldOrder)
    /// A transaction that the app has to finish again.
    case unfinished(Int64)
    /// The end of a held order.
    case released(Int64)
    case update(UpdateRecord)
}

/// The counter of the store's sales. Each number is used once.
struct SaleNumbers: Sendable, Hashable {
    var sale: Int64

    /// Returns the number of a new sale, which is also the number of its first transaction.
    mutating func next() -> Int64 {
        defer { sale += 1 }
        return sale * TransactionNumber.span
    }
}

extension Date {
    /// Creates an instant of the store: whole microseconds since 1970, so that events of one millisecond keep their
    /// order.
    init(microseconds: Int64) { self.init(timeIntervalSince1970: Double(microseconds) / 1_000_000) }
    /// The microseconds since 1970, limited to the range of `Int64`.
    var microseconds: Int64 {
        let count = (timeIntervalSince1970 * 1_000_000).rounded()
        return Int64(exactly: count) ?? (count < 0 ? .min : .max)
    }
    /// The instant rounded down to whole milliseconds, as in Apple's dates.
    var wholeMilliseconds: Date {
        // Half a microsecond corrects the binary representation of seconds, which is not exact.
        Date(timeIntervalSince1970: (timeIntervalSince1970 * 1000 + 0.0005).rounded(.down) / 1000)
    }
}

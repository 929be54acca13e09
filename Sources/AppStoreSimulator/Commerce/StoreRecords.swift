import Foundation
import Primitives
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
    /// An offer of the product, by its identifier.
    var offerID: String?
    /// Of which kind it is: for a code, or one of the app's; `nil`: whichever of the app's has the identifier.
    var offerKind: AppliedOffer.Kind?
    /// The app's server's word on whether this customer gets the introductory offer; `nil`: the store decides.
    var allowsIntroductory: Bool?
    /// Who asked; without a payment the caller is answered directly and every device of the account hears of it.
    var payment: PaymentID?
    var device: DeviceID?
    /// The number that was set aside for it while it waited.
    var number: Int64?
}

/// An order that the store cannot carry out yet.
struct HeldOrder: Sendable, Hashable {
    /// Closed: what it waits for. Somebody's approval; or that the customer puts right what interrupted the purchase.
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
    /// The country in which it was sold; `nil`: the catalogue's.
    var storefront: String?
    var isRenewal = false
    var offer: AppliedOffer?
    /// When it made way for another plan of its group.
    var upgradedAt: Date?
    /// Present while it is taken back.
    var revocation: Revocation?
    /// When it was last given back after it had been taken.
    var restoredAt: Date?
    /// Since when a member of the family has it of somebody else who bought it.
    var sharedAt: Date?

    var isShared: Bool { sharedAt != nil }
}

/// One thing to report to an account's devices, besides what time does by itself.
struct UpdateRecord: Sendable, Hashable {
    /// Closed: what this store reports. Raw values are those of the wire.
    enum State: String, Sendable { case purchased, deferred, failed, revoked }

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
enum StoreChange: Sendable, Hashable {
    /// Something that is bought once.
    case purchase(TransactionRecord, share: Share? = nil)
    /// A subscription as an event left it.
    case subscription(SubscriptionRecord)
    case revocation(Int64, Revocation)
    /// Another token of the app's own on something that is bought once.
    case appAccountToken(Int64, UUID)
    case held(HeldOrder)
    /// A transaction that has to be delivered again.
    case unfinished(Int64)
    /// An order that waits no longer.
    case released(Int64)
    case update(UpdateRecord)
}

/// The store's next numbers; each is given out once.
struct Numbers: Sendable, Hashable {
    var sale: Int64

    /// The number of a sale, which is that of its first transaction.
    mutating func next() -> Int64 {
        defer { sale += 1 }
        return sale * TransactionNumber.span
    }
}

extension Date {
    /// The store's instants are whole microseconds, counted since 1970: what happens within a millisecond has its order.
    init(microseconds: Int64) { self.init(timeIntervalSince1970: Double(microseconds) / 1_000_000) }
    /// What no calendar has is the first or the last instant that can be written down.
    var microseconds: Int64 {
        let count = (timeIntervalSince1970 * 1_000_000).rounded()
        return Int64(exactly: count) ?? (count < 0 ? .min : .max)
    }
    /// What the store says to others has whole milliseconds, as Apple's dates have.
    var wholeMilliseconds: Date {
        // Half a microsecond is given back: instants in seconds are not exact in binary.
        Date(timeIntervalSince1970: (timeIntervalSince1970 * 1000 + 0.0005).rounded(.down) / 1000)
    }
}

import Foundation
import Primitives

/// A verified statement of the store about one transaction at one instant.
///
/// After a refund, an upgrade or a new signature, the store states the transaction again with a later `signedDate`. The
/// newest statement counts.
package struct TransactionFact: Hashable, Sendable {
    package var id: TransactionID
    package var originalID: TransactionID
    package var productID: ProductID
    package var kind: ProductType
    package var purchaseDate: Date
    /// The date of the original transaction.
    package var originalPurchaseDate: Date
    package var expiresDate: Date?
    package var revocationDate: Date?
    /// The number of units that the customer has, without those that were refunded of a larger quantity.
    package var quantity: Int
    /// The number of units that were bought with the others and refunded, while the others remain. Google Play only.
    package var refundedQuantity: Int
    /// Whether the customer changed to a higher level of the group, which ended this period.
    package var isUpgraded: Bool
    /// Whether another customer paid: a member of the family, or the buyer of an assigned seat.
    package var isFamilyShared: Bool
    /// Whether the customer has a seat of another customer's subscription. `isFamilyShared` is true as well.
    package var isAssigned: Bool
    /// Whether several transactions represent the period, because the customer added seats to it.
    package var sharesPeriod: Bool
    package var appAccountToken: UUID?
    package var groupID: String?
    package var price: Price?
    /// Whether the period was free.
    package var isTrial: Bool
    /// Whether the period was sold at an introductory price that is not free.
    package var isIntroductory: Bool
    /// The country of the storefront, as three letters.
    package var storefront: String?
    /// The kind of offer, as Apple's number.
    package var offerType: Int?
    /// The identifier of the promotional or win-back offer, or the offer code.
    package var offerIdentifier: String?
    /// The part that was refunded, in thousandths of a percent; all of it if absent.
    package var revocationPercentage: Int?
    package var source: PurchaseSource
    /// The package name of the Android app, for a purchase at Google Play.
    package var packageName: String?
    /// The original transaction id of the subscription that this one replaced. Google Play only.
    package var replaces: TransactionID?
    /// The original transaction id of the subscription that replaced this one. Google Play only.
    package var replacedBy: TransactionID?
    /// The end of the time that was paid, if the access ends at another instant. Google Play only: an order states it.
    package var paidUntil: Date?
    /// Whether the fact comes from an app receipt. A receipt has no group, no price and no token, and shows an upgrade
    /// as a refund.
    package var isFromReceipt: Bool
    /// The date of the statement: of its signature or, for Google Play, of the begin of the fetch.
    package var signedDate: Date
    /// The SHA-256 of the verified payload. It identifies the fact, and orders two facts that were signed at the same
    /// instant.
    package var digest: [UInt8]

    package init(
        id: TransactionID, originalID: TransactionID? = nil, productID: ProductID, kind: ProductType,
        purchaseDate: Date, originalPurchaseDate: Date? = nil, expiresDate: Date? = nil, revocationDate: Date? = nil,
        quantity: Int = 1, refundedQuantity: Int = 0, isUpgraded: Bool = false, isFamilyShared: Bool = false,
        appAccountToken: UUID? = nil,
        groupID: String? = nil, price: Price? = nil, isTrial: Bool = false, isIntroductory: Bool = false,
        storefront: String? = nil, offerType: Int? = nil, offerIdentifier: String? = nil,
        revocationPercentage: Int? = nil, source: PurchaseSource = .appStore, packageName: String? = nil,
        replaces: TransactionID? = nil, replacedBy: TransactionID? = nil, paidUntil: Date? = nil,
        isFromReceipt: Bool = false,
        isAssigned: Bool = false, sharesPeriod: Bool = false, signedDate: Date, digest: [UInt8] = []
    ) {
        self.id = id
        self.originalID = originalID ?? id
        self.productID = productID
        self.kind = kind
        self.purchaseDate = purchaseDate
        self.originalPurchaseDate = originalPurchaseDate ?? purchaseDate
        self.expiresDate = expiresDate
        self.revocationDate = revocationDate
        self.quantity = quantity
        self.refundedQuantity = refundedQuantity
        self.isUpgraded = isUpgraded
        self.isFamilyShared = isFamilyShared
        self.isAssigned = isAssigned
        self.sharesPeriod = sharesPeriod
        self.appAccountToken = appAccountToken
        self.groupID = groupID
        self.price = price
        self.isTrial = isTrial
        self.isIntroductory = isIntroductory
        self.storefront = storefront
        self.offerType = offerType
        self.offerIdentifier = offerIdentifier
        self.revocationPercentage = revocationPercentage
        self.source = source
        self.packageName = packageName
        self.replaces = replaces
        self.replacedBy = replacedBy
        self.paidUntil = paidUntil
        self.isFromReceipt = isFromReceipt
        self.signedDate = signedDate
        self.digest = digest
    }
}

extension [TransactionFact] {
    /// The transactions of subscription periods, one for each period: without those that only added seats to a period.
    /// Seats are added after the period was sold and end with it. The fact about the period itself can be older.
    package var withoutSeatAdditions: [TransactionFact] {
        filter { fact in
            !fact.sharesPeriod
                || !contains { other in
                    other.originalID == fact.originalID && other.expiresDate == fact.expiresDate
                        && (other.purchaseDate, other.id) < (fact.purchaseDate, fact.id)
                }
        }
    }
}

/// A verified statement of the store about the renewal of a subscription at one instant.
package struct RenewalFact: Hashable, Sendable {
    package var originalID: TransactionID
    /// Whether another period follows. In a commitment that is billed monthly, the period of the next bill.
    package var autoRenews: Bool?
    /// Whether another period follows the commitment, or `nil` without a commitment.
    package var renewsCommitment: Bool?
    /// The product of the next period.
    package var renewsTo: ProductID?
    package var gracePeriodExpiresDate: Date?
    package var isInBillingRetry: Bool
    /// Whether the customer paused the subscription, so that no period follows for some time. Google Play only.
    package var isPaused: Bool
    /// The date on which the customer cancelled, if the store states it. Google Play does; Apple does not.
    package var cancelledAt: Date?
    package var signedDate: Date
    package var digest: [UInt8]

    package init(
        originalID: TransactionID, autoRenews: Bool? = nil, renewsCommitment: Bool? = nil, renewsTo: ProductID? = nil,
        gracePeriodExpiresDate: Date? = nil, isInBillingRetry: Bool = false, isPaused: Bool = false,
        cancelledAt: Date? = nil, signedDate: Date, digest: [UInt8] = []
    ) {
        self.originalID = originalID
        self.autoRenews = autoRenews
        self.renewsCommitment = renewsCommitment
        self.renewsTo = renewsTo
        self.gracePeriodExpiresDate = gracePeriodExpiresDate
        self.isInBillingRetry = isInBillingRetry
        self.isPaused = isPaused
        self.cancelledAt = cancelledAt
        self.signedDate = signedDate
        self.digest = digest
    }

    /// Whether the customer has cancelled: no period follows the current one, or the commitment.
    var isCancelled: Bool { (renewsCommitment ?? autoRenews) == false }
}

/// Access that an operator gives without a purchase, for example support, a promotion or a contract.
package struct Grant: Hashable, Sendable {
    package var id: String
    package var feature: String
    package var from: Date
    /// The end of the access, exclusive, or `nil` if it does not end.
    package var until: Date?
    package var reason: String

    package init(id: String, feature: String, from: Date, until: Date? = nil, reason: String) {
        self.id = id
        self.feature = feature
        self.from = from
        self.until = until
        self.reason = reason
    }
}

extension TransactionFact {
    /// The allowed quantities of one transaction. The limit keeps sums from overflowing.
    package static let quantities = 1...1_000_000
}

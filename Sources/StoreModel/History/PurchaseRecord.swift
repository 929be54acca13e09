import Foundation

/// One purchase as far as judgements need it, the same out of a receipt and out of a signed transaction.
///
/// A plain value: whoever makes one from something unverified judges what somebody claims.
package struct PurchaseRecord: Hashable, Sendable {
    package var productID: ProductID
    package var transactionID: TransactionID?
    /// The first transaction of the subscription or purchase.
    package var originalTransactionID: TransactionID?
    /// `nil` where the source does not say.
    package var kind: ProductType?
    package var purchaseDate: Date
    /// When the first transaction was made; of a restored purchase, when it was bought.
    package var originalPurchaseDate: Date
    /// When the subscription period ends; at that instant it is over.
    package var expiresDate: Date?
    /// When the store took the purchase back.
    package var refundDate: Date?
    /// Whether the customer moved to a higher level of the group, which ended this period. Receipts do not tell it from a
    /// refund.
    package var isUpgraded: Bool
    package var quantity: Int
    /// Whether the period was sold under an introductory offer, free or not. Promotional offers are none.
    package var usedIntroductoryOffer: Bool
    /// The subscription group; receipts do not name it.
    package var groupID: String?
    /// When the store said so. Of several records of one transaction the one said last counts.
    package var signedDate: Date?

    package init(
        productID: ProductID, transactionID: TransactionID? = nil, originalTransactionID: TransactionID? = nil,
        kind: ProductType? = nil, purchaseDate: Date, originalPurchaseDate: Date? = nil,
        expiresDate: Date? = nil, refundDate: Date? = nil, isUpgraded: Bool = false, quantity: Int = 1,
        usedIntroductoryOffer: Bool = false, groupID: String? = nil, signedDate: Date? = nil
    ) {
        self.productID = productID
        self.transactionID = transactionID
        self.originalTransactionID = originalTransactionID
        self.kind = kind
        self.purchaseDate = purchaseDate
        self.originalPurchaseDate = originalPurchaseDate ?? purchaseDate
        self.expiresDate = expiresDate
        self.refundDate = refundDate
        self.isUpgraded = isUpgraded
        self.quantity = quantity
        self.usedIntroductoryOffer = usedIntroductoryOffer
        self.groupID = groupID
        self.signedDate = signedDate
    }

    /// From a purchase in a receipt made at `creationDate`. `nil` when it names no product or no date of purchase.
    package init?(_ purchase: AppReceipt.InAppPurchase, creationDate: Date?) {
        guard let productID = purchase.productID, let purchaseDate = purchase.purchaseDate else { return nil }
        let isIntroductory = purchase.isTrialPeriod == true || purchase.isInIntroOfferPeriod == true
        self.init(
            productID: productID, transactionID: purchase.transactionID,
            originalTransactionID: purchase.originalTransactionID, kind: purchase.knownType,
            purchaseDate: purchaseDate, originalPurchaseDate: purchase.originalPurchaseDate,
            expiresDate: purchase.expiresDate, refundDate: purchase.cancellationDate,
            quantity: purchase.quantity ?? 1,
            usedIntroductoryOffer: isIntroductory && purchase.promotionalOfferID == nil, signedDate: creationDate)
    }
}

extension AppReceipt {
    /// The purchases as records, but for those that name no product or no date of purchase.
    package var purchaseRecords: [PurchaseRecord] {
        inAppPurchases.compactMap { PurchaseRecord($0, creationDate: creationDate) }
    }
}

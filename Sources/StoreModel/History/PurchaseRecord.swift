import Foundation

/// A purchase with the fields that decide its status, from a receipt or from a signed transaction.
///
/// The record itself is not verified. Create it from a verified source.
package struct PurchaseRecord: Hashable, Sendable {
    package var productID: ProductID
    package var transactionID: TransactionID?
    /// The original transaction of the subscription or purchase.
    package var originalTransactionID: TransactionID?
    /// The kind of the product, or `nil` if the source does not state it.
    package var kind: ProductType?
    package var purchaseDate: Date
    /// The date of the original transaction. For a restored purchase it is the date on which it was bought.
    package var originalPurchaseDate: Date
    /// The end of the subscription period, exclusive.
    package var expiresDate: Date?
    /// The date on which the store revoked the purchase, or `nil`.
    package var refundDate: Date?
    /// Whether the customer changed to a higher level of the group, which ended this period. Receipts show it as a
    /// refund.
    package var isUpgraded: Bool
    package var quantity: Int
    /// Whether the period was sold under an introductory offer, free or not. Promotional offers do not count.
    package var usedIntroductoryOffer: Bool
    /// The subscription group. Receipts do not contain it.
    package var groupID: String?
    /// The date of the signature. Of several records of one transaction, the newest counts.
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

    /// Creates a record from a purchase in a receipt of `creationDate`. Returns `nil` if the purchase has no product or
    /// no purchase date.
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
    /// The purchases of the receipt as records. Purchases without a product or a purchase date are left out.
    package var purchaseRecords: [PurchaseRecord] {
        inAppPurchases.compactMap { PurchaseRecord($0, creationDate: creationDate) }
    }
}

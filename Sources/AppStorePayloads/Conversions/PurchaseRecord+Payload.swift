import StoreModel

extension PurchaseRecord {
    /// Returns the record of a transaction's payload, or `nil` if it has no product or no purchase date.
    package init?(_ transaction: JWSTransactionDecodedPayload) {
        guard let productID = transaction.productId.flatMap({ ProductID(rawValue: $0) }),
            let purchaseDate = transaction.purchaseDate
        else { return nil }
        self.init(
            productID: productID, transactionID: transaction.transactionId.flatMap { TransactionID(rawValue: $0) },
            originalTransactionID: transaction.originalTransactionId.flatMap { TransactionID(rawValue: $0) },
            kind: transaction.type, purchaseDate: purchaseDate,
            originalPurchaseDate: transaction.originalPurchaseDate, expiresDate: transaction.expiresDate,
            refundDate: transaction.revocationDate, isUpgraded: transaction.isUpgraded ?? false,
            quantity: transaction.quantity ?? 1, usedIntroductoryOffer: transaction.offerType == .introductory,
            groupID: transaction.subscriptionGroupIdentifier, signedDate: transaction.signedDate)
    }
}

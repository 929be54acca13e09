import StoreModel

extension VerifiedTransaction {
    /// Creates the content of a transaction from a payload with a verified signature.
    package init(_ payload: JWSTransactionDecodedPayload) {
        self.init(
            id: payload.transactionId.flatMap { TransactionID(rawValue: $0) },
            originalID: payload.originalTransactionId.flatMap { TransactionID(rawValue: $0) },
            productID: payload.productId.flatMap { ProductID(rawValue: $0) }, kind: payload.type,
            purchaseDate: payload.purchaseDate, expiresDate: payload.expiresDate,
            revocationDate: payload.revocationDate, isUpgraded: payload.isUpgraded ?? false,
            appAccountToken: payload.appAccountToken)
    }
}

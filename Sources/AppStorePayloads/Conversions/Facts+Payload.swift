import Foundation
import StoreModel

extension TransactionFact {
    /// Creates the fact of a transaction's payload. Throws `AppStorePayloadError` if a required member is missing or
    /// invalid.
    package init(_ payload: JWSTransactionDecodedPayload, digest: [UInt8]) throws(AppStorePayloadError) {
        let id: TransactionID = try identifier(payload.transactionId, "transactionId")
        guard let kind = payload.type else { throw missing("type", "the kind of product") }
        guard let purchaseDate = payload.purchaseDate else { throw missing("purchaseDate", "a date") }
        guard let signedDate = payload.signedDate else { throw missing("signedDate", "a date") }
        if kind == .autoRenewableSubscription, payload.expiresDate == nil {
            throw missing("expiresDate", "the date at which the subscription period ends")
        }
        let isFree = payload.offerDiscountType == .freeTrial
        self.init(
            id: id,
            originalID: try payload.originalTransactionId.map { text throws(AppStorePayloadError) in
                try identifier(text, "originalTransactionId")
            },
            productID: try identifier(payload.productId, "productId"), kind: kind, purchaseDate: purchaseDate,
            originalPurchaseDate: payload.originalPurchaseDate, expiresDate: payload.expiresDate,
            revocationDate: payload.revocationDate, quantity: try validQuantity(payload.quantity),
            isUpgraded: payload.isUpgraded ?? false,
            isFamilyShared: [.familyShared, .assigned].contains(payload.inAppOwnershipType),
            appAccountToken: payload.appAccountToken,
            groupID: payload.subscriptionGroupIdentifier, price: payload.storePrice, isTrial: isFree,
            isIntroductory: payload.offerType == .introductory && !isFree, storefront: payload.storefront,
            offerType: payload.offerType?.rawValue, offerIdentifier: payload.offerIdentifier,
            revocationPercentage: payload.revocationPercentage,
            isAssigned: payload.inAppOwnershipType == .assigned,
            sharesPeriod: payload.additionalTransactionReason == .seatAddition, signedDate: signedDate, digest: digest)
    }
}

extension TransactionFact {
    /// Creates the fact of one purchase in an app receipt; `creationDate` is the date of the receipt. Throws
    /// `AppStorePayloadError` if a required member is missing or invalid; its pointer names the member in the receipt's
    /// JSON.
    ///
    /// Old receipts have purchases without a kind of product. A purchase with an expiry then counts as a subscription,
    /// and any other purchase as a non-consumable.
    package init(
        _ purchase: AppReceipt.InAppPurchase, creationDate: Date, digest: [UInt8]
    ) throws(AppStorePayloadError) {
        guard let id = purchase.transactionID else { throw missing("transactionID", "a string") }
        guard let productID = purchase.productID else { throw missing("productID", "a string") }
        guard let purchaseDate = purchase.purchaseDate else { throw missing("purchaseDate", "a date") }
        let isSubscription = purchase.expiresDate != nil
        let kind = purchase.knownType ?? (isSubscription ? .autoRenewableSubscription : .nonConsumable)
        if kind == .autoRenewableSubscription, !isSubscription {
            throw missing("expiresDate", "the date at which the subscription period ends")
        }
        let isTrial = purchase.isTrialPeriod ?? false
        self.init(
            id: id, originalID: purchase.originalTransactionID, productID: productID, kind: kind,
            purchaseDate: purchaseDate, originalPurchaseDate: purchase.originalPurchaseDate,
            expiresDate: purchase.expiresDate, revocationDate: purchase.cancellationDate,
            quantity: try validQuantity(purchase.quantity), isTrial: isTrial,
            isIntroductory: !isTrial && (purchase.isInIntroOfferPeriod ?? false),
            isFromReceipt: true, signedDate: creationDate, digest: digest)
    }
}

extension RenewalFact {
    /// Creates the fact of a renewal info's payload. Throws `AppStorePayloadError` if a required member is missing or
    /// invalid.
    package init(_ payload: JWSRenewalInfoDecodedPayload, digest: [UInt8]) throws(AppStorePayloadError) {
        guard let signedDate = payload.signedDate else { throw missing("signedDate", "a date") }
        self.init(
            originalID: try identifier(payload.originalTransactionId, "originalTransactionId"),
            autoRenews: payload.autoRenewStatus.map { $0 == .on },
            renewsCommitment: payload.commitmentInfo?.commitmentAutoRenewStatus.map { $0 == .on },
            renewsTo: payload.autoRenewProductId.flatMap { ProductID(rawValue: $0) },
            gracePeriodExpiresDate: payload.gracePeriodExpiresDate,
            isInBillingRetry: payload.isInBillingRetryPeriod ?? false, signedDate: signedDate, digest: digest)
    }
}

extension JWSTransactionDecodedPayload {
    fileprivate var storePrice: Price? {
        guard let price = self.price, let currency = self.currency else { return nil }
        return Price(milliunits: Int64(price), currency: currency)
    }
}

private func missing(_ name: String, _ expected: String) -> AppStorePayloadError {
    AppStorePayloadError(pointer: "/\(name)", expected: expected)
}

private func validQuantity(_ quantity: Int?) throws(AppStorePayloadError) -> Int {
    guard TransactionFact.quantities.contains(quantity ?? 1) else {
        throw missing("quantity", "a number from 1 to \(TransactionFact.quantities.upperBound)")
    }
    return quantity ?? 1
}

private func identifier<ID: Identifier>(_ text: String?, _ name: String) throws(AppStorePayloadError) -> ID {
    guard let text, let id = ID(rawValue: text) else {
        throw missing(name, "a string with \(ID.rule)")
    }
    return id
}

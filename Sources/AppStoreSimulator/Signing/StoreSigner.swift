import Foundation
import Primitives
import SignedData
import StoreModel

/// Signs what the store says about transactions, when somebody reads it.
struct StoreSigner: Sendable {
    private let signer: JWSSigner
    private let bundleID: BundleID
    private let catalogue: Catalogue
    private let signed = Locked<[Document: String]>([:])

    /// What was signed before is given out again as long as it says the same.
    private enum Document: Hashable {
        case transaction(TransactionRecord, appTransactionID: String)
        case renewalInfo(SubscriptionRecord, appTransactionID: String)
    }

    private static let rememberedDocuments = 4096

    init(chain: SigningChain, bundleID: BundleID, catalogue: Catalogue) {
        signer = JWSSigner(chain)
        self.bundleID = bundleID
        self.catalogue = catalogue
    }

    /// A transaction as an app gets it. `isFresh`: signed at `now` (a moment later when it has just changed); otherwise as it was first signed in this state.
    func storeTransaction(
        _ record: TransactionRecord, _ subscription: SubscriptionRecord?, appTransactionID: String, at now: Date,
        isFresh: Bool
    ) throws -> StoreTransaction {
        StoreTransaction(
            id: record.transactionID, originalID: record.originalTransactionID, productID: record.productID,
            kind: record.kind, purchaseDate: record.purchaseDate, expiresDate: record.expiresDate,
            revocationDate: record.revocationDate, quantity: record.quantity, appAccountToken: record.appAccountToken,
            signedTransaction: try sign(record, appTransactionID: appTransactionID, at: now, isFresh: isFresh),
            signedRenewalInfo: try subscription.map {
                try sign($0, appTransactionID: appTransactionID, at: now, isFresh: isFresh)
            })
    }

    func sign(
        _ record: TransactionRecord, appTransactionID: String, at now: Date, isFresh: Bool
    ) throws -> String {
        var document = record
        // Whether the app has finished is between the app and the queue; it is not part of what is signed.
        document.isFinished = false
        return try remembered(.transaction(document, appTransactionID: appTransactionID), isFresh: isFresh) {
            try signer.sign(payload(of: record, appTransactionID: appTransactionID, at: now))
        }
    }

    func sign(
        _ subscription: SubscriptionRecord, appTransactionID: String, at now: Date, isFresh: Bool
    ) throws -> String {
        try remembered(.renewalInfo(subscription, appTransactionID: appTransactionID), isFresh: isFresh) {
            try signer.sign(payload(of: subscription, appTransactionID: appTransactionID, at: now))
        }
    }

    private func remembered(_ document: Document, isFresh: Bool, _ sign: () throws -> String) throws -> String {
        if !isFresh, let known = signed.withLock({ $0[document] }) { return known }
        let text = try sign()
        guard !isFresh else { return text }
        return signed.withLock { signed in
            if signed.count >= Self.rememberedDocuments { signed.removeAll() }
            // Whoever was first to sign it has given it out.
            if let first = signed[document] { return first }
            signed[document] = text
            return text
        }
    }

    func payload(
        of record: TransactionRecord, appTransactionID: String, at now: Date
    ) -> JWSTransactionDecodedPayload {
        JWSTransactionDecodedPayload(
            transactionId: record.transactionID.rawValue,
            originalTransactionId: record.originalTransactionID.rawValue,
            webOrderLineItemId: record.webOrderLineItemID.map { String($0) }, bundleId: bundleID.rawValue,
            productId: record.productID.rawValue, subscriptionGroupIdentifier: record.groupID,
            purchaseDate: record.purchaseDate, originalPurchaseDate: record.originalPurchaseDate,
            expiresDate: record.expiresDate, quantity: record.quantity, type: .init(rawValue: record.kind.appleText),
            appAccountToken: record.appAccountToken, inAppOwnershipType: .purchased,
            signedDate: max(now, record.signedFrom),
            revocationDate: record.revocationDate, isUpgraded: record.isUpgraded ? true : nil,
            offerType: record.offer.map { .init(rawValue: $0.kind.rawValue) }, offerIdentifier: record.offer?.id,
            offerDiscountType: record.offer.map { .init(rawValue: $0.paymentMode.rawValue) },
            offerPeriod: record.offer?.period.iso8601, environment: .sandbox,
            transactionReason: record.isRenewal ? .renewal : .purchase,
            storefront: catalogue.storefront.countryCode, storefrontId: catalogue.storefront.id,
            price: Int(record.price.milliunits), currency: record.price.currency, appTransactionId: appTransactionID)
    }

    func payload(
        of subscription: SubscriptionRecord, appTransactionID: String, at now: Date
    ) -> JWSRenewalInfoDecodedPayload {
        let offer = subscription.autoRenews ? catalogue.nextOffer(of: subscription) : nil
        let next = catalogue[subscription.renewsTo]
        let price =
            offer.map { $0.offer.price ?? Price(amount: 0, currency: catalogue.storefront.currency) } ?? next?.price
        return JWSRenewalInfoDecodedPayload(
            originalTransactionId: "\(subscription.originalID)", productId: subscription.productID.rawValue,
            autoRenewProductId: subscription.renewsTo.rawValue, autoRenewStatus: subscription.autoRenews ? .on : .off,
            expirationIntent: subscription.expirationIntent.map { .init(rawValue: $0.rawValue) },
            isInBillingRetryPeriod: subscription.isActive ? nil : false,
            offerType: offer.map { .init(rawValue: $0.name.kind.rawValue) }, offerIdentifier: offer?.name.id,
            offerDiscountType: offer.map { .init(rawValue: $0.offer.paymentMode.rawValue) },
            offerPeriod: offer?.offer.period.iso8601, signedDate: max(now, subscription.signedFrom),
            environment: .sandbox,
            recentSubscriptionStartDate: subscription.startedAt, renewalDate: subscription.expiresDate,
            renewalPrice: subscription.autoRenews ? price.map { Int($0.milliunits) } : nil,
            currency: price?.currency ?? catalogue.storefront.currency, appTransactionId: appTransactionID,
            appAccountToken: subscription.appAccountToken)
    }
}

extension TransactionRecord {
    var transactionID: TransactionID { TransactionID(unchecked: String(id)) }
    var originalTransactionID: TransactionID { TransactionID(unchecked: String(originalID)) }
}

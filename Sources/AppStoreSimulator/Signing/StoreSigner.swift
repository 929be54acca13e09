import Foundation
import Primitives
import SignedData
import StoreModel

/// Signs what the store says about transactions, when somebody reads it.
struct StoreSigner: Sendable {
    let signer: JWSSigner
    let bundleID: BundleID
    private let catalogue: Catalogue
    private let signed = Locked<[Document: String]>([:])

    /// What was signed before is given out again as long as it says the same.
    private enum Document: Hashable {
        case transaction(TransactionRecord, appTransactionID: String, DeviceStamp?)
        /// What is so again is said anew: whoever reads it goes by the later date.
        case renewalInfo(RenewalInfo, since: Date, appTransactionID: String, DeviceStamp?)
    }

    private static let rememberedDocuments = 4096

    init(chain: SigningChain, bundleID: BundleID, catalogue: Catalogue) {
        signer = JWSSigner(chain)
        self.bundleID = bundleID
        self.catalogue = catalogue
    }

    /// A transaction as an app gets it on a device. `isFresh`: signed at `now`; otherwise as it was first signed in this
    /// state.
    func storeTransaction(
        _ record: TransactionRecord, _ course: Course?, for device: Books.Device, at now: Date, isFresh: Bool
    ) throws -> StoreTransaction {
        let appTransactionID = device.account.appTransactionID
        return StoreTransaction(
            id: record.transactionID, originalID: record.originalTransactionID, productID: record.productID,
            kind: record.kind, purchaseDate: record.purchaseDate.wholeMilliseconds,
            expiresDate: record.expiresDate?.wholeMilliseconds,
            revocationDate: record.revocation?.at.wholeMilliseconds, quantity: record.quantity,
            appAccountToken: record.appAccountToken,
            originalPurchaseDate: record.originalPurchaseDate.wholeMilliseconds,
            reason: record.isRenewal ? .renewal : .purchase,
            ownership: record.isShared ? .familyShared : .purchased,
            isUpgraded: record.upgradedAt != nil,
            revocationReason: record.revocation?.reason.map { .init(rawValue: $0) },
            subscriptionGroupID: record.groupID,
            offer: record.offer.map {
                TransactionOffer(
                    type: .init(rawValue: $0.kind.rawValue), id: $0.id,
                    paymentMode: .init(rawValue: $0.paymentMode.rawValue), period: $0.period)
            },
            signedTransaction: try sign(
                record, appTransactionID: appTransactionID, for: device.stamp, at: now, isFresh: isFresh),
            signedRenewalInfo: try course.map {
                try sign($0, appTransactionID: appTransactionID, for: device.stamp, at: now, isFresh: isFresh)
            })
    }

    /// For a device, or for a server.
    func sign(
        _ record: TransactionRecord, appTransactionID: String, for stamp: DeviceStamp? = nil, at now: Date,
        isFresh: Bool
    ) throws -> String {
        try remembered(.transaction(record, appTransactionID: appTransactionID, stamp), isFresh: isFresh) {
            var payload = payload(of: record, appTransactionID: appTransactionID, at: now)
            if let marks = try stamp?.marks(for: "transaction \(record.id)") {
                (payload.deviceVerification, payload.deviceVerificationNonce) = marks
            }
            return try signer.sign(payload)
        }
    }

    /// For a device, or for a server.
    func sign(
        _ course: Course, appTransactionID: String, for stamp: DeviceStamp? = nil, at now: Date, isFresh: Bool
    ) throws -> String {
        let info = renewalInfo(course)
        return try remembered(
            .renewalInfo(info, since: course.changedAt, appTransactionID: appTransactionID, stamp), isFresh: isFresh
        ) {
            var payload = payload(of: info, appTransactionID: appTransactionID, at: now)
            if let marks = try stamp?.marks(for: "renewal info \(info.originalID)") {
                (payload.deviceVerification, payload.deviceVerificationNonce) = marks
            }
            return try signer.sign(payload)
        }
    }

    /// How an account got the app itself, for one of its devices. The account got it when it was created.
    func appTransaction(of device: Books.Device, version: String, at now: Date) throws -> String {
        var payload = payload(ofAppTransaction: device.account, version: version, at: now)
        if let marks = try device.stamp?.marks(for: "app transaction") {
            (payload.deviceVerification, payload.deviceVerificationNonce) = marks
        }
        return try signer.sign(payload)
    }

    /// The same for a server.
    func appTransaction(of account: Books.Account, version: String, at now: Date) throws -> String {
        try signer.sign(payload(ofAppTransaction: account, version: version, at: now))
    }

    func payload(ofAppTransaction account: Books.Account, version: String, at now: Date) -> AppTransaction {
        AppTransaction(
            receiptType: .sandbox, bundleId: bundleID.rawValue, applicationVersion: version,
            receiptCreationDate: Self.signedDate(now), originalPurchaseDate: account.createdAt.wholeMilliseconds,
            originalApplicationVersion: SimulatedAppStore.originalApplicationVersion,
            appTransactionId: account.appTransactionID, originalPlatform: .iOS)
    }

    func renewalInfo(_ course: Course) -> RenewalInfo { RenewalInfo(course, catalogue) }

    static func signedDate(_ now: Date) -> Date { Date(microseconds: Moments.signed(now) * 1000) }

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
        let storefront = record.storefront.flatMap { Storefronts.storefront($0) } ?? catalogue.storefront
        return JWSTransactionDecodedPayload(
            transactionId: record.transactionID.rawValue,
            originalTransactionId: record.originalTransactionID.rawValue,
            webOrderLineItemId: record.webOrderLineItemID.map { String($0) }, bundleId: bundleID.rawValue,
            productId: record.productID.rawValue, subscriptionGroupIdentifier: record.groupID,
            purchaseDate: record.purchaseDate.wholeMilliseconds,
            originalPurchaseDate: record.originalPurchaseDate.wholeMilliseconds,
            expiresDate: record.expiresDate?.wholeMilliseconds, quantity: record.quantity,
            type: .init(rawValue: record.kind.appleText),
            appAccountToken: record.appAccountToken, inAppOwnershipType: record.isShared ? .familyShared : .purchased,
            signedDate: Self.signedDate(now), revocationDate: record.revocation?.at.wholeMilliseconds,
            revocationReason: record.revocation?.reason.map { .init(rawValue: $0) },
            revocationType: record.revocation.map { .init(rawValue: $0.kind.rawValue) },
            revocationPercentage: record.revocation?.percentage,
            isUpgraded: record.kind == .autoRenewableSubscription ? record.upgradedAt != nil : nil,
            offerType: record.offer.map { .init(rawValue: $0.kind.rawValue) }, offerIdentifier: record.offer?.id,
            offerDiscountType: record.offer.map { .init(rawValue: $0.paymentMode.rawValue) },
            offerPeriod: record.offer?.period.iso8601, environment: .sandbox,
            transactionReason: record.isRenewal ? .renewal : .purchase,
            storefront: storefront.countryCode, storefrontId: storefront.id,
            price: Int(record.price.milliunits), currency: record.price.currency, appTransactionId: appTransactionID)
    }

    func payload(of info: RenewalInfo, appTransactionID: String, at now: Date) -> JWSRenewalInfoDecodedPayload {
        JWSRenewalInfoDecodedPayload(
            originalTransactionId: "\(info.originalID)", productId: info.productID.rawValue,
            autoRenewProductId: info.renewsTo.rawValue, autoRenewStatus: info.autoRenews ? .on : .off,
            expirationIntent: info.expirationIntent.map { .init(rawValue: $0.rawValue) },
            isInBillingRetryPeriod: info.isInBillingRetry,
            gracePeriodExpiresDate: info.graceEnd,
            priceIncreaseStatus: info.hasConsented.map { .init(rawValue: $0 ? 1 : 0) },
            offerType: info.offer.map { .init(rawValue: $0.kind.rawValue) }, offerIdentifier: info.offer?.id,
            offerDiscountType: info.offer.map { .init(rawValue: $0.paymentMode.rawValue) },
            offerPeriod: info.offer?.period.iso8601, signedDate: Self.signedDate(now), environment: .sandbox,
            recentSubscriptionStartDate: info.startedAt.wholeMilliseconds,
            renewalDate: info.renewalDate.wholeMilliseconds,
            renewalPrice: info.price.map { Int($0.milliunits) }, currency: info.currency,
            eligibleWinBackOfferIds: info.winBackOffers.isEmpty ? nil : info.winBackOffers,
            appTransactionId: appTransactionID, appAccountToken: info.appAccountToken)
    }
}

/// How a subscription will go on, as the store says it.
struct RenewalInfo: Sendable, Hashable {
    var originalID: Int64
    var productID: ProductID
    var renewsTo: ProductID
    var autoRenews: Bool
    var expirationIntent: ExpirationIntent?
    var graceEnd: Date?
    var isInBillingRetry: Bool?
    /// Whether the customer agreed to the price increase that comes; `nil` where none does.
    var hasConsented: Bool?
    /// The offer of the next period.
    var offer: AppliedOffer?
    /// What the next period costs; `nil` when there is none.
    var price: Price?
    var currency: String
    var startedAt: Date
    var renewalDate: Date
    var winBackOffers: [String] = []
    var appAccountToken: UUID?

    init(_ course: Course, _ catalogue: Catalogue) {
        let next = course.nextSale()
        let (plan, offer) = (next.plan, next.offer)
        originalID = course.record.originalID
        productID = course.current.plan.productID
        renewsTo = plan.productID
        autoRenews = course.autoRenews
        expirationIntent = course.expirationIntent
        graceEnd = course.graceEnd
        isInBillingRetry =
            switch course.status {
            case .active: nil
            case .gracePeriod, .billingRetry: true
            case .expired, .revoked: false
            }
        hasConsented = course.increase == nil ? nil : course.hasConsented
        self.offer = course.autoRenews ? offer : nil
        currency = plan.price.currency
        let free = Price(amount: 0, currency: plan.price.currency)
        price = course.autoRenews ? offer.map { $0.price ?? free } ?? plan.price : nil
        startedAt = course.record.startedAt
        renewalDate = course.expiresDate
        if course.status == .expired {
            winBackOffers = catalogue[productID]?.winBackOffers.filter(\.isEligible).compactMap(\.id) ?? []
        }
        appAccountToken = course.record.appAccountToken
    }
}

extension TransactionRecord {
    var transactionID: TransactionID { TransactionID(unchecked: String(id)) }
    var originalTransactionID: TransactionID { TransactionID(unchecked: String(originalID)) }
}

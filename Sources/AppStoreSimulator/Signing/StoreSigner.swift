import AppStorePayloads
import Foundation
import Primitives
import SignedData
import StoreModel

/// Signs transactions, renewal info and app transactions when they are read.
struct StoreSigner: Sendable {
    let signer: JWSSigner
    let bundleID: BundleID
    private let catalogue: Catalogue
    private let signed = Locked<[Document: String]>([:])

    /// The content of a JWS. The JWS is reused while the content does not change.
    private enum Document: Hashable {
        case transaction(TransactionRecord, appTransactionID: String, DeviceBinding?)
        /// Renewal info that changes back to an earlier state is signed again, because readers use the latest one.
        case renewalInfo(RenewalInfo, since: Date, appTransactionID: String, DeviceBinding?)
    }

    private static let cacheCapacity = 4096

    init(chain: SigningChain, bundleID: BundleID, catalogue: Catalogue) {
        signer = JWSSigner(chain)
        self.bundleID = bundleID
        self.catalogue = catalogue
    }

    /// Returns a transaction for an app on a device. With `isFresh` it is signed at `now`; otherwise the first signed
    /// form of the same state is reused.
    func storeTransaction(
        _ record: TransactionRecord, _ state: SubscriptionState?, for device: SimulatorDatabase.Device, at now: Date,
        isFresh: Bool
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
            ownership: record.ownership,
            isUpgraded: record.upgradedAt != nil,
            revocationReason: record.revocation?.reason.map { .init(rawValue: $0) },
            subscriptionGroupID: record.groupID,
            offer: record.signedOffer,
            signedTransaction: try sign(
                record, appTransactionID: appTransactionID, for: device.binding, at: now, isFresh: isFresh),
            signedRenewalInfo: try state.map {
                try sign($0, appTransactionID: appTransactionID, for: device.binding, at: now, isFresh: isFresh)
            })
    }

    /// Signs a transaction, for a device with `binding` or for a server.
    func sign(
        _ record: TransactionRecord, appTransactionID: String, for binding: DeviceBinding? = nil, at now: Date,
        isFresh: Bool
    ) throws -> String {
        try cached(.transaction(record, appTransactionID: appTransactionID, binding), isFresh: isFresh) {
            var payload = payload(of: record, appTransactionID: appTransactionID, at: now)
            if let verification = try binding?.verification(for: "transaction \(record.id)") {
                (payload.deviceVerification, payload.deviceVerificationNonce) = verification
            }
            return try signer.sign(payload)
        }
    }

    /// Signs the renewal info of a subscription, for a device with `binding` or for a server.
    func sign(
        _ state: SubscriptionState, appTransactionID: String, for binding: DeviceBinding? = nil, at now: Date,
        isFresh: Bool
    ) throws -> String {
        let info = renewalInfo(state)
        return try cached(
            .renewalInfo(info, since: state.changedAt, appTransactionID: appTransactionID, binding), isFresh: isFresh
        ) {
            var payload = payload(of: info, appTransactionID: appTransactionID, at: now)
            if let verification = try binding?.verification(for: "renewal info \(info.originalID)") {
                (payload.deviceVerification, payload.deviceVerificationNonce) = verification
            }
            return try signer.sign(payload)
        }
    }

    /// Signs the app transaction of an account for one of its devices. Its purchase date is the creation of the
    /// account.
    func appTransaction(of device: SimulatorDatabase.Device, version: String, at now: Date) throws -> String {
        var payload = payload(ofAppTransaction: device.account, version: version, at: now)
        if let verification = try device.binding?.verification(for: "app transaction") {
            (payload.deviceVerification, payload.deviceVerificationNonce) = verification
        }
        return try signer.sign(payload)
    }

    /// Signs the app transaction of an account for a server.
    func appTransaction(of account: SimulatorDatabase.Account, version: String, at now: Date) throws -> String {
        try signer.sign(payload(ofAppTransaction: account, version: version, at: now))
    }

    func payload(ofAppTransaction account: SimulatorDatabase.Account, version: String, at now: Date) -> AppTransaction {
        AppTransaction {
            $0.receiptType = .sandbox
            $0.bundleId = bundleID.rawValue
            $0.applicationVersion = version
            $0.receiptCreationDate = Self.signedDate(now)
            $0.originalPurchaseDate = account.createdAt.wholeMilliseconds
            $0.originalApplicationVersion = SimulatedAppStore.originalApplicationVersion
            $0.appTransactionId = account.appTransactionID
            $0.originalPlatform = .iOS
        }
    }

    func renewalInfo(_ state: SubscriptionState) -> RenewalInfo { RenewalInfo(state, catalogue) }

    static func signedDate(_ now: Date) -> Date { Date(microseconds: Timestamps.signed(now) * 1000) }

    /// Returns the signed form of a document: the cached form, unless `isFresh`. If two threads sign the same
    /// document at once, both return the form that was stored first.
    private func cached(_ document: Document, isFresh: Bool, _ sign: () throws -> String) throws -> String {
        if !isFresh, let known = signed.withLock({ $0[document] }) { return known }
        let text = try sign()
        guard !isFresh else { return text }
        return signed.withLock { signed in
            if signed.count >= Self.cacheCapacity { signed.removeAll() }
            if let first = signed[document] { return first }
            signed[document] = text
            return text
        }
    }

    func payload(
        of record: TransactionRecord, appTransactionID: String, at now: Date
    ) -> JWSTransactionDecodedPayload {
        let storefront = record.storefront.flatMap { Storefronts.storefront($0) } ?? catalogue.storefront
        return JWSTransactionDecodedPayload {
            $0.transactionId = record.transactionID.rawValue
            $0.originalTransactionId = record.originalTransactionID.rawValue
            $0.webOrderLineItemId = record.webOrderLineItemID.map { String($0) }
            $0.bundleId = bundleID.rawValue
            $0.productId = record.productID.rawValue
            $0.subscriptionGroupIdentifier = record.groupID
            $0.purchaseDate = record.purchaseDate.wholeMilliseconds
            $0.originalPurchaseDate = record.originalPurchaseDate.wholeMilliseconds
            $0.expiresDate = record.expiresDate?.wholeMilliseconds
            $0.quantity = record.quantity
            $0.type = record.kind
            $0.appAccountToken = record.appAccountToken
            $0.inAppOwnershipType = record.ownership
            $0.signedDate = Self.signedDate(now)
            $0.revocationDate = record.revocation?.at.wholeMilliseconds
            $0.revocationReason = record.revocation?.reason.map { .init(rawValue: $0) }
            $0.revocationType = record.revocation.map { .init(rawValue: $0.kind.rawValue) }
            $0.revocationPercentage = record.revocation?.percentage
            $0.isUpgraded = record.kind == .autoRenewableSubscription ? record.upgradedAt != nil : nil
            let offer = record.signedOffer
            $0.offerType = offer?.type
            $0.offerIdentifier = offer?.id
            $0.offerDiscountType = offer?.paymentMode
            $0.offerPeriod = offer?.period?.iso8601
            $0.environment = .sandbox
            $0.transactionReason = record.isRenewal ? .renewal : .purchase
            $0.storefront = storefront.countryCode
            $0.storefrontId = storefront.id
            $0.price = Int(record.price.milliunits)
            $0.currency = record.price.currency
            $0.appTransactionId = appTransactionID
            $0.billingPlanType = record.billingPlan.map { .init(rawValue: $0.rawValue) }
            $0.commitmentInfo = record.commitment.map { commitment in
                AppStoreServerAPI.TransactionCommitmentInfo {
                    $0.billingPeriodNumber = commitment.bill
                    $0.totalBillingPeriods = commitment.bills
                    $0.commitmentExpiresDate = commitment.endsAt.wholeMilliseconds
                    $0.commitmentPrice = Int(commitment.price.milliunits)
                }
            }
            $0.multiSeatInfo = record.multiSeatInfo
            $0.additionalTransactionReason =
                record.hasSeatAdditions || record.additionTo != nil ? .seatAddition : nil
        }
    }

    func payload(of info: RenewalInfo, appTransactionID: String, at now: Date) -> JWSRenewalInfoDecodedPayload {
        JWSRenewalInfoDecodedPayload {
            $0.originalTransactionId = "\(info.originalID)"
            $0.productId = info.productID.rawValue
            $0.autoRenewProductId = info.renewsTo.rawValue
            $0.autoRenewStatus = info.autoRenews ? .on : .off
            $0.expirationIntent = info.expirationIntent.map { .init(rawValue: $0.rawValue) }
            $0.isInBillingRetryPeriod = info.isInBillingRetry
            $0.gracePeriodExpiresDate = info.graceEnd
            $0.priceIncreaseStatus = info.hasConsented.map { .init(rawValue: $0 ? 1 : 0) }
            $0.offerType = info.offer.map { .init(rawValue: $0.kind.rawValue) }
            $0.offerIdentifier = info.offer?.id
            $0.offerDiscountType = info.offer.map { .init(rawValue: $0.paymentMode.rawValue) }
            $0.offerPeriod = info.offer?.period.iso8601
            $0.signedDate = Self.signedDate(now)
            $0.environment = .sandbox
            $0.recentSubscriptionStartDate = info.startedAt.wholeMilliseconds
            $0.renewalDate = info.renewalDate.wholeMilliseconds
            $0.renewalPrice = info.price.map { Int($0.milliunits) }
            $0.currency = info.currency
            $0.eligibleWinBackOfferIds = info.winBackOffers.isEmpty ? nil : info.winBackOffers
            $0.appTransactionId = appTransactionID
            $0.appAccountToken = info.appAccountToken
            $0.renewalBillingPlanType = info.billingPlan.map { .init(rawValue: $0.rawValue) }
            $0.commitmentInfo = info.nextCommitment.map { next in
                AppStoreServerAPI.RenewalCommitmentInfo {
                    $0.commitmentAutoRenewProductId = next.productID.rawValue
                    $0.commitmentAutoRenewStatus = next.renews ? .on : .off
                    $0.commitmentRenewalBillingPlanType = .init(rawValue: next.billingPlan.rawValue)
                    $0.commitmentRenewalDate = next.date.wholeMilliseconds
                    $0.commitmentRenewalPrice = next.price.map { Int($0.milliunits) }
                }
            }
            if let seats = info.seats, let price = info.price {
                $0.renewalQuantity = seats.count
                $0.multiSeatInfo = .init { $0.renewalPriceTiers = [.init(price, seats.count)] }
            }
        }
    }
}

/// The next renewal of a subscription, as the signed renewal info describes it.
struct RenewalInfo: Sendable, Hashable {
    var originalID: Int64
    var productID: ProductID
    var renewsTo: ProductID
    var autoRenews: Bool
    var expirationIntent: ExpirationIntent?
    var graceEnd: Date?
    var isInBillingRetry: Bool?
    /// Whether the customer consented to the next price increase; `nil` if there is none.
    var hasConsented: Bool?
    /// The offer of the next period.
    var offer: AppliedOffer?
    /// The price of the next period; `nil` if the subscription does not renew.
    var price: Price?
    var currency: String
    var startedAt: Date
    var renewalDate: Date
    var winBackOffers: [String] = []
    var appAccountToken: UUID?
    /// The seats of the next period.
    var seats: Seats?
    /// The billing plan of the next period; `nil` if the subscription does not renew.
    var billingPlan: BillingPlan.Kind?
    /// Present while a commitment that is billed monthly runs.
    var nextCommitment: NextCommitment?

    /// The renewal after the commitment.
    struct NextCommitment: Sendable, Hashable {
        var productID: ProductID
        var billingPlan: BillingPlan.Kind
        var renews: Bool
        var date: Date
        /// The price of all bills, or of the offer; `nil` if the commitment does not renew.
        var price: Price?
    }

    init(_ state: SubscriptionState, _ catalogue: Catalogue) {
        let next = state.nextSale()
        let (plan, offer) = (next.plan, next.offer)
        originalID = state.record.originalID
        productID = state.current.plan.productID
        renewsTo = plan.productID
        autoRenews = state.autoRenews
        expirationIntent = state.expirationIntent
        graceEnd = state.graceEnd
        isInBillingRetry =
            switch state.status {
            case .active: nil
            case .gracePeriod, .billingRetry: true
            case .expired, .revoked: false
            }
        hasConsented = state.increase == nil ? nil : state.hasConsented
        self.offer = state.autoRenews ? offer : nil
        currency = plan.price.currency
        let free = Price(amount: 0, currency: plan.price.currency)
        price = state.autoRenews ? offer.map { $0.price ?? free } ?? plan.price : nil
        startedAt = state.record.startedAt
        seats = state.autoRenews ? plan.seats : nil
        renewalDate = state.expiresDate
        winBackOffers = catalogue[productID].map { state.eligibleWinBackOffers(of: $0) }?.compactMap(\.id) ?? []
        appAccountToken = state.record.appAccountToken
        billingPlan = state.autoRenews ? plan.billingPlan : nil
        guard state.isRunning, let commitment = state.latest.commitment else { return }
        let term = state.nextTerm()
        nextCommitment = NextCommitment(
            productID: term.plan.productID, billingPlan: term.plan.billingPlan, renews: state.renewsTerm,
            date: commitment.endsAt,
            price: state.renewsTerm ? term.offer.map { $0.price ?? free } ?? term.plan.termPrice : nil)
    }
}

extension TransactionRecord {
    var transactionID: TransactionID { TransactionID(unchecked: String(id)) }
    var originalTransactionID: TransactionID { TransactionID(unchecked: String(originalID)) }
}

extension TransactionRecord {
    var ownership: AppStoreServerAPI.InAppOwnershipType {
        isAssigned ? .assigned : isShared ? .familyShared : .purchased
    }

    fileprivate var multiSeatInfo: AppStoreServerAPI.TransactionMultiSeatInfo? {
        seats.map { seats in
            AppStoreServerAPI.TransactionMultiSeatInfo {
                $0.invitationManagement = .init(rawValue: seats.invitations.rawValue)
                $0.priceTiers = [.init(price, quantity)]
                $0.revokedSeatQuantity = isShared ? nil : refundedSeats
            }
        }
    }
}

extension AppStoreServerAPI.MultiSeatPriceTier {
    fileprivate init(_ price: Price, _ quantity: Int) {
        self.init {
            $0.price = Int(price.milliunits)
            $0.quantity = quantity
        }
    }
}

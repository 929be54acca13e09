import Foundation
import Primitives

/// Computes the entitlements of a customer at one instant from the customer's state. It is a pure function: the same
/// state and instant give the same answer.
///
///     var state = CustomerState()
///     for fact in facts { state.apply(fact) }
///     let answer = EntitlementReducer(features: map).customer(id, in: .sandbox, state, at: clock.now())
///
/// - Expiry is exclusive: at the instant of expiry a feature is off.
/// - A period ends at the date that the store states, or at the end of the grace period if the store states one. A
///   subscription in billing retry gives no access.
/// - A revoked transaction gives no access, from the moment at which the revocation is known.
/// - An upgraded period gives no access.
/// - `subscriptions` has the auto-renewable subscriptions, and `purchases` has all other purchases. A non-renewing
///   subscription ends at its `expiresDate` if the store states one. Otherwise it has no end, and the app must decide
///   when it ends.
package struct EntitlementReducer: Sendable {
    package let features: FeatureMap

    package init(features: FeatureMap = FeatureMap()) { self.features = features }

    /// Returns the answer at `instant`. It remains correct until its `validUntil`.
    package func customer(
        _ id: CustomerID, in environment: StoreEnvironment, _ state: CustomerState, at instant: Date
    ) -> Customer {
        let sortedState = SortedState(state, features: features)
        var answer = sortedState.answer(id, environment, at: instant)
        answer.validUntil = sortedState.instants.lazy.filter { $0 > instant }.first { later in
            var laterAnswer = sortedState.answer(id, environment, at: later)
            laterAnswer.asOf = instant
            return laterAnswer != answer
        }
        return answer
    }

    /// Returns the pairs of subscriptions with which the customer pays twice for the same features, in their order.
    package func doublePayments(in state: CustomerState, at instant: Date) -> [DoublePayment] {
        // Without a renewal info, a subscription is not known to renew.
        guard state.renewals.count > 1 else { return [] }
        return SortedState(state, features: features).doublePayments(at: instant)
    }
}

/// The state of a customer, sorted into subscriptions, purchases and grants.
private struct SortedState {
    let features: FeatureMap
    let subscriptions: [SubscriptionTimeline]
    let purchases: [TransactionFact]
    let grants: [Grant]
    /// The instants at which an answer can change, sorted, without repetition.
    let instants: [Date]

    init(_ state: CustomerState, features: FeatureMap) {
        self.features = features
        let known = state.transactions.values
        let renewing = known.filter { $0.newest.kind == .autoRenewableSubscription }
        subscriptions = Dictionary(grouping: renewing, by: \.newest.originalID).sorted { $0.key < $1.key }
            .map { SubscriptionTimeline($0.value, renewals: state.renewals[$0.key] ?? []) }
        purchases = known.map(\.newest).filter { $0.kind != .autoRenewableSubscription }
            .sorted { ($0.purchaseDate, $0.id) < ($1.purchaseDate, $1.id) }
        grants = state.grants.values.sorted { ($0.from, $0.id) < ($1.from, $1.id) }
        let ends = purchases.compactMap(\.expiresDate) + grants.compactMap(\.until)
        instants = Set(subscriptions.flatMap(\.instants) + ends).sorted()
    }

    func answer(_ id: CustomerID, _ environment: StoreEnvironment, at instant: Date) -> Customer {
        let statuses = subscriptions.map { $0.status(at: instant) }
        let payers = payers(among: statuses)
        let all =
            statuses.flatMap { features(of: $0, payers: payers) } + purchases.flatMap { features(of: $0, at: instant) }
            + grants.map { feature(of: $0, at: instant) }
        return Customer(
            customer: id, environment: environment, asOf: instant, features: Self.merged(all),
            subscriptions: statuses.map(\.subscription).sorted {
                ($0.startedAt, $0.originalTransactionID) < ($1.startedAt, $1.originalTransactionID)
            }, purchases: purchases.map(\.purchase),
            managementURL: statuses.contains { $0.isManagedInAppStore } ? Self.appStoreSubscriptions : nil)
    }

    /// The page of the App Store on which customers change and cancel subscriptions.
    fileprivate static let appStoreSubscriptions = "https://apps.apple.com/account/subscriptions"

    /// Returns the sources of the subscriptions that the customer pays for each feature now.
    private func payers(among statuses: [SubscriptionTimeline.Status]) -> [ExactString: [PurchaseSource]] {
        var payers: [ExactString: [PurchaseSource]] = [:]
        for status in statuses where status.hasAccess && status.isPaidFurther {
            for name in features.features(of: status.period.productID, kind: status.period.kind) {
                payers[ExactString(name), default: []].append(status.period.source)
            }
        }
        return payers
    }

    func doublePayments(at instant: Date) -> [DoublePayment] {
        let paid = subscriptions.lazy.map { $0.status(at: instant) }.filter(\.isPaidFurther)
            .prefix(DoublePayment.maximumSubscriptions)
            .map { ($0, Set(features.features(of: $0.period.productID, kind: $0.period.kind).map { ExactString($0) })) }
        let statuses = Array(paid)
        return statuses.indices.flatMap { index in
            statuses[(index + 1)...].compactMap { second -> DoublePayment? in
                let first = statuses[index]
                let common = first.1.intersection(second.1)
                guard !common.isEmpty else { return nil }
                return DoublePayment(
                    subscriptions: [first.0.subscription, second.0.subscription],
                    features: common.sorted().map(\.rawValue), isPresent: first.0.hasAccess && second.0.hasAccess)
            }
        }
    }

    private func features(
        of status: SubscriptionTimeline.Status, payers: [ExactString: [PurchaseSource]]
    ) -> [CustomerFeature] {
        let period = status.period
        let isPaid = status.hasAccess && status.isPaidFurther
        return features.features(of: period.productID, kind: period.kind).map { name in
            let warning = isPaid ? Self.warning(of: payers[ExactString(name)] ?? []) : ""
            return CustomerFeature(
                name: name, isActive: status.hasAccess, from: period.purchaseDate, until: status.expiresAt,
                effectiveUntil: status.effectiveUntil, source: period.source, productID: period.productID,
                originalTransactionID: period.originalID, because: status.because + warning)
        }
    }

    /// Returns the words that several subscriptions pay for a feature, and where to cancel one; empty for one payer.
    private static func warning(of payers: [PurchaseSource]) -> String {
        guard payers.count > 1 else { return "" }
        let stores = Set(payers).sorted().map(\.place).joined(separator: " or ")
        return payers.count == 2
            ? ", but two subscriptions pay for this: cancel one \(stores)"
            : ", but \(payers.count) subscriptions pay for this: cancel all but one \(stores)"
    }

    private func features(of purchase: TransactionFact, at instant: Date) -> [CustomerFeature] {
        let isOver = purchase.expiresDate.map { instant >= $0 } ?? false
        let because =
            if purchase.revocationDate != nil {
                "refunded or revoked by the store"
            } else if isOver {
                "its time is over"
            } else if purchase.isFamilyShared {
                "shared by the family"
            } else {
                "bought"
            }
        let end = [purchase.expiresDate, purchase.revocationDate].compactMap(\.self).min()
        return features.features(of: purchase.productID, kind: purchase.kind).map { name in
            CustomerFeature(
                name: name, isActive: purchase.revocationDate == nil && !isOver, from: purchase.purchaseDate,
                until: purchase.expiresDate, effectiveUntil: end, source: purchase.source,
                productID: purchase.productID, originalTransactionID: purchase.originalID, because: because)
        }
    }

    private func feature(of grant: Grant, at instant: Date) -> CustomerFeature {
        let isOver = grant.until.map { instant >= $0 } ?? false
        return CustomerFeature(
            name: grant.feature, isActive: !isOver, from: grant.from, until: grant.until, effectiveUntil: grant.until,
            source: .grant, because: isOver ? "grant ended: \(grant.reason)" : "granted: \(grant.reason)",
            grantID: grant.id)
    }

    /// Returns one entry for each feature of each purchase and grant. If a purchase has several entries for a feature,
    /// active entries have priority, and then the entry that ends last.
    private static func merged(_ features: [CustomerFeature]) -> [CustomerFeature] {
        struct Key: Hashable {
            let name: ExactString
            let source: PurchaseSource
            let origin: ExactString
        }
        var best: [Key: CustomerFeature] = [:]
        for feature in features {
            let origin = feature.originalTransactionID?.rawValue ?? feature.grantID ?? ""
            let key = Key(
                name: ExactString(feature.name), source: feature.source, origin: ExactString(origin))
            if let other = best[key], !feature.givesMore(than: other) { continue }
            best[key] = feature
        }
        return best.sorted { left, right in
            let (one, other) = (left.key, right.key)
            if one.name != other.name { return one.name < other.name }
            if left.value.isActive != right.value.isActive { return left.value.isActive }
            return (one.source, one.origin) < (other.source, other.origin)
        }.map(\.value)
    }
}

extension CustomerFeature {
    fileprivate func givesMore(than other: CustomerFeature) -> Bool {
        if isActive != other.isActive { return isActive }
        return (effectiveUntil ?? .distantFuture) > (other.effectiveUntil ?? .distantFuture)
    }
}

extension TransactionFact {
    fileprivate var purchase: CustomerPurchase {
        CustomerPurchase(
            productID: productID, transactionID: id, originalTransactionID: originalID, kind: kind,
            purchasedAt: purchaseDate, quantity: quantity,
            refundedQuantity: refundedQuantity > 0 ? refundedQuantity : nil, revokedAt: revocationDate, source: source)
    }
}

extension PurchaseSource {
    /// The place where a customer cancels a subscription, with its preposition.
    fileprivate var place: String {
        switch self {
        case .appStore: "in the App Store"
        case .googlePlay: "at Google Play"
        case .web: "in the web shop"
        default: "at \(rawValue)"
        }
    }
}

extension TransactionFact {
    /// Whether the customer pays nothing in this and in each later period: the price is 0 without an offer. At Google Play
    /// a period of 0 follows a replacement, and no subscription is free for good.
    fileprivate var isFree: Bool {
        source != .googlePlay && price?.amount == 0 && !isTrial && !isIntroductory && offerType == nil
            && offerIdentifier == nil
    }
}

extension SubscriptionTimeline.Status {
    /// Whether the customer will pay for another period, unless a payment fails. It does not matter whether the
    /// subscription gives access now.
    fileprivate var isPaidFurther: Bool {
        guard let renewal, renewal.autoRenews == true, !renewal.isCancelled else { return false }
        return !period.isFamilyShared && !period.isAssigned && !period.isFree && !period.isUpgraded
            && period.revocationDate == nil
    }

    /// Whether the customer can change the subscription in the App Store: it was bought there and has not ended.
    fileprivate var isManagedInAppStore: Bool {
        period.source == .appStore && [.active, .inGracePeriod, .inBillingRetry, .paused].contains(state)
    }

    fileprivate var subscription: CustomerSubscription {
        CustomerSubscription(
            productID: period.productID, originalTransactionID: period.originalID, groupID: period.groupID,
            state: state, startedAt: startedAt, expiresAt: expiresAt, effectiveUntil: effectiveUntil,
            autoRenews: renewal?.autoRenews, renewsTo: renewal?.autoRenews == false ? nil : renewal?.renewsTo,
            isTrial: period.isTrial, isIntroductory: period.isIntroductory, gracePeriodUntil: gracePeriodUntil,
            cancelledAt: cancelledAt, revokedAt: period.revocationDate, price: period.price, source: period.source,
            managementURL: managementURL)
    }

    /// The page of the store on which the customer changes and cancels this subscription.
    private var managementURL: String? {
        switch period.source {
        case .appStore: return SortedState.appStoreSubscriptions
        case .googlePlay:
            guard let package = period.packageName else { return nil }
            var query = URLComponents()
            query.queryItems = [
                URLQueryItem(name: "sku", value: period.productID.rawValue),
                URLQueryItem(name: "package", value: package),
            ]
            return "https://play.google.com/store/account/subscriptions?" + (query.percentEncodedQuery ?? "")
        default: return nil
        }
    }

    fileprivate var because: String {
        switch state {
        case .active:
            var words = period.isTrial ? "free trial" : "active subscription"
            switch renewal?.autoRenews {
            case true? where renewal?.isCancelled == true: words += ", is billed until its commitment ends"
            case true?:
                words += ", renews"
                if let next = renewal?.renewsTo, next != period.productID { words += " as \(next)" }
            case false?: words += ", does not renew"
            case nil: break
            }
            if period.isAssigned { return words + ", a seat of another customer's subscription" }
            return period.isFamilyShared ? words + ", shared by the family" : words
        case .inGracePeriod: return "payment failed, within the store's grace period"
        case .inBillingRetry: return "payment failed, the store is still trying"
        case .paused: return "paused by the customer"
        case .revoked: return "refunded or revoked by the store"
        default:
            guard period.isUpgraded else { return "subscription expired" }
            return period.source == .googlePlay
                ? "replaced by another subscription" : "upgraded to another subscription"
        }
    }
}

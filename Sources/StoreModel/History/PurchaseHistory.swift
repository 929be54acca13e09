import Foundation

/// The purchases of a customer, and their status at an instant. All methods are pure functions of the records and
/// `now`.
///
///     let history = PurchaseHistory(verified.receipt.purchaseRecords)
///     history.status(of: "com.example.lifetime").state                         // purchased
///     history.subscription(to: ["com.example.monthly", "com.example.yearly"], at: clock.now()).isActive
///
/// Records do not state whether a subscription renews or is in its grace period. `EntitlementReducer` computes both
/// from signed facts. A purchase with a date after `now` counts like any other, because the store's clock can be ahead.
package struct PurchaseHistory: Hashable, Sendable {
    /// One record of each transaction, in the order of purchase dates.
    package let records: [PurchaseRecord]

    /// Creates a history. If a transaction has several records, the one signed last counts; if they were signed at the
    /// same time, the last one in `records`. All records without a transaction id are kept.
    package init(_ records: some Sequence<PurchaseRecord>) {
        var newest: [TransactionID: PurchaseRecord] = [:]
        var withoutID: [PurchaseRecord] = []
        for record in records {
            guard let id = record.transactionID else {
                withoutID.append(record)
                continue
            }
            if let known = newest[id], known.signedDate ?? .distantPast > record.signedDate ?? .distantPast { continue }
            newest[id] = record
        }
        self.records = (Array(newest.values) + withoutID).sorted { $0.isOrdered(before: $1) }
    }

    /// The products that were bought, including refunded ones.
    package var productIDs: Set<ProductID> { Set(records.map(\.productID)) }

    /// The purchases that the store revoked, in the order of purchase dates.
    package var refunds: [PurchaseRecord] { records.filter { $0.refundDate != nil } }

    /// Returns the status of a product: `purchased` if one purchase of it was neither revoked nor upgraded. Ignores the
    /// end of a subscription period.
    package func status(of product: ProductID) -> PurchaseStatus {
        let bought = records.filter { $0.productID == product }
        if let record = bought.last(where: \.isInEffect) { return PurchaseStatus(.purchased, record) }
        return PurchaseStatus(withoutAccess: bought)
    }

    /// Returns the status at `now` of an auto-renewable subscription to any of these products. Pass all products of one
    /// group.
    ///
    /// The subscription is active until the latest end of the periods that were neither refunded nor upgraded. The end
    /// is exclusive. After that, it is `refunded` or `upgraded` if the last period was, and otherwise `expired`.
    package func subscription(to products: Set<ProductID>, at now: Date) -> PurchaseStatus {
        let periods = records.filter { products.contains($0.productID) && $0.expiresDate != nil }
        return Self.status(of: periods, at: now) { $0.expiresDate ?? $0.purchaseDate }
    }

    /// Returns the status at `now` of a non-renewing subscription for which each purchase lasts `period` from its
    /// original date.
    ///
    /// The store does not know the end of these subscriptions; the app decides how long they last. Overlapping
    /// purchases are not added up: the latest end decides, and it is exclusive.
    package func nonRenewingSubscription(
        to products: Set<ProductID>, lasting period: SubscriptionPeriod, at now: Date
    ) -> PurchaseStatus {
        let bought = records.filter { products.contains($0.productID) }
        return Self.status(of: bought, at: now) { period.end(from: $0.originalPurchaseDate) }
    }

    /// Returns whether the customer is eligible for an introductory offer of a subscription group: a customer who never
    /// had one in the group and does not subscribe to it now (Apple: Implementing introductory offers in your app).
    ///
    /// A refund does not make the customer eligible again.
    ///
    /// - Parameters:
    ///   - products: All products of the group, including those no longer sold.
    ///   - groupID: The group, for records that have it.
    ///   - now: The instant.
    package func isEligibleForIntroductoryOffer(
        in products: Set<ProductID>, groupID: String? = nil, at now: Date
    ) -> Bool {
        let group = records.filter { record in
            products.contains(record.productID) || (groupID != nil && record.groupID == groupID)
        }
        if group.contains(where: \.usedIntroductoryOffer) { return false }
        return !subscription(to: products.union(group.map(\.productID)), at: now).isActive
    }

    private static func status(
        of periods: [PurchaseRecord], at now: Date, end: (PurchaseRecord) -> Date
    ) -> PurchaseStatus {
        let latest = periods.filter(\.isInEffect).reduce(nil as PurchaseRecord?) { latest, period in
            latest.map { end($0) > end(period) } == true ? latest : period
        }
        if let latest, now < end(latest) { return PurchaseStatus(.active, latest, expiresDate: end(latest)) }
        guard let last = periods.last else { return PurchaseStatus(withoutAccess: []) }
        if !last.isInEffect { return PurchaseStatus(withoutAccess: periods, expiresDate: end(last)) }
        let expired = latest ?? last
        return PurchaseStatus(.expired, expired, expiresDate: end(expired))
    }
}

/// The status of a purchase or subscription at an instant.
package struct PurchaseStatus: Hashable, Sendable {
    /// A state, from an open set.
    package struct State: RawRepresentable, Hashable, Sendable {
        package let rawValue: String
        package init(rawValue: String) { self.rawValue = rawValue }

        /// There is no purchase.
        package static let notPurchased = State(rawValue: "notPurchased")
        /// The product was bought and not revoked.
        package static let purchased = State(rawValue: "purchased")
        /// The current period has not ended.
        package static let active = State(rawValue: "active")
        /// The last period has ended.
        package static let expired = State(rawValue: "expired")
        /// The store revoked the last purchase.
        package static let refunded = State(rawValue: "refunded")
        /// The customer changed from the last purchase to a higher level of the group.
        package static let upgraded = State(rawValue: "upgraded")
    }

    package var state: State
    /// The purchase that decides the state, or `nil` if there is none.
    package var record: PurchaseRecord?
    /// The end of the period, or `nil` if there is none. `status(of:)` leaves it `nil`.
    package var expiresDate: Date?

    package init(_ state: State, _ record: PurchaseRecord?, expiresDate: Date? = nil) {
        self.state = state
        self.record = record
        self.expiresDate = expiresDate
    }

    /// Whether the purchase gives access.
    package var isActive: Bool { state == .active || state == .purchased }

    /// Creates the status of purchases that give no access. The last purchase decides the state.
    fileprivate init(withoutAccess bought: [PurchaseRecord], expiresDate: Date? = nil) {
        guard let last = bought.last else {
            self.init(.notPurchased, nil)
            return
        }
        self.init(last.refundDate != nil ? .refunded : .upgraded, last, expiresDate: expiresDate)
    }
}

extension PurchaseRecord {
    /// Whether the purchase was neither revoked nor upgraded.
    fileprivate var isInEffect: Bool { refundDate == nil && !isUpgraded }

    fileprivate func isOrdered(before other: PurchaseRecord) -> Bool {
        if purchaseDate != other.purchaseDate { return purchaseDate < other.purchaseDate }
        let (end, otherEnd) = (expiresDate ?? purchaseDate, other.expiresDate ?? other.purchaseDate)
        if end != otherEnd { return end < otherEnd }
        return (transactionID?.rawValue ?? "", productID) < (other.transactionID?.rawValue ?? "", other.productID)
    }
}

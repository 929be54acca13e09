import Foundation

/// What a customer bought, and what that means at an instant: pure functions of records and `now`.
///
///     let history = PurchaseHistory(verified.receipt.purchaseRecords)
///     history.standing(of: "com.example.lifetime").state                       // purchased
///     history.subscription(to: ["com.example.monthly", "com.example.yearly"], at: clock.now()).isActive
///
/// Records do not say what the store may know besides: whether a subscription will renew, or runs on in a grace period.
/// Who needs that folds signed facts with `EntitlementReducer`. A purchase made a little after `now`, by a clock that
/// differs from the store's, counts like any other.
package struct PurchaseHistory: Hashable, Sendable {
    /// One record of each transaction, ordered by date of purchase.
    package let records: [PurchaseRecord]

    /// Of several records of one transaction the one signed last counts; of several signed at once, the last one given.
    /// Records without a transaction id are all kept.
    package init(_ records: some Sequence<PurchaseRecord>) {
        var newest: [TransactionID: PurchaseRecord] = [:]
        var unnamed: [PurchaseRecord] = []
        for record in records {
            guard let id = record.transactionID else {
                unnamed.append(record)
                continue
            }
            if let known = newest[id], known.signedDate ?? .distantPast > record.signedDate ?? .distantPast { continue }
            newest[id] = record
        }
        self.records = (Array(newest.values) + unnamed).sorted { $0.isOrdered(before: $1) }
    }

    /// The products that were ever bought, refunded ones included.
    package var productIDs: Set<ProductID> { Set(records.map(\.productID)) }

    /// The purchases the store took back, ordered by date of purchase.
    package var refunds: [PurchaseRecord] { records.filter { $0.refundDate != nil } }

    /// Whether a product was bought and not taken back; the end of a subscription period plays no part.
    package func status(of product: ProductID) -> PurchaseStatus {
        let bought = records.filter { $0.productID == product }
        if let record = bought.last(where: \.isInEffect) { return PurchaseStatus(.purchased, record) }
        return PurchaseStatus(withoutAccess: bought)
    }

    /// Whether an auto-renewable subscription to any of these products, as those of one group, runs at `now`.
    ///
    /// With several renewals the latest end of a period that was neither refunded nor upgraded decides, and it is
    /// exclusive.
    package func subscription(to products: Set<ProductID>, at now: Date) -> PurchaseStatus {
        let periods = records.filter { products.contains($0.productID) && $0.expiresDate != nil }
        return Self.status(of: periods, at: now) { $0.expiresDate ?? $0.purchaseDate }
    }

    /// Whether a non-renewing subscription runs at `now`, when each purchase lasts `period` from the day it was bought.
    ///
    /// The store knows no end of these: the app says how long they last. Purchases that overlap are not added up; the
    /// latest end decides, and it is exclusive.
    package func nonRenewingSubscription(
        to products: Set<ProductID>, lasting period: SubscriptionPeriod, at now: Date
    ) -> PurchaseStatus {
        let bought = records.filter { products.contains($0.productID) }
        return Self.status(of: bought, at: now) { period.end(from: $0.originalPurchaseDate) }
    }

    /// Whether the customer may take an introductory offer of a subscription group: who never had one in the group, and
    /// does not subscribe to it now (Apple: Implementing introductory offers in your app).
    ///
    /// A refund does not give the offer back.
    ///
    /// - Parameters:
    ///   - products: All products of the group, those no longer sold included.
    ///   - groupID: The group, for records that name it.
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
        // Of two that end at once, the one bought later.
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

/// What a purchase or subscription is worth at an instant.
package struct PurchaseStatus: Hashable, Sendable {
    /// In one word. An open set.
    package struct State: RawRepresentable, Hashable, Sendable {
        package let rawValue: String
        package init(rawValue: String) { self.rawValue = rawValue }

        /// There is no record.
        package static let notPurchased = State(rawValue: "notPurchased")
        /// Bought, and not taken back.
        package static let purchased = State(rawValue: "purchased")
        /// A period runs.
        package static let active = State(rawValue: "active")
        /// The last period is over.
        package static let expired = State(rawValue: "expired")
        /// The store took the last purchase back.
        package static let refunded = State(rawValue: "refunded")
        /// The customer moved from the last purchase to a higher level of the group.
        package static let upgraded = State(rawValue: "upgraded")
    }

    package var state: State
    /// The purchase that decides; `nil` when there is none.
    package var record: PurchaseRecord?
    /// The instant at which the period ends or ended; `nil` for what does not end.
    package var expiresDate: Date?

    package init(_ state: State, _ record: PurchaseRecord?, expiresDate: Date? = nil) {
        self.state = state
        self.record = record
        self.expiresDate = expiresDate
    }

    /// Whether it gives access.
    package var isActive: Bool { state == .active || state == .purchased }

    /// Why nothing that was bought gives access: what became of the last purchase.
    fileprivate init(withoutAccess bought: [PurchaseRecord], expiresDate: Date? = nil) {
        guard let last = bought.last else {
            self.init(.notPurchased, nil)
            return
        }
        self.init(last.refundDate != nil ? .refunded : .upgraded, last, expiresDate: expiresDate)
    }
}

extension PurchaseRecord {
    /// Neither taken back nor replaced.
    fileprivate var isInEffect: Bool { refundDate == nil && !isUpgraded }

    fileprivate func isOrdered(before other: PurchaseRecord) -> Bool {
        if purchaseDate != other.purchaseDate { return purchaseDate < other.purchaseDate }
        let (end, otherEnd) = (expiresDate ?? purchaseDate, other.expiresDate ?? other.purchaseDate)
        if end != otherEnd { return end < otherEnd }
        return (transactionID?.rawValue ?? "", productID) < (other.transactionID?.rawValue ?? "", other.productID)
    }
}

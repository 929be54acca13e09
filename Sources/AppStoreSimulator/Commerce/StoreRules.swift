import Foundation
import StoreModel

/// The rules of the store, without its database: computes the changes that follow from an action. `SubscriptionState`
/// computes the renewals.
struct StoreRules: Sendable {
    let catalogue: Catalogue
    let conditions: RenewalConditions
    var numbers: SaleNumbers
    /// Whether the customer may make payments.
    var mayPay = true
    /// The inviter of members in new subscriptions with several seats; `nil` means that none are sold.
    var seatInvitations: Seats.Invitations?

    /// The customer's purchases that matter to an order.
    struct ExistingPurchases: Sendable, Hashable {
        /// The ordered non-consumable, if the customer owns it.
        var owned: TransactionRecord?
        /// The customer's subscription in the product's group, running or not.
        var state: SubscriptionState?
    }

    /// The result of an order.
    enum Decision: Sendable, Hashable {
        case sold(Int64)
        /// The order sold nothing, because the customer already owns this transaction.
        case alreadyOwned(Int64)
        /// The order waits. Its transaction will have this number.
        case held(Int64, HeldOrder.Reason)
        case refused(StoreFailure)

        var transactionID: Int64? {
            switch self {
            case .sold(let id), .alreadyOwned(let id): id
            case .held, .refused: nil
            }
        }
    }

    struct Outcome: Sendable, Hashable {
        var decision: Decision
        var changes: [StoreChange]
    }

    static let quantities = 1...10

    /// Sells the ordered product, or returns the reason why not. An order without a payment creates no update if the
    /// product is owned already or the order is refused.
    mutating func sell(_ order: Order, _ existing: ExistingPurchases, at now: Date) -> Outcome {
        var changes: [StoreChange] = []
        let decision = decide(order, existing, at: now, &changes)
        switch decision {
        case .sold(let id): changes.append(.update(Self.update(order, .purchased, transaction: id)))
        case .alreadyOwned(let id):
            guard order.payment != nil else { break }
            var update = Self.update(order, .purchased, transaction: id)
            update.isAlreadyOwned = true
            changes.append(.update(update))
        case .held: break
        case .refused(let failure):
            guard order.payment != nil else { break }
            var update = Self.update(order, .failed)
            update.failure = failure
            changes.append(.update(update))
        }
        return Outcome(decision: decision, changes: changes)
    }

    static func update(_ order: Order, _ state: UpdateRecord.State, transaction: Int64? = nil) -> UpdateRecord {
        UpdateRecord(
            accountID: order.accountID, device: order.device, payment: order.payment, productID: order.productID,
            state: state, transactionID: transaction)
    }

    private mutating func decide(
        _ order: Order, _ existing: ExistingPurchases, at now: Date, _ changes: inout [StoreChange]
    ) -> Decision {
        if let failure = refusal(of: order) { return .refused(failure) }
        guard let item = catalogue[order.productID] else {
            return Self.refuse(.invalidProduct, "The store does not sell \(order.productID).")
        }
        if conditions.isWithdrawn(item.id, at: now) {
            return Self.refuse(.productUnavailable, "\(item.id) is no longer sold.")
        }
        switch item.kind {
        case .autoRenewableSubscription: return subscribe(order, item, existing.state, at: now, &changes)
        case .nonConsumable:
            if let owned = existing.owned { return .alreadyOwned(owned.id) }
            return sellOnce(order, item, at: now, &changes)
        default: return sellOnce(order, item, at: now, &changes)
        }
    }

    /// Returns the reason to refuse an order, as far as it depends neither on the time nor on earlier purchases; `nil`
    /// if there is none.
    func refusal(of order: Order) -> StoreFailure? {
        guard mayPay else {
            return StoreFailure(code: .notAllowed, reason: "The account may not make payments.")
        }
        guard let item = catalogue[order.productID] else {
            return StoreFailure(code: .invalidProduct, reason: "The store does not sell \(order.productID).")
        }
        let isSubscription = item.kind == .autoRenewableSubscription
        let isCountable = item.kind == .consumable || item.kind == .nonRenewingSubscription
        guard isSubscription || isCountable || item.kind == .nonConsumable else {
            return StoreFailure(
                code: .unsupported,
                reason: "The store cannot sell products of the type \(item.kind.rawValue).")
        }
        if isCountable, !Self.quantities.contains(order.quantity) {
            return StoreFailure(
                code: .invalidQuantity, reason: "The quantity is \(order.quantity); 1 to 10 can be bought at once.")
        }
        if isSubscription, order.quantity != 1, !Seats.counts.contains(order.quantity) {
            return StoreFailure(
                code: .invalidQuantity,
                reason: "The quantity is \(order.quantity); a subscription has 1 to \(Seats.counts.upperBound) seats.")
        }
        if !isCountable, !isSubscription, order.quantity != 1 {
            return StoreFailure(
                code: .invalidQuantity,
                reason: "The quantity is \(order.quantity); \(item.id) is sold one at a time.")
        }
        if order.offerID != nil, order.purchaseOffer == nil, !isSubscription {
            return StoreFailure(
                code: .invalidOffer,
                reason: "\(item.id) is not a subscription; without a code, only subscriptions have offers.")
        }
        return nil
    }

    static func refuse(_ code: StoreFailure.Code, _ reason: String) -> Decision {
        .refused(StoreFailure(code: code, reason: reason))
    }

    private mutating func sellOnce(
        _ order: Order, _ item: CatalogueItem, at now: Date, _ changes: inout [StoreChange]
    ) -> Decision {
        let id = order.number ?? numbers.next()
        changes.append(
            .purchase(
                TransactionRecord(
                    id: id, accountID: order.accountID, originalID: id, productID: item.id, kind: item.kind,
                    purchaseDate: now, originalPurchaseDate: now, quantity: order.quantity,
                    appAccountToken: order.appAccountToken,
                    price: order.purchaseOffer.map { Price(amount: $0.amount, currency: item.price.currency) }
                        ?? price(of: item, at: now),
                    storefront: catalogue.storefront.countryCode, redeemedOfferID: order.purchaseOffer?.id)))
        return .sold(id)
    }

    /// Holds an order until it is approved or its interruption is resolved. An order that would sell nothing now does
    /// not wait.
    ///
    /// The payment of an order that waits for approval is reported as deferred, and that of an interrupted order as
    /// failed.
    mutating func hold(_ order: Order, for reason: HeldOrder.Reason, _ existing: ExistingPurchases, at now: Date)
        -> Outcome
    {
        var trial = self
        guard case .sold = trial.sell(order, existing, at: now).decision else { return sell(order, existing, at: now) }
        let held = HeldOrder(number: numbers.next(), order: order, reason: reason, at: now)
        var outcome = Outcome(decision: .held(held.number, reason), changes: [.held(held)])
        if order.payment != nil { outcome.changes.append(.update(Self.answer(to: held))) }
        return outcome
    }

    /// Creates the update for the payment whose order is held.
    static func answer(to held: HeldOrder) -> UpdateRecord {
        guard held.reason == .interruption else { return update(held.order, .deferred) }
        var update = update(held.order, .failed)
        update.failure = StoreFailure(
            code: .cancelled, reason: "The purchase was interrupted; the customer must resolve the interruption first.")
        return update
    }

    /// Sells a held order. After an approval, its payment gets the outcome. Without a payment, or after an interruption,
    /// at which the payment has failed already, every device of the account gets an update about a sale.
    mutating func release(_ held: HeldOrder, _ existing: ExistingPurchases, at now: Date) -> Outcome {
        var order = held.order
        order.number = held.number
        if held.reason == .interruption {
            order.payment = nil
            order.device = nil
        }
        var outcome = sell(order, existing, at: now)
        outcome.changes.append(.released(held.number))
        return outcome
    }

    /// Ends a held order without a sale.
    func decline(_ held: HeldOrder) -> [StoreChange] {
        guard held.reason == .approval, held.order.payment != nil else { return [.released(held.number)] }
        var update = Self.update(held.order, .failed)
        update.failure = StoreFailure(code: .declined, reason: "The purchase was not approved.")
        return [.released(held.number), .update(update)]
    }
}

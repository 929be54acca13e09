import Foundation
import StoreModel

/// The rules of the store without its books: what somebody does goes in, facts come out. What time does is `SubscriptionState`.
struct StoreRules: Sendable {
    let catalogue: Catalogue
    let conditions: Conditions
    var numbers: Numbers
    /// Whether the customer may pay at all.
    var mayPay = true

    /// What the books hold about an order's product and customer.
    struct ExistingPurchases: Sendable, Hashable {
        /// The non-consumable asked for, if the customer has it.
        var owned: TransactionRecord?
        /// The customer's subscription in the product's group, running or not.
        var state: SubscriptionState?
    }

    /// How an order ended.
    enum Decision: Sendable, Hashable {
        case sold(Int64)
        /// Nothing was sold: the transaction is one the customer had.
        case alreadyOwned(Int64)
        /// It waits under that number, which its transaction will have.
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

    /// Sells what was ordered, or says why not.
    mutating func sell(_ order: Order, _ existing: ExistingPurchases, at now: Date) -> Outcome {
        var changes: [StoreChange] = []
        let decision = decide(order, existing, at: now, &changes)
        switch decision {
        case .sold(let id): changes.append(.update(Self.update(order, .purchased, transaction: id)))
        case .alreadyOwned(let id):
            // What was owned before is news only to whoever asked for it.
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
        guard let item = catalogue[order.productID] else { return Self.refuse(.invalidProduct, "It is not sold.") }
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

    /// Why an order cannot be taken, whoever gives it.
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
                reason: "The store does not know how to sell a product of the type \(item.kind.rawValue).")
        }
        if isCountable, !Self.quantities.contains(order.quantity) {
            return StoreFailure(
                code: .invalidQuantity, reason: "The quantity is \(order.quantity); 1 to 10 can be bought at once.")
        }
        if !isCountable, order.quantity != 1 {
            return StoreFailure(
                code: .invalidQuantity,
                reason: "The quantity is \(order.quantity); \(item.id) is sold one at a time.")
        }
        if order.offerID != nil, !isSubscription {
            return StoreFailure(
                code: .invalidOffer, reason: "\(item.id) is no subscription; only those have offers.")
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
                    appAccountToken: order.appAccountToken, price: price(of: item, at: now),
                    storefront: catalogue.storefront.countryCode)))
        return .sold(id)
    }

    // MARK: - Orders that wait

    /// Keeps an order until somebody approves it, or until what interrupted it is put right; what would not be sold, or
    /// costs nothing now, does not wait.
    ///
    /// What waits for approval is deferred; an interrupted purchase has failed for whoever asked, and is completed later.
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

    /// What who asked is told while their order waits.
    static func answer(to held: HeldOrder) -> UpdateRecord {
        guard held.reason == .interruption else { return update(held.order, .deferred) }
        var update = update(held.order, .failed)
        update.failure = StoreFailure(
            code: .cancelled, reason: "The purchase was interrupted: the customer has something to put right first.")
        return update
    }

    /// Carries out what waited. Its payment is answered where it still is; all others hear of it.
    mutating func release(_ held: HeldOrder, _ existing: ExistingPurchases, at now: Date) -> Outcome {
        var order = held.order
        order.number = held.number
        if held.reason == .interruption {
            // Its payment has had its answer.
            order.payment = nil
            order.device = nil
        }
        var outcome = sell(order, existing, at: now)
        outcome.changes.append(.released(held.number))
        return outcome
    }

    /// Gives up what waited.
    func decline(_ held: HeldOrder) -> [StoreChange] {
        guard held.reason == .approval, held.order.payment != nil else { return [.released(held.number)] }
        var update = Self.update(held.order, .failed)
        update.failure = StoreFailure(code: .declined, reason: "The purchase was not approved.")
        return [.released(held.number), .update(update)]
    }
}

import Foundation
import StoreModel

/// The rules of the store without its books: orders and passing time go in, facts come out.
///
/// The caller brings everything due up to date (`settle`) before it asks for anything else at an instant.
struct StoreLife: Sendable {
    let catalogue: Catalogue
    var numbers: Numbers

    /// What the books hold about an order's product and customer.
    struct Standing: Sendable, Hashable {
        /// The non-consumable asked for, if the customer has it.
        var owned: TransactionRecord?
        /// The customer's subscription in the product's group, active or not.
        var subscription: SubscriptionRecord?
    }

    /// How an order ended.
    enum Decision: Sendable, Hashable {
        case sold(Int64)
        /// Nothing was sold: the transaction is one the customer had.
        case alreadyOwned(Int64)
        case refused(StoreFailure)

        var transactionID: Int64? {
            switch self {
            case .sold(let id), .alreadyOwned(let id): id
            case .refused: nil
            }
        }
    }

    struct Outcome: Sendable, Hashable {
        var decision: Decision
        var facts: [Fact]
    }

    static let quantities = 1...10

    /// Sells what was ordered, or says why not.
    mutating func sell(_ order: Order, _ standing: Standing, at now: Date) -> Outcome {
        var facts: [Fact] = []
        let decision = decide(order, standing, at: now, &facts)
        switch decision {
        case .sold, .alreadyOwned:
            let isOwned = if case .alreadyOwned = decision { true } else { false }
            // What was sold without a payment is news to all devices; what was owned before is news to nobody.
            guard order.payment != nil || !isOwned else { break }
            facts.append(
                .update(
                    UpdateRecord(
                        accountID: order.accountID, device: order.device, payment: order.payment,
                        productID: order.productID, state: .purchased, transactionID: decision.transactionID,
                        isAlreadyOwned: isOwned)))
        case .refused(let failure):
            guard order.payment != nil else { break }
            facts.append(
                .update(
                    UpdateRecord(
                        accountID: order.accountID, device: order.device, payment: order.payment,
                        productID: order.productID, state: .failed, failure: failure)))
        }
        return Outcome(decision: decision, facts: facts)
    }

    private mutating func decide(
        _ order: Order, _ standing: Standing, at now: Date, _ facts: inout [Fact]
    ) -> Decision {
        guard let item = catalogue[order.productID] else {
            return Self.refuse(.invalidProduct, "The store does not sell \(order.productID).")
        }
        if let refusal = Self.refusal(order, item) { return refusal }
        switch item.kind {
        case .autoRenewableSubscription: return subscribe(order, item, standing.subscription, at: now, &facts)
        case .nonConsumable:
            if let owned = standing.owned { return .alreadyOwned(owned.id) }
            return sellOnce(order, item, at: now, &facts)
        case .consumable, .nonRenewingSubscription: return sellOnce(order, item, at: now, &facts)
        default:
            return Self.refuse(
                .unsupported, "The store does not know how to sell a product of the type \(item.kind.rawValue).")
        }
    }

    private static func refusal(_ order: Order, _ item: CatalogueItem) -> Decision? {
        let isCountable = item.kind == .consumable || item.kind == .nonRenewingSubscription
        if isCountable, !quantities.contains(order.quantity) {
            return refuse(.invalidQuantity, "The quantity is \(order.quantity); 1 to 10 can be bought at once.")
        }
        if !isCountable, order.quantity != 1 {
            return refuse(.invalidQuantity, "The quantity is \(order.quantity); \(item.id) is sold one at a time.")
        }
        if order.offerID != nil, item.subscription == nil {
            return refuse(.invalidOffer, "\(item.id) is no subscription; only those have offers.")
        }
        return nil
    }

    static func refuse(_ code: StoreFailure.Code, _ reason: String) -> Decision {
        .refused(StoreFailure(code: code, reason: reason))
    }

    private mutating func sellOnce(
        _ order: Order, _ item: CatalogueItem, at now: Date, _ facts: inout [Fact]
    ) -> Decision {
        let id = numbers.nextTransaction()
        facts.append(
            .transaction(
                TransactionRecord(
                    id: id, accountID: order.accountID, originalID: id, productID: item.id, kind: item.kind,
                    purchaseDate: now, originalPurchaseDate: now, quantity: order.quantity,
                    appAccountToken: order.appAccountToken, price: item.price)))
        return .sold(id)
    }
}

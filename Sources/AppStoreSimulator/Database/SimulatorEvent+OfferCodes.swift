import Foundation
import SimulatorControl
import StoreModel

/// The redemption of offer codes. The code, its limit and the sale are read and written in one database transaction.
extension SimulatorEvent {
    /// Redeems a code for the account. Throws `StoreFailure` if the code is refused; nothing has changed then.
    mutating func redeem(_ code: String, of product: ProductID?, binding token: UUID?) throws -> OrderOutcome {
        var order = try order(forCode: code, of: product)
        order.appAccountToken = token
        if let failure = try refusal(ofCodeFor: order) { throw failure }
        let outcome = try outcome(try sell(order), of: order.productID)
        if case .refused(let failure) = outcome { throw failure }
        try db.insertRedemption(code, order.offerID ?? "", of: order.productID, account.id, at: now)
        return outcome
    }

    /// Returns the order of a code: a code that was created, else the identifier of an offer without such codes.
    ///
    /// Throws `invalidCode` for an unknown code, and for one that no account can redeem now.
    private func order(forCode code: String, of product: ProductID?) throws -> Order {
        if let issued = try db.offerCode(code), product == nil || product == issued.batch.product {
            if let reason = issued.batch.refusal(after: issued.redeemed, at: now) {
                throw StoreFailure(code: .invalidCode, reason: reason)
            }
            return try self.order(for: issued.batch.offer, of: issued.batch.product)
        }
        let (product, offer) = try rules.catalogue.offer(forCode: code, of: product)
        guard try !db.hasCodes(offer, of: product) else {
            throw StoreFailure(
                code: .invalidCode, reason: "The offer \(offer) of \(product) has codes; its identifier is not one.")
        }
        return try self.order(for: offer, of: product)
    }

    /// Returns the order for an offer that a code redeems.
    func order(for offer: String, of product: ProductID) throws -> Order {
        Order(
            accountID: account.id, productID: product, offerID: offer, offerKind: .code,
            purchaseOffer: try db.purchaseOffer(offer, of: product))
    }

    /// Returns the reason why the account cannot redeem the offer of an order, apart from the rules of a sale.
    private func refusal(ofCodeFor order: Order) throws -> StoreFailure? {
        if try isRedeemed(order) {
            return StoreFailure(
                code: .ineligibleForOffer,
                reason: "The customer has redeemed the offer \(order.offerID ?? "") before; "
                    + "each customer can redeem it once.")
        }
        if let failure = rules.refusal(ofCodeFor: order, try existing(for: order.productID, of: account.id)) {
            return failure
        }
        guard let offer = order.purchaseOffer else { return nil }
        let customer = try purchaseCustomer()
        guard !offer.customers.contains(customer) else { return nil }
        return StoreFailure(
            code: .ineligibleForOffer, reason: "The code's offer \(offer.id) is not for a \(customer.rawValue).")
    }

    private func isRedeemed(_ order: Order) throws -> Bool {
        guard let offer = order.offerID else { return false }
        if try db.hasRedeemed(offer, of: order.productID, account.id) { return true }
        let state = try existing(for: order.productID, of: account.id).state
        return state?.record.share == nil && state?.hasTaken(code: offer, of: order.productID) == true
    }

    private func purchaseCustomer() throws -> StoreControlWire.PurchaseCustomer {
        guard let last = try db.lastPayment(of: account.id, under: conditions, at: now) else { return .nonSpender }
        return now.timeIntervalSince(last) < 30 * 86400 ? .activeSpender : .churnedSpender
    }

    /// Returns the state of an offer that a code redeems for the account, and the reason if it is unavailable.
    func codeState(of order: Order) throws -> (StoreControlWire.OfferCode.State, String?) {
        let existing = try existing(for: order.productID, of: account.id)
        if existing.state?.record.share != nil, existing.state?.isActive == true {
            return (.unavailable, rules.refusal(ofCodeFor: order, existing)?.reason)
        }
        if try isRedeemed(order) { return (.redeemed, nil) }
        if let failure = try refusal(ofCodeFor: order) { return (.unavailable, failure.reason) }
        var trial = rules
        guard case .refused(let failure) = trial.sell(order, existing, at: now).decision else {
            return (.available, nil)
        }
        return (.unavailable, failure.reason)
    }
}

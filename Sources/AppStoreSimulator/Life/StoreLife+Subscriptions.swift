import Foundation
import StoreModel

/// Buying, changing and cancelling a subscription.
extension StoreLife {
    mutating func subscribe(
        _ order: Order, _ item: CatalogueItem, _ standing: SubscriptionRecord?, at now: Date, _ facts: inout [Fact]
    ) -> Decision {
        guard let terms = item.subscription else {
            return Self.refuse(.invalidProduct, "\(item.id) has no subscription terms.")
        }
        let current = standing.flatMap { $0.isActive ? $0 : nil }
        switch current.map({ change(from: $0, to: item) }) {
        case nil, .atOnce: return startPlan(order, item, terms, standing, at: now, &facts)
        case .none?: return keep(order, item, current, &facts)
        case .atRenewal: return keep(order, item, current, &facts)
        }
    }

    /// Closed: when another plan of the group begins. An upgrade, and a plan of the same level and length, at once; a
    /// downgrade, and one of the same level and another length, when the current period ends.
    private enum Change { case none, atOnce, atRenewal }

    private func change(from current: SubscriptionRecord, to item: CatalogueItem) -> Change {
        if current.productID == item.id { return .none }
        guard let old = catalogue[current.productID]?.subscription, let new = item.subscription else { return .atOnce }
        if new.level != old.level { return new.level < old.level ? .atOnce : .atRenewal }
        return new.period == old.period ? .atOnce : .atRenewal
    }

    /// Leaves the current period as it is and makes the subscription go on with `item` afterwards.
    private func keep(
        _ order: Order, _ item: CatalogueItem, _ current: SubscriptionRecord?, _ facts: inout [Fact]
    ) -> Decision {
        guard var current else { return Self.refuse(.unknown, "There is no subscription to keep.") }
        guard order.offerID == nil else {
            return Self.refuse(
                .unsupported, "An offer that begins at the next renewal cannot be bought yet; cancel and let it expire."
            )
        }
        if !current.autoRenews || current.renewsTo != item.id {
            current.autoRenews = true
            current.renewsTo = item.id
            facts += [.subscription(current), .update(renewalChanged(current))]
        }
        return .alreadyOwned(current.latestID)
    }

    private mutating func startPlan(
        _ order: Order, _ item: CatalogueItem, _ terms: SubscriptionTerms, _ standing: SubscriptionRecord?,
        at now: Date, _ facts: inout [Fact]
    ) -> Decision {
        var name: SubscriptionRecord.OfferName?
        if let id = order.offerID {
            guard terms.promotionalOffers.contains(where: { $0.id == id }) else {
                return Self.refuse(.invalidOffer, "\(item.id) has no promotional offer \(id).")
            }
            guard standing != nil else {
                return Self.refuse(.invalidOffer, "Promotional offers are for those who subscribe or have subscribed.")
            }
            name = .init(kind: .promotional, id: id)
        } else if terms.introductoryOffer != nil, standing.map({ !$0.isActive && !$0.hasUsedIntroductoryOffer }) ?? true
        {
            name = .init(kind: .introductory)
        }
        let id = numbers.nextTransaction()
        var subscription = SubscriptionRecord(
            originalID: standing?.originalID ?? id, accountID: order.accountID, groupID: terms.groupID,
            productID: item.id, latestID: id, originalPurchaseDate: standing?.originalPurchaseDate ?? now,
            startedAt: now, expiresDate: now, phase: .init(start: now, sold: 0, offer: name), renewsTo: item.id,
            appAccountToken: order.appAccountToken,
            hasUsedIntroductoryOffer: name?.kind == .introductory || standing?.hasUsedIntroductoryOffer ?? false)
        if let standing, standing.isActive {
            facts.append(.upgraded(standing.latestID))
            subscription.startedAt = standing.startedAt
            subscription.appAccountToken = order.appAccountToken ?? standing.appAccountToken
        }
        let transaction = sellPeriod(of: &subscription, item, terms, id, isRenewal: false)
        facts += [.transaction(transaction), .subscription(subscription)]
        return .sold(id)
    }

    /// Sells the next period of the subscription's phase, from where the last one ended.
    mutating func sellPeriod(
        of subscription: inout SubscriptionRecord, _ item: CatalogueItem, _ terms: SubscriptionTerms, _ id: Int64,
        isRenewal: Bool
    ) -> TransactionRecord {
        let start = subscription.expiresDate
        let offer = subscription.phase.offer.flatMap { terms.offer($0) }
        subscription.phase.sold += 1
        // An offer paid as one is one long period; everything else is counted from the phase's start.
        let end =
            if let offer {
                offer.period.end(
                    from: subscription.phase.start,
                    count: offer.paymentMode == .payAsYouGo ? subscription.phase.sold : offer.periodCount)
            } else {
                terms.period.end(from: subscription.phase.start, count: subscription.phase.sold)
            }
        subscription.productID = item.id
        subscription.latestID = id
        subscription.expiresDate = end.wholeMilliseconds
        let free = Price(amount: 0, currency: item.price.currency)
        return TransactionRecord(
            id: id, accountID: subscription.accountID, originalID: subscription.originalID,
            webOrderLineItemID: numbers.nextOrder(), productID: item.id, kind: item.kind,
            groupID: subscription.groupID, purchaseDate: start,
            originalPurchaseDate: subscription.originalPurchaseDate, expiresDate: subscription.expiresDate,
            appAccountToken: subscription.appAccountToken, price: offer.map { $0.price ?? free } ?? item.price,
            isRenewal: isRenewal,
            offer: offer.flatMap { offer in
                subscription.phase.offer.map {
                    AppliedOffer(kind: $0.kind, id: $0.id, paymentMode: offer.paymentMode, period: offer.period)
                }
            })
    }

    /// Turns auto-renewal off: access stays until the current period ends. Nothing changes where it is off already.
    func cancel(_ subscription: SubscriptionRecord) -> [Fact] {
        guard subscription.isActive, subscription.autoRenews else { return [] }
        var cancelled = subscription
        cancelled.autoRenews = false
        return [.subscription(cancelled), .update(renewalChanged(cancelled))]
    }

    func renewalChanged(_ subscription: SubscriptionRecord) -> UpdateRecord {
        UpdateRecord(
            accountID: subscription.accountID, productID: subscription.productID, state: .renewalChanged,
            transactionID: subscription.latestID)
    }
}

extension SubscriptionTerms {
    func offer(_ name: SubscriptionRecord.OfferName) -> Offer? {
        switch name.kind {
        case .introductory: introductoryOffer
        case .promotional: promotionalOffers.first { $0.id == name.id }
        }
    }
}

extension Catalogue {
    /// The offer under which the period after the current one is sold, if the phase has one left.
    func nextOffer(of subscription: SubscriptionRecord) -> (name: SubscriptionRecord.OfferName, offer: Offer)? {
        guard subscription.renewsTo == subscription.productID, let name = subscription.phase.offer,
            let offer = self[subscription.productID]?.subscription?.offer(name),
            offer.paymentMode == .payAsYouGo, subscription.phase.sold < offer.periodCount
        else { return nil }
        return (name, offer)
    }
}

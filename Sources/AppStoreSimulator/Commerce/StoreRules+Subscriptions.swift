import Foundation
import Primitives
import StoreModel

/// Purchases of a subscription and changes of its plan.
extension StoreRules {
    mutating func subscribe(
        _ order: Order, _ item: CatalogueItem, _ state: SubscriptionState?, at now: Date, _ changes: inout [StoreChange]
    ) -> Decision {
        guard let terms = item.subscription else {
            return Self.refuse(.invalidProduct, "\(item.id) has no subscription terms.")
        }
        if state?.record.share != nil, state?.isActive == true {
            return .alreadyOwned(state.map(\.current.latestID) ?? 0)
        }
        var offers: OrderOffers
        let seats: Seats?
        do throws(StoreFailure) {
            seats = try self.seats(of: order, state)
            offers = try self.offers(for: order, item, terms, state)
        } catch {
            return .refused(error)
        }
        guard var plan = plan(of: item, billingPlan(of: order), at: now) else {
            return Self.refuse(.invalidProduct, "\(item.id) has no monthly billing plan.")
        }
        if seats != nil {
            guard plan.bills == nil else {
                return Self.refuse(
                    .invalidProduct, "Several seats are paid up front; the simulator sells none with monthly bills.")
            }
            offers = OrderOffers()
        }
        if order.quantity > 1, let state, state.isRunning, state.current.plan.productID == item.id {
            return addSeats(state, order, at: now, &changes)
        }
        plan.seats = seats
        guard let state, state.isRunning,
            let change = change(from: state, to: item, plan), change == .atRenewal
        else { return start(plan, offers, order, state, in: terms.groupID, at: now, &changes) }
        return keep(plan, offers.first, state, at: now, &changes)
    }

    /// Returns a plan at its price for new subscribers; `nil` if the product does not have this billing plan.
    func plan(of item: CatalogueItem, _ billing: BillingPlan.Kind, at now: Date) -> Plan? {
        guard let terms = item.subscription else { return nil }
        var plan = Plan(
            productID: item.id, period: terms.period, price: price(of: item, at: now), pricedAt: now,
            storefront: catalogue.storefront.countryCode)
        guard billing != .upFront else { return plan }
        guard billing == .monthly, let monthly = item.monthlyPlan else { return nil }
        plan.period = .months(1)
        plan.bills = BillingPlan.billCount
        plan.price =
            conditions.price(of: item.id, .monthly, at: now)
            .map { Price(amount: $0.amount, currency: monthly.price.currency) } ?? monthly.price
        return plan
    }

    /// Returns the billing plan of an order. The offer of a code has its own.
    private func billingPlan(of order: Order) -> BillingPlan.Kind {
        guard order.offerKind == .code, let id = order.offerID else { return order.billingPlan }
        return catalogue[order.productID]?.offerCodes.first { $0.id.hasSameBytes(as: id) }?.billingPlan ?? .upFront
    }

    /// Returns the price for new subscribers: the latest price increase, or the catalogue's price.
    func price(of item: CatalogueItem, at now: Date) -> Price {
        conditions.price(of: item.id, at: now).map { Price(amount: $0.amount, currency: item.price.currency) }
            ?? item.price
    }

    /// The instant at which another plan of the group begins. An upgrade, and a plan of the same level and length,
    /// begin at once. A downgrade, a plan of the same level with another length or another billing plan, and the same
    /// product begin at the renewal, which is the end of a commitment. In billing retry every plan begins at once. The
    /// set is closed.
    private enum Change { case atOnce, atRenewal }

    private func change(from state: SubscriptionState, to item: CatalogueItem, _ plan: Plan) -> Change? {
        let current = state.current.plan
        // In billing retry there is no paid period to wait for.
        if state.status == .billingRetry { return .atOnce }
        if current.productID == item.id { return .atRenewal }
        guard let old = catalogue[current.productID]?.subscription, let new = item.subscription else { return .atOnce }
        if new.level != old.level { return new.level < old.level ? .atOnce : .atRenewal }
        let length = current.bills == nil ? current.period : old.period
        return plan.billingPlan == current.billingPlan && new.period == length ? .atOnce : .atRenewal
    }

    /// The offers of an order: one for its first periods, and one that follows.
    private struct OrderOffers {
        var first: AppliedOffer?
        var following: AppliedOffer?
    }

    private func offers(
        for order: Order, _ item: CatalogueItem, _ terms: SubscriptionTerms, _ state: SubscriptionState?
    ) throws(StoreFailure) -> OrderOffers {
        let hasUsed = state?.record.hasUsedIntroductoryOffer ?? false
        let isAllowed = order.allowsIntroductory ?? !hasUsed
        let billing = billingPlan(of: order)
        let introductory = item.introductoryOffers.first { $0.billingPlan == billing }.flatMap { offer in
            isAllowed && state?.isActive != true ? AppliedOffer(.introductory, offer.offer) : nil
        }
        guard let id = order.offerID else { return OrderOffers(first: introductory) }
        if order.offerKind == .code {
            let code = try offerCode(id, item, state)
            let offer = AppliedOffer(.code, code.offer)
            guard let introductory, code.isStackable else { return OrderOffers(first: offer) }
            return OrderOffers(first: introductory, following: offer)
        }
        let kind = order.offerKind
        if kind == nil || kind == .promotional,
            let offer = item.promotionalOffers.first(where: { $0.billingPlan == billing && $0.id.hasSameBytes(as: id) }
            )?
            .offer
        {
            guard state != nil else {
                throw Self.ineligible("Promotional offers are for current and former subscribers.")
            }
            return OrderOffers(first: AppliedOffer(.promotional, offer))
        }
        if kind == nil || kind == .winBack,
            let offer = item.winBackOffers.first(where: { $0.billingPlan == billing && $0.id.hasSameBytes(as: id) })
        {
            guard let state, state.status == .expired, offer.isEligible else {
                throw Self.ineligible("The offer \(id) is for customers whose subscription has expired.")
            }
            if let reason = state.refusal(ofWinBackOffer: id, of: item.id) { throw Self.ineligible(reason) }
            return OrderOffers(first: AppliedOffer(.winBack, offer.offer))
        }
        throw StoreFailure(code: .invalidOffer, reason: "\(item.id) has no offer \(id).")
    }

    private func offerCode(_ id: String, _ item: CatalogueItem, _ state: SubscriptionState?) throws(StoreFailure)
        -> OfferCode
    {
        guard let offer = item.offerCodes.first(where: { $0.id.hasSameBytes(as: id) }) else {
            throw StoreFailure(code: .invalidOffer, reason: "\(item.id) has no offer \(id) that a code redeems.")
        }
        let customer: OfferCode.Customer =
            switch state?.status {
            case nil: .new
            case .expired, .revoked: .expired
            case .active, .gracePeriod, .billingRetry: .existing
            }
        guard offer.eligibility.contains(customer) else {
            throw Self.ineligible("The code's offer \(id) is not for \(customer.rawValue) customers.")
        }
        guard state?.hasTaken(code: id, of: item.id) != true else {
            throw Self.ineligible("The customer has redeemed the offer \(id) before; each customer can redeem it once.")
        }
        return offer
    }

    private static func ineligible(_ reason: String) -> StoreFailure {
        StoreFailure(code: .ineligibleForOffer, reason: reason)
    }

    /// Keeps the current period and makes `plan` the plan of the next period.
    private func keep(
        _ plan: Plan, _ offer: AppliedOffer?, _ state: SubscriptionState, at now: Date, _ changes: inout [StoreChange]
    ) -> Decision {
        var record = state.condensed
        let isNew = !record.renewal.plan.isSame(as: plan)
        if isNew || offer != nil || record.renewal.offSince != nil {
            if isNew || offer != nil {
                let isBack = plan.isSame(as: state.current.plan)
                record.renewal.plan = isBack ? state.current.plan : plan
                record.renewal.plan.seats = plan.seats
                record.renewal.offer = offer
                if isBack, isNew { record.renewal.consentedAt = now }
            }
            record.renewal.offSince = nil
            record.changedAt = now
            changes.append(.subscription(record))
        }
        return .alreadyOwned(state.current.latestID)
    }

    /// Sells the first period of `plan` now. It replaces the last period if that one still gives access.
    private mutating func start(
        _ plan: Plan, _ offers: OrderOffers, _ order: Order, _ state: SubscriptionState?, in group: String,
        at now: Date,
        _ changes: inout [StoreChange]
    ) -> Decision {
        let base = order.number ?? numbers.next()
        let run = Run(base: base, anchor: now, soldAt: now, plan: plan, offer: offers.first)
        var record =
            state.map(\.condensed)
            ?? SubscriptionRecord(
                originalID: base, accountID: order.accountID, groupID: group, runs: [], renewal: .init(plan: plan),
                startedAt: now, changedAt: now)
        if let state, state.status == .active || state.status == .gracePeriod {
            record.runs[record.runs.count - 1].upgradedAt = now
        } else {
            record.startedAt = now
        }
        record.runs.append(run)
        // A change of plan without a token keeps the subscription's token.
        if order.appAccountToken != nil || record.startedAt == now { record.use(order.appAccountToken, from: now) }
        record.renewal = .init(plan: plan, offer: offers.following)
        record.hasUsedIntroductoryOffer = record.hasUsedIntroductoryOffer || offers.first?.kind == .introductory
        record.changedAt = now
        record.share = nil
        changes.append(.subscription(record))
        return .sold(base)
    }
}

extension SubscriptionState {
    /// Whether the customer has redeemed the offer code, or will at the next renewal.
    func hasTaken(code id: String, of product: ProductID) -> Bool {
        func matches(_ offer: AppliedOffer?, _ plan: Plan) -> Bool {
            offer?.kind == .code && (offer?.id).hasSameBytes(as: id) && plan.productID == product
        }
        return matches(record.renewal.offer, record.renewal.plan) || runs.contains { matches($0.offer, $0.plan) }
    }
}

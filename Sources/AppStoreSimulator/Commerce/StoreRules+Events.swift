import Foundation
import StoreModel

/// The events of a subscription other than purchases. A function that returns an optional record returns `nil` if
/// nothing changes.
extension StoreRules {
    /// Turns auto-renewal on or off. After it is turned off, access lasts until the current period ends, and in the grace
    /// period it ends at once. The bills of a commitment continue until its end.
    static func setAutoRenew(_ isOn: Bool, _ state: SubscriptionState, at now: Date) -> SubscriptionRecord? {
        guard state.isRunning, state.renewsTerm != isOn else { return nil }
        return changed(state, at: now) { $0.renewal.offSince = isOn ? nil : now }
    }

    /// Turns auto-renewal on. A `product` or billing plan other than that of the next period replaces it: the current
    /// plan with its present price, another one with its price for new subscribers. In a commitment, it is the plan
    /// after the commitment. Without `billingPlan`, the plan of the current product stays, and another product is paid
    /// up front.
    ///
    /// Throws `SimulatorError`: `otherGroup` for a product outside of the group, `invalidValue` for a billing plan that
    /// the product does not have.
    func resume(
        _ state: SubscriptionState, renewingTo product: ProductID?, _ billingPlan: BillingPlan.Kind? = nil, at now: Date
    ) throws(SimulatorError) -> SubscriptionRecord? {
        let record = state.record
        let next = state.nextTerm().plan
        let product = product ?? next.productID
        let billing = billingPlan ?? [next, state.current.plan].first { $0.productID == product }?.billingPlan
        guard product != next.productID || billing != next.billingPlan else {
            return Self.setAutoRenew(true, state, at: now)
        }
        guard let item = catalogue[product], let terms = item.subscription, terms.groupID == record.groupID else {
            throw SimulatorError(
                .otherGroup,
                "\(product) is not in the group \(record.groupID); a subscription renews only to a plan of its group.")
        }
        guard let plan = plan(of: item, billing ?? .upFront, at: now) else {
            throw SimulatorError(.invalidValue, "\(product) has no monthly billing plan.")
        }
        guard state.isRunning else { return nil }
        return Self.changed(state, at: now) {
            $0.renewal.offSince = nil
            $0.renewal.offer = nil
            // The return to a plan is the consent to its current price.
            let isBack = plan.isSame(as: state.current.plan)
            if isBack { $0.renewal.consentedAt = now }
            let seats = state.nextSale().plan.seats
            $0.renewal.plan = isBack ? state.current.plan : plan
            $0.renewal.plan.seats = seats
        }
    }

    /// Sets the number of seats from the next period on.
    static func setRenewalSeats(_ count: Int, _ state: SubscriptionState, at now: Date) -> SubscriptionRecord? {
        guard var seats = state.nextSale().plan.seats, seats.count != count else { return nil }
        seats.count = count
        return changed(state, at: now) { $0.renewal.plan.seats = seats }
    }

    /// Makes payments fail from now on, or succeed again.
    static func setPaymentsFail(_ fail: Bool, _ state: SubscriptionState, at now: Date) -> SubscriptionRecord? {
        let renewal = state.record.renewal
        let isFailing = renewal.failsFrom != nil && renewal.failsUntil == nil
        guard state.isRunning, fail != isFailing else { return nil }
        return changed(state, at: now) {
            guard fail else {
                $0.renewal.failsUntil = now
                return
            }
            if state.retryEnd == nil || renewal.failsFrom == nil { $0.renewal.failsFrom = now }
            $0.renewal.failsUntil = nil
        }
    }

    /// Sells the next period now, before it is due: in a commitment the next bill. The renewal dates are counted from now.
    ///
    /// Throws `SimulatorError` (`notNow`) if the store would not sell it.
    func renew(_ state: SubscriptionState, at now: Date) throws(SimulatorError) -> SubscriptionRecord {
        let sale = state.nextSale()
        if let reason = reasonNotToRenew(state, sale, at: now) { throw SimulatorError(.notNow, reason) }
        return Self.changed(state, at: now) {
            let last = state.current
            var next = Run(
                base: last.base, first: last.first + last.count, anchor: now, soldAt: now, plan: sale.plan,
                offer: sale.offer, billed: state.isCommitted ? last.bill(of: last.count - 1) ?? 0 : 0, isRenewal: true)
            if sale.offer != nil, !sale.isRequested {
                next.offset = last.offset + last.count
                next.restart(at: now)
            }
            $0.runs.append(next)
            if !state.isCommitted { $0.renewal.plan = sale.plan }
            if sale.isRequested { $0.renewal.offer = nil }
        }
    }

    private func reasonNotToRenew(_ state: SubscriptionState, _ sale: SubscriptionState.Upcoming, at now: Date)
        -> String?
    {
        guard state.current.hasNumbersLeft else { return "A sale has at most \(TransactionNumber.span) periods." }
        guard state.autoRenews else { return "Auto-renewal is off; resume the subscription first." }
        if state.failsToPay(at: now, under: conditions) {
            return
                "The payment would fail; resolve it first, or turn the setting \(StoreSetting.renewalsFail.name) off."
        }
        if state.isCommitted { return nil }
        if conditions.isWithdrawn(sale.plan.productID, at: now) { return "\(sale.plan.productID) is no longer sold." }
        if state.increase != nil, sale.offer == nil, !state.hasConsented {
            return "The customer has not agreed to the higher price; answer the price increase first."
        }
        return nil
    }

    /// Ends the current period now, or the grace period or billing retry after it. A commitment ends too.
    static func expire(_ state: SubscriptionState, at now: Date) -> SubscriptionRecord? {
        guard state.isRunning else { return nil }
        return changed(state, at: now) {
            if state.status == .active { $0.runs[$0.runs.count - 1].endsAt = now }
            $0.renewal.offSince = now
            $0.renewal.endsCommitment = true
        }
    }

    /// Extends the current period by `days` without a charge; the next periods are counted from its new end. Returns
    /// `nil` unless the subscription is active and not in a free trial.
    static func extend(_ state: SubscriptionState, byDays days: Int, at now: Date) -> SubscriptionRecord? {
        guard state.status == .active, state.current.offer?.paymentMode != .freeTrial else { return nil }
        let end = state.expiresDate.addingTimeInterval(Double(days) * 86400)
        return changed(state, at: now) { $0.runs[$0.runs.count - 1].endsAt = end }
    }

    /// Sets the app account token of the latest period and later ones; earlier periods keep theirs.
    static func setAppAccountToken(_ token: UUID, _ state: SubscriptionState, at now: Date) -> SubscriptionRecord? {
        guard state.record.appAccountToken != token else { return nil }
        return changed(state, at: now) { $0.use(token, from: state.latest.purchaseDate) }
    }

    /// Applies the customer's answer to a price increase. A refusal turns auto-renewal off.
    static func answerPriceIncrease(_ state: SubscriptionState, isAccepted: Bool, at now: Date) -> SubscriptionRecord? {
        guard state.increase?.needsConsent == true, !state.hasConsented else { return nil }
        return changed(state, at: now) {
            if isAccepted { $0.renewal.consentedAt = now } else { $0.renewal.offSince = now }
        }
    }

    private static func changed(
        _ state: SubscriptionState, at now: Date, _ change: (inout SubscriptionRecord) -> Void
    ) -> SubscriptionRecord {
        var record = state.condensed
        change(&record)
        record.changedAt = now
        return record
    }

    /// Revokes a transaction. The revocation of the current period ends access, and no further period is sold: a
    /// commitment ends. The revocation of an earlier period changes neither.
    static func revoke(
        _ transaction: TransactionRecord, _ state: SubscriptionState?, _ revocation: Revocation
    ) -> [StoreChange] {
        var changes = [StoreChange.revocation(transaction.id, revocation)]
        if let state {
            changes.append(
                .subscription(changed(state, at: revocation.at) { $0.revocations[transaction.id] = revocation }))
        }
        changes.append(.update(update(of: transaction, .revoked)))
        return changes
    }

    /// Reverses a revocation. If it ended access, access continues until the end of the period. If that is over, no
    /// further period is sold. The app has to finish the transaction again.
    static func reverse(
        _ revocation: Revocation, of transaction: TransactionRecord, _ state: SubscriptionState?, at now: Date
    ) -> [StoreChange] {
        var reversed = revocation
        reversed.reversedAt = now
        var changes = [StoreChange.revocation(transaction.id, reversed)]
        if let state {
            changes.append(
                .subscription(
                    changed(state, at: now) {
                        $0.revocations[transaction.id] = reversed
                        guard state.status == .revoked, state.current.latestID == transaction.id,
                            state.expiresDate <= now
                        else { return }
                        $0.renewal.offSince = min($0.renewal.offSince ?? revocation.at, revocation.at)
                        $0.renewal.endsCommitment = true
                    }))
        }
        changes += [.unfinished(transaction.id), .update(update(of: transaction, .purchased))]
        return changes
    }

    /// Creates the update about a transaction for every device of the account.
    static func update(of transaction: TransactionRecord, _ state: UpdateRecord.State) -> UpdateRecord {
        UpdateRecord(
            accountID: transaction.accountID, productID: transaction.productID, state: state,
            transactionID: transaction.id)
    }
}

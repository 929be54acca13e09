import Foundation
import StoreModel

/// What happens to a subscription besides buying it. Each takes the subscription as it stands and returns it as it stands
/// then; `nil` where nothing changes.
extension StoreRules {
    /// Turns auto-renewal off, which leaves access until the current period ends, or on again.
    static func setAutoRenew(_ isOn: Bool, _ state: SubscriptionState, at now: Date) -> SubscriptionRecord? {
        guard state.isRunning, state.autoRenews != isOn else { return nil }
        return changed(state, at: now) { $0.renewal.offSince = isOn ? nil : now }
    }

    /// Turns auto-renewal on, and lets the next period be one of `product`, at what a newcomer pays.
    ///
    /// Throws `otherGroup`.
    func resume(
        _ state: SubscriptionState, renewingTo product: ProductID?, at now: Date
    ) throws(SimulatorError) -> SubscriptionRecord? {
        let record = state.record
        guard let product, product != state.nextSale().plan.productID else {
            return Self.setAutoRenew(true, state, at: now)
        }
        guard let item = catalogue[product], let terms = item.subscription, terms.groupID == record.groupID else {
            throw SimulatorError(
                .otherGroup,
                "\(product) is not in the group \(record.groupID); a subscription renews only to a plan of its group.")
        }
        guard state.isRunning else { return nil }
        return Self.changed(state, at: now) {
            $0.renewal.offSince = nil
            $0.renewal.offer = nil
            // Who comes back to a plan agrees to what it costs by now.
            if product == state.current.plan.productID { $0.renewal.consentedAt = now }
            $0.renewal.plan =
                product == state.current.plan.productID
                ? state.current.plan
                : Plan(
                    productID: product, period: terms.period, price: price(of: item, at: now), pricedAt: now,
                    storefront: catalogue.storefront.countryCode)
        }
    }

    /// Lets payments fail from now on, or work again.
    static func setPaymentsFail(_ fail: Bool, _ state: SubscriptionState, at now: Date) -> SubscriptionRecord? {
        let renewal = state.record.renewal
        let isFailing = renewal.failsFrom != nil && renewal.failsUntil == nil
        guard state.isRunning, fail != isFailing else { return nil }
        return changed(state, at: now) {
            guard fail else {
                $0.renewal.failsUntil = now
                return
            }
            // What is overdue has failed from the beginning.
            if state.retryEnd == nil || renewal.failsFrom == nil { $0.renewal.failsFrom = now }
            $0.renewal.failsUntil = nil
        }
    }

    /// Sells the next period now instead of when it is due; the days of renewal are counted from now on.
    ///
    /// Throws `notNow` where the store would not sell it.
    func renew(_ state: SubscriptionState, at now: Date) throws(SimulatorError) -> SubscriptionRecord {
        let sale = state.nextSale()
        if let reason = reasonNotToRenew(state, sale, at: now) { throw SimulatorError(.notNow, reason) }
        return Self.changed(state, at: now) {
            let last = state.current
            var next = Run(
                base: last.base, first: last.first + last.count, anchor: now, soldAt: now, plan: sale.plan,
                offer: sale.offer, isRenewal: true)
            if sale.offer != nil, !sale.isRequested {
                next.offset = last.offset + last.count
                next.restart(at: now)
            }
            $0.runs.append(next)
            $0.renewal.plan = sale.plan
            if sale.isRequested { $0.renewal.offer = nil }
        }
    }

    private func reasonNotToRenew(_ state: SubscriptionState, _ sale: SubscriptionState.Upcoming, at now: Date)
        -> String?
    {
        guard state.current.hasNumbers else { return "A sale goes on for \(TransactionNumber.span) periods at most." }
        guard state.autoRenews else { return "Auto-renewal is off; resume the subscription first." }
        if state.failsToPay(at: now, under: conditions) {
            return
                "The payment would fail; resolve it first, or turn the setting \(StoreSetting.renewalsFail.name) off."
        }
        if conditions.isWithdrawn(sale.plan.productID, at: now) { return "\(sale.plan.productID) is no longer sold." }
        if state.increase != nil, sale.offer == nil, !state.hasConsented {
            return "The customer has not agreed to the higher price; answer the price increase first."
        }
        return nil
    }

    /// Ends the current period now.
    static func expire(_ state: SubscriptionState, at now: Date) -> SubscriptionRecord? {
        guard state.isRunning else { return nil }
        return changed(state, at: now) {
            if state.status == .active { $0.runs[$0.runs.count - 1].endsAt = now }
            $0.renewal.offSince = now
        }
    }

    /// Lets the current period end `days` later, for nothing; the next ones are counted from there. `nil` where there is
    /// nothing to extend: no period that was paid for and goes on.
    static func extend(_ state: SubscriptionState, byDays days: Int, at now: Date) -> SubscriptionRecord? {
        guard state.status == .active, state.current.offer?.paymentMode != .freeTrial else { return nil }
        let end = state.expiresDate.addingTimeInterval(Double(days) * 86400)
        return changed(state, at: now) { $0.runs[$0.runs.count - 1].endsAt = end }
    }

    /// Gives the latest period and those that follow another token of the app's own; what was sold before keeps its own.
    static func setAppAccountToken(_ token: UUID, _ state: SubscriptionState, at now: Date) -> SubscriptionRecord? {
        guard state.record.appAccountToken != token else { return nil }
        return changed(state, at: now) { $0.use(token, from: state.latest.purchaseDate) }
    }

    /// The customer's answer to a higher price; a refusal turns auto-renewal off.
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

    // MARK: - Taking back

    /// Takes a transaction back. Of the current period it ends access at once, and nothing is sold after it.
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

    /// Gives back what was taken. Access goes on as if nothing had been, as long as the period lasts; when it is over
    /// nothing follows it. Whoever had delivered it has to deliver it again.
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
                    }))
        }
        changes += [.unfinished(transaction.id), .update(update(of: transaction, .purchased))]
        return changes
    }

    /// What every device of the account is told of a transaction.
    static func update(of transaction: TransactionRecord, _ state: UpdateRecord.State) -> UpdateRecord {
        UpdateRecord(
            accountID: transaction.accountID, productID: transaction.productID, state: state,
            transactionID: transaction.id)
    }
}

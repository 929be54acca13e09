import Foundation
import StoreModel

/// What happens to a subscription besides buying it. Each takes the subscription as it stands and returns it as it stands
/// then; `nil` where nothing changes.
extension StoreLife {
    /// Turns auto-renewal off, which leaves access until the current period ends, or on again.
    static func setAutoRenew(_ isOn: Bool, _ course: Course, at now: Date) -> SubscriptionRecord? {
        guard course.isRunning, course.autoRenews != isOn else { return nil }
        return changed(course, at: now) { $0.renewal.offSince = isOn ? nil : now }
    }

    /// Turns auto-renewal on, and lets the next period be one of `product`, at what a newcomer pays.
    ///
    /// Throws `otherGroup`.
    func resume(
        _ course: Course, renewingTo product: ProductID?, at now: Date
    ) throws(SimulatorError) -> SubscriptionRecord? {
        let record = course.record
        guard let product, product != course.nextSale().plan.productID else {
            return Self.setAutoRenew(true, course, at: now)
        }
        guard let item = catalogue[product], let terms = item.subscription, terms.groupID == record.groupID else {
            throw SimulatorError(
                .otherGroup,
                "\(product) is not in the group \(record.groupID); a subscription renews only to a plan of its group.")
        }
        guard course.isRunning else { return nil }
        return Self.changed(course, at: now) {
            $0.renewal.offSince = nil
            $0.renewal.offer = nil
            // Who comes back to a plan agrees to what it costs by now.
            if product == course.current.plan.productID { $0.renewal.consentedAt = now }
            $0.renewal.plan =
                product == course.current.plan.productID
                ? course.current.plan
                : Plan(
                    productID: product, period: terms.period, price: price(of: item, at: now), pricedAt: now,
                    storefront: catalogue.storefront.countryCode)
        }
    }

    /// Lets payments fail from now on, or work again.
    static func setPaymentsFail(_ fail: Bool, _ course: Course, at now: Date) -> SubscriptionRecord? {
        let renewal = course.record.renewal
        let isFailing = renewal.failsFrom != nil && renewal.failsUntil == nil
        guard course.isRunning, fail != isFailing else { return nil }
        return changed(course, at: now) {
            guard fail else {
                $0.renewal.failsUntil = now
                return
            }
            // What is overdue has failed from the beginning.
            if course.retryEnd == nil || renewal.failsFrom == nil { $0.renewal.failsFrom = now }
            $0.renewal.failsUntil = nil
        }
    }

    /// Sells the next period now instead of when it is due; the days of renewal are counted from now on.
    ///
    /// Throws `notNow` where the store would not sell it.
    func renew(_ course: Course, at now: Date) throws(SimulatorError) -> SubscriptionRecord {
        let sale = course.nextSale()
        if let reason = reasonNotToRenew(course, sale, at: now) { throw SimulatorError(.notNow, reason) }
        return Self.changed(course, at: now) {
            let last = course.current
            var next = Run(
                base: last.base, first: last.first + last.count, anchor: now, soldAt: now, plan: sale.plan,
                offer: sale.offer, isRenewal: true)
            if sale.offer != nil, !sale.isAsked {
                next.offset = last.offset + last.count
                next.beginAnew(at: now)
            }
            $0.runs.append(next)
            $0.renewal.plan = sale.plan
            if sale.isAsked { $0.renewal.offer = nil }
        }
    }

    private func reasonNotToRenew(_ course: Course, _ sale: Course.Upcoming, at now: Date) -> String? {
        guard course.current.hasNumbers else { return "A sale goes on for \(TransactionNumber.span) periods at most." }
        guard course.autoRenews else { return "Auto-renewal is off; resume the subscription first." }
        if course.failsToPay(at: now, under: conditions) {
            return
                "The payment would fail; resolve it first, or turn the setting \(StoreSetting.renewalsFail.name) off."
        }
        if conditions.isWithdrawn(sale.plan.productID, at: now) { return "\(sale.plan.productID) is no longer sold." }
        if course.increase != nil, sale.offer == nil, !course.hasConsented {
            return "The customer has not agreed to the higher price; answer the price increase first."
        }
        return nil
    }

    /// Ends the current period now.
    static func expire(_ course: Course, at now: Date) -> SubscriptionRecord? {
        guard course.isRunning else { return nil }
        return changed(course, at: now) {
            if course.status == .active { $0.runs[$0.runs.count - 1].endsAt = now }
            $0.renewal.offSince = now
        }
    }

    /// Lets the current period end `days` later, for nothing; the next ones are counted from there. `nil` where there is
    /// nothing to extend: no period that was paid for and goes on.
    static func extend(_ course: Course, byDays days: Int, at now: Date) -> SubscriptionRecord? {
        guard course.status == .active, course.current.offer?.paymentMode != .freeTrial else { return nil }
        let end = course.expiresDate.addingTimeInterval(Double(days) * 86400)
        return changed(course, at: now) { $0.runs[$0.runs.count - 1].endsAt = end }
    }

    /// Gives the latest period and those that follow another token of the app's own; what was sold before keeps its own.
    static func setAppAccountToken(_ token: UUID, _ course: Course, at now: Date) -> SubscriptionRecord? {
        guard course.record.appAccountToken != token else { return nil }
        return changed(course, at: now) { $0.use(token, from: course.latest.purchaseDate) }
    }

    /// The customer's answer to a higher price; a refusal turns auto-renewal off.
    static func answerPriceIncrease(_ course: Course, isAccepted: Bool, at now: Date) -> SubscriptionRecord? {
        guard course.increase?.needsConsent == true, !course.hasConsented else { return nil }
        return changed(course, at: now) {
            if isAccepted { $0.renewal.consentedAt = now } else { $0.renewal.offSince = now }
        }
    }

    private static func changed(
        _ course: Course, at now: Date, _ change: (inout SubscriptionRecord) -> Void
    ) -> SubscriptionRecord {
        var record = course.condensed
        change(&record)
        record.changedAt = now
        return record
    }

    // MARK: - Taking back

    /// Takes a transaction back. Of the current period it ends access at once, and nothing is sold after it.
    static func revoke(
        _ transaction: TransactionRecord, _ course: Course?, _ revocation: Revocation
    ) -> [Fact] {
        var facts = [Fact.revocation(transaction.id, revocation)]
        if let course {
            facts.append(
                .subscription(changed(course, at: revocation.at) { $0.revocations[transaction.id] = revocation }))
        }
        facts.append(.update(news(of: transaction, .revoked)))
        return facts
    }

    /// Gives back what was taken. Access goes on as if nothing had been, as long as the period lasts; when it is over
    /// nothing follows it. Whoever had delivered it has to deliver it again.
    static func reverse(
        _ revocation: Revocation, of transaction: TransactionRecord, _ course: Course?, at now: Date
    ) -> [Fact] {
        var reversed = revocation
        reversed.reversedAt = now
        var facts = [Fact.revocation(transaction.id, reversed)]
        if let course {
            facts.append(
                .subscription(
                    changed(course, at: now) {
                        $0.revocations[transaction.id] = reversed
                        guard course.status == .revoked, course.current.latestID == transaction.id,
                            course.expiresDate <= now
                        else { return }
                        $0.renewal.offSince = min($0.renewal.offSince ?? revocation.at, revocation.at)
                    }))
        }
        facts += [.unfinished(transaction.id), .update(news(of: transaction, .purchased))]
        return facts
    }

    /// What every device of the account is told of a transaction.
    static func news(of transaction: TransactionRecord, _ state: UpdateRecord.State) -> UpdateRecord {
        UpdateRecord(
            accountID: transaction.accountID, productID: transaction.productID, state: state,
            transactionID: transaction.id)
    }
}

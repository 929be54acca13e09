import Foundation
import StoreModel

/// What happens to a subscription besides buying it. Each takes the subscription as it stands and returns it as it stands
/// then; `nil` where nothing changes.
extension StoreLife {
    /// Turns auto-renewal off, which leaves access until the current period ends, or on again.
    static func setAutoRenew(_ isOn: Bool, _ course: Course, at now: Date) -> SubscriptionRecord? {
        guard course.isActive || course.status == .billingRetry, course.autoRenews != isOn else { return nil }
        return changed(course, at: now) { $0.renewal.offSince = isOn ? nil : now }
    }

    /// Lets payments fail from now on, or work again.
    static func setPaymentsFail(_ fail: Bool, _ course: Course, at now: Date) -> SubscriptionRecord? {
        let renewal = course.record.renewal
        let isFailing = renewal.failsFrom != nil && renewal.failsUntil == nil
        guard fail != isFailing else { return nil }
        return changed(course, at: now) {
            if fail {
                $0.renewal.failsFrom = now
                $0.renewal.failsUntil = nil
            } else {
                $0.renewal.failsUntil = now
            }
        }
    }

    /// Sells the next period now instead of when it is due.
    static func renew(_ course: Course, at now: Date) -> SubscriptionRecord? {
        guard course.isActive || course.status == .billingRetry else { return nil }
        let (plan, offer) = course.nextSale()
        return changed(course, at: now) {
            let last = course.current
            $0.runs.append(
                Run(
                    base: last.base, first: last.first + last.count, anchor: now, soldAt: now, plan: plan, offer: offer,
                    isRenewal: true))
            $0.renewal.plan = plan
            $0.renewal.offer = nil
            $0.renewal.failsFrom = nil
            $0.renewal.failsUntil = nil
        }
    }

    /// Ends the current period now.
    static func expire(_ course: Course, at now: Date) -> SubscriptionRecord? {
        guard course.isActive || course.status == .billingRetry else { return nil }
        return changed(course, at: now) {
            if course.status == .active { $0.runs[$0.runs.count - 1].cutAt = now }
            $0.renewal.offSince = now
        }
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
}

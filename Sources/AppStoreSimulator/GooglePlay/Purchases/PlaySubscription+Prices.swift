import Foundation
import GooglePlay
import Primitives
import StoreModel

/// Changes of the price for an existing subscriber, and the customer's consent to higher prices.
extension PlaySubscription {
    /// A change of the price of the base plan for this subscriber: the end of a legacy price cohort.
    struct PriceChange: Codable, Sendable, Hashable {
        /// How the price changes. The set is closed by Google's resource.
        enum Mode: String, Codable, Sendable {
            case decrease
            /// The customer must agree.
            case increase
            /// The customer is informed, and can cancel.
            case optOutIncrease
        }

        var price: AndroidPublisher.Money
        var mode: Mode
        /// The price changes at the first renewal from here on.
        var notBefore: Date
        var isConfirmed: Bool
        var isApplied = false
    }

    /// The consent to a price that rises after a phase of an offer, which customers in South Korea must give.
    struct StepUp: Codable, Sendable, Hashable {
        var price: AndroidPublisher.Money
        var isConfirmed = false
        var isCompleted = false
    }

    /// The days from the announcement of a new price to the first renewal at it. Before an increase Google informs the
    /// customer for 30 days; an increase that needs consent begins with 7 more days.
    private static let waitingDays: [PriceChange.Mode: Int] = [.decrease: 0, .increase: 37, .optOutIncrease: 30]
    private static let regionWithStepUpConsent = "KR"
    /// The maximum number of renewals that a prediction counts.
    private static let longestPrediction = 3000

    // MARK: - Changes

    /// Changes the price of the base plan from a later renewal on.
    mutating func changePrice(
        to price: AndroidPublisher.Money, isOptOut: Bool, at instant: Date
    ) throws(PlayRefusal) -> [PlayEffect] {
        guard terms.kind == .autoRenewing, renews, state != .pending, deferredItem == nil else {
            throw PlayRefusal(
                "invalidSubscriptionState",
                "Only the price of an auto-renewing base plan whose renewal is on can change for a subscriber.")
        }
        let current = terms.price
        guard price.currencyCode.hasSameBytes(as: current.currencyCode), price.billionths > 0, price != current else {
            throw PlayRefusal("invalidValue", "The new price should be another one than \(current.amount), and over 0.")
        }
        let mode: PriceChange.Mode =
            price.billionths < current.billionths ? .decrease : isOptOut ? .optOutIncrease : .increase
        revision += 1
        priceChange = PriceChange(
            price: price, mode: mode,
            notBefore: instant.addingTimeInterval(Double(Self.waitingDays[mode] ?? 0) * 86400).wholeMilliseconds,
            isConfirmed: mode != .increase)
        return [.subscriptionEvent(.priceChangeUpdated, at: instant)]
    }

    /// Records that the customer agrees to the price that waits for a consent.
    mutating func agreeToPrice(at instant: Date) throws(PlayRefusal) -> [PlayEffect] {
        let needsStepUp = stepUp.map { !$0.isConfirmed } ?? false
        let needsChange = priceChange.map { !$0.isConfirmed && !$0.isApplied } ?? false
        guard renews, needsStepUp || needsChange else {
            throw PlayRefusal("invalidSubscriptionState", "No price of the subscription waits for a consent.")
        }
        revision += 1
        if needsStepUp { stepUp?.isConfirmed = true }
        if needsChange { priceChange?.isConfirmed = true }
        return (needsStepUp ? [.subscriptionEvent(.priceStepUpConsentUpdated, at: instant)] : [])
            + (needsChange ? [.subscriptionEvent(.priceChangeUpdated, at: instant)] : [])
    }

    // MARK: - Renewals

    /// Whether the next period has a price to which the customer did not agree.
    func lacksConsent(at start: Date) -> Bool {
        if let stepUp, !stepUp.isConfirmed { return true }
        return isDue(priceChange, at: nextPeriod, from: start) && priceChange?.isConfirmed == false
    }

    private func isDue(_ change: PriceChange?, at next: PlayPeriod, from start: Date) -> Bool {
        guard let change, !change.isApplied else { return false }
        return next.phase >= terms.phases.count && start >= change.notBefore
    }

    /// Applies the new price to the period that begins.
    mutating func applyPriceChange(from start: Date, at instant: Date) -> [PlayEffect] {
        guard isDue(priceChange, at: period, from: start), let change = priceChange, change.isConfirmed else {
            return []
        }
        terms.price = change.price
        priceChange?.isApplied = true
        return [.subscriptionEvent(.priceChangeUpdated, at: instant)]
    }

    /// Asks for the consent to a higher price after the period that begins, and completes the earlier one.
    mutating func updateStepUp(at instant: Date) -> [PlayEffect] {
        guard info.regionCode.hasSameBytes(as: Self.regionWithStepUpConsent) else { return [] }
        let price = nextPeriod.price(in: terms)
        if !period.isProrated, price.billionths > period.price(in: terms).billionths {
            stepUp = StepUp(price: price)
        } else if let earlier = stepUp, earlier.isConfirmed, !earlier.isCompleted {
            stepUp?.isCompleted = true
        } else {
            return []
        }
        return [.subscriptionEvent(.priceStepUpConsentUpdated, at: instant)]
    }

    /// The event of a cancellation, or of its end, which changes the state of a price change that was not applied.
    func consentEvents(at instant: Date) -> [PlayEffect] {
        priceChange?.isApplied == false ? [.subscriptionEvent(.priceChangeUpdated, at: instant)] : []
    }

    // MARK: - Resources

    var priceChangeDetails: AndroidPublisher.PriceChangeDetails? {
        guard let change = priceChange else { return nil }
        return AndroidPublisher.PriceChangeDetails {
            $0.newPrice = change.price
            switch change.mode {
            case .decrease: $0.priceChangeMode = .decrease
            case .increase: $0.priceChangeMode = .increase
            case .optOutIncrease: $0.priceChangeMode = .optOutIncrease
            }
            $0.priceChangeState =
                change.isApplied ? .applied : !renews ? .canceled : change.isConfirmed ? .confirmed : .outstanding
            $0.expectedNewPriceChargeTime = change.isApplied || !renews ? nil : renewal(from: change.notBefore)
        }
    }

    var priceStepUpConsentDetails: AndroidPublisher.PriceStepUpConsentDetails? {
        guard let stepUp else { return nil }
        return AndroidPublisher.PriceStepUpConsentDetails {
            $0.newPrice = stepUp.price
            $0.state = stepUp.isCompleted ? .completed : stepUp.isConfirmed ? .confirmed : .pending
            $0.consentDeadlineTime = stepUp.isCompleted ? nil : paidUntil
        }
    }

    /// The first renewal to a period of the base plan that is not earlier than `instant`; `nil` if it is too far away.
    private func renewal(from instant: Date) -> Date? {
        var (place, start, count, end) = (period, anchor, periodsSinceAnchor, paidUntil)
        if state == .paused, let resumption = stateUntil { (start, count, end) = (resumption, 0, resumption) }
        for _ in 0..<Self.longestPrediction {
            let next = place.next(in: terms)
            if next.phase >= terms.phases.count, end >= instant { return end }
            if next.duration(in: terms) != place.duration(in: terms) || place.isProrated {
                (start, count) = (end, 0)
            }
            place = next
            count += 1
            end = next.duration(in: terms).end(from: start, count: count).wholeMilliseconds
        }
        return nil
    }
}

import Foundation
import GooglePlay
import Primitives
import StoreModel

/// A purchase of a subscription: a pure state machine in virtual time.
///
///     while let due = subscription.nextChange, due <= now { effects += subscription.step() }
///
/// An action of the user, the developer or Google is a method that returns its effects, or throws `PlayRefusal` and
/// changes nothing. Perform the due steps first.
struct PlaySubscription: Codable, Sendable, Hashable {
    /// The state. The set is closed by Google's resource.
    enum State: String, Codable, Sendable {
        case pending, active, canceled, inGracePeriod, onHold, paused, expired, pendingPurchaseCanceled
    }

    /// The initiator of a cancellation. The set is closed by Google's resource.
    enum Canceller: String, Codable, Sendable { case user, system, developer, replacement }

    struct Cancellation: Codable, Sendable, Hashable {
        var by: Canceller
        var at: Date
    }

    /// The subscription that this one replaced.
    struct Replacement: Codable, Sendable, Hashable {
        var token: String
        var productID: ProductID
        var basePlanID: String
        var offerID: String?
        /// `nil` for a top-up, and for a new purchase of a cancelled subscription.
        var mode: AndroidPublisher.ReplacementMode?
        /// The payment at the replacement; `nil` means the price of the first period.
        var payment: AndroidPublisher.Money?
        /// The end of the first period; `nil` if that follows from the terms.
        var end: Date?
        /// The subscription that continues until a deferred replacement takes effect; `nil` in other modes.
        var deferredItem: DeferredItem?
    }

    /// The item that the customer has until a deferred replacement takes effect.
    struct DeferredItem: Codable, Sendable, Hashable {
        var terms: PlayTerms
        var orderID: String?
    }

    /// The subscription of the same product that ended before the customer bought this one outside the app.
    struct Former: Codable, Sendable, Hashable {
        var token: String
        var obfuscatedAccountID: String?
        var obfuscatedProfileID: String?
    }

    var info: PlayPurchaseInfo
    var terms: PlayTerms
    var state = State.pending
    var startedAt: Date
    var period = PlayPeriod()
    /// The beginning of the period.
    private var periodStart: Date
    /// The end of the time that is paid.
    private(set) var paidUntil: Date
    /// Periods count from here, so that they keep the day of the month.
    private(set) var anchor: Date
    private(set) var periodsSinceAnchor = 0
    /// The number of orders after the first one.
    private var renewals = 0
    private(set) var latestOrderID: String?
    /// The order whose payment failed.
    private(set) var pendingOrderID: String?
    var paymentsFail = false
    /// The beginning and the end of the grace period, account hold or pause.
    private var stateSince: Date
    private(set) var stateUntil: Date?
    /// The length of the pause that begins at the end of the period.
    private(set) var scheduledPause: SubscriptionPeriod?
    /// The payments that are left of a commitment; `nil` before its first one.
    private(set) var remainingPayments: Int?
    /// Whether the subscription is cancelled at the end of its commitment.
    private(set) var isCancellationPending = false
    private(set) var cancellation: Cancellation?
    private(set) var endedAt: Date?
    let replacement: Replacement?
    /// The former subscription of a purchase outside the app; `nil` for a purchase in the app.
    let former: Former?
    /// The latest change of the price for existing subscribers.
    var priceChange: PriceChange?
    /// The latest consent to a higher price after an offer.
    var stepUp: StepUp?
    /// Counts the changes; the `etag` is made from it.
    var revision = 0

    init(
        _ info: PlayPurchaseInfo, _ terms: PlayTerms, replacing replacement: Replacement? = nil,
        after former: Former? = nil, at instant: Date
    ) {
        self.info = info
        self.terms = terms
        self.replacement = replacement
        self.former = former
        startedAt = instant
        periodStart = instant
        paidUntil = instant
        anchor = instant
        stateSince = instant
    }

    // MARK: - Reading

    /// The end of the access, as Google reports it. It moves on in a grace period, and is in the past in an account
    /// hold and a pause.
    var expiryTime: Date {
        switch state {
        case .pending, .active, .canceled: paidUntil
        case .inGracePeriod: stateUntil ?? paidUntil
        case .onHold, .paused: stateSince
        case .expired, .pendingPurchaseCanceled: endedAt ?? paidUntil
        }
    }

    /// The item that the customer has until the deferred replacement takes effect, with the first payment.
    var deferredItem: DeferredItem? { latestOrderID == nil ? replacement?.deferredItem : nil }

    /// The period that is sold next.
    var nextPeriod: PlayPeriod { deferredItem == nil ? period.next(in: terms) : PlayPeriod() }

    /// The length of the period, at least one millisecond.
    var periodLength: Int64 { max(1, paidUntil.playMilliseconds.value - periodStart.playMilliseconds.value) }
    var isEnded: Bool { state == .expired || state == .pendingPurchaseCanceled }
    var renews: Bool { !isEnded && state != .canceled && terms.kind != .prepaid }

    // MARK: - Time

    /// The instant of the next change that time causes.
    var nextChange: Date? {
        [stateChange, info.isAcknowledged || isEnded ? nil : info.acknowledgeBy].compactMap(\.self).min()
    }

    /// The instant at which time changes the state next.
    var stateChange: Date? {
        switch state {
        case .active, .canceled: paidUntil
        case .inGracePeriod, .onHold, .paused: stateUntil
        case .pending, .expired, .pendingPurchaseCanceled: nil
        }
    }

    /// Performs the change that is due at `nextChange`.
    mutating func step() -> [PlayEffect] {
        guard let due = nextChange else { return [] }
        revision += 1
        if !info.isAcknowledged, let limit = info.acknowledgeBy, limit <= due {
            return revoke(at: due, by: .system, voided: (2, 8))
        }
        switch state {
        case .active where terms.kind == .prepaid: return expire(at: due)
        case .active: return endPeriod(at: due)
        case .canceled: return expire(at: due)
        case .inGracePeriod: return hold(at: due)
        case .onHold:
            cancellation = Cancellation(by: .system, at: due)
            return [.subscriptionEvent(.canceled, at: due)] + expire(at: due)
        case .paused: return resumePayments(at: due)
        case .pending, .expired, .pendingPurchaseCanceled: return []
        }
    }

    private mutating func endPeriod(at due: Date) -> [PlayEffect] {
        if let pause = scheduledPause {
            scheduledPause = nil
            return enter(.paused, at: due, until: pause.end(from: due), [.subscriptionEvent(.paused, at: due)])
        }
        if lacksConsent(at: due) { return endWithoutConsent(at: due) }
        guard paymentsFail, nextPeriod.price(in: terms).billionths > 0 else {
            return pay(nextPeriod, from: due, at: due, .renewed)
        }
        pendingOrderID = orderID(of: renewals)
        guard terms.graceDays > 0 else { return hold(at: due) }
        return enter(
            .inGracePeriod, at: due, until: due.addingDays(terms.graceDays),
            [.subscriptionEvent(.inGracePeriod, at: due)])
    }

    private mutating func hold(at due: Date) -> [PlayEffect] {
        guard terms.holdDays > 0 else {
            cancellation = Cancellation(by: .system, at: due)
            return [.subscriptionEvent(.canceled, at: due)] + expire(at: due)
        }
        return enter(
            .onHold, at: due, until: due.addingDays(terms.holdDays), [.subscriptionEvent(.onHold, at: due)])
    }

    /// Begins a period at the end of a pause. A failing payment leads to an account hold, without a grace period.
    private mutating func resumePayments(at due: Date) -> [PlayEffect] {
        if lacksConsent(at: due) { return endWithoutConsent(at: due) }
        if paymentsFail, nextPeriod.price(in: terms).billionths > 0 {
            pendingOrderID = orderID(of: renewals)
            return hold(at: due)
        }
        anchor = due
        periodsSinceAnchor = 0
        return pay(nextPeriod, from: due, at: due, .recovered)
    }

    /// Ends a subscription whose customer did not agree to the next price.
    private mutating func endWithoutConsent(at instant: Date) -> [PlayEffect] {
        cancellation = Cancellation(by: .system, at: instant)
        return [.subscriptionEvent(.canceled, at: instant)] + consentEvents(at: instant) + expire(at: instant)
    }

    private mutating func enter(
        _ state: State, at instant: Date, until end: Date, _ effects: [PlayEffect]
    ) -> [PlayEffect] {
        self.state = state
        stateSince = instant
        stateUntil = end.wholeMilliseconds
        return effects
    }

    /// Sells a period after the first one.
    private mutating func pay(
        _ next: PlayPeriod, from start: Date, at instant: Date, _ event: DeveloperNotification.SubscriptionEvent
    ) -> [PlayEffect] {
        let isFirst = deferredItem != nil
        let id = isFirst ? info.orderID : orderID(of: renewals)
        if !isFirst { renewals += 1 }
        if isFirst || next.duration(in: terms) != period.duration(in: terms) || period.isProrated {
            anchor = start
            periodsSinceAnchor = 0
        }
        period = next
        let changes = applyPriceChange(from: start, at: instant)
        periodStart = start
        periodsSinceAnchor += 1
        paidUntil = next.duration(in: terms).end(from: anchor, count: periodsSinceAnchor).wholeMilliseconds
        state = .active
        stateUntil = nil
        pendingOrderID = nil
        latestOrderID = id
        let effects: [PlayEffect] = [
            .order(order(id, total: next.price(in: terms), from: start, at: instant)),
            .subscriptionEvent(event, at: instant),
        ]
        return effects + changes + updateStepUp(at: instant) + countPayment(at: instant)
    }

    /// Counts a payment of a commitment. A cancellation that waited for its end takes effect.
    private mutating func countPayment(at instant: Date) -> [PlayEffect] {
        guard terms.kind == .installments, period.phase >= terms.phases.count else { return [] }
        let left = remainingPayments ?? terms.committedPayments
        remainingPayments = left > 0 ? left - 1 : terms.renewsWithCommitment ? terms.committedPayments - 1 : 0
        guard remainingPayments == 0, isCancellationPending else { return [] }
        isCancellationPending = false
        state = .canceled
        cancellation = Cancellation(by: .user, at: instant)
        return [.subscriptionEvent(.canceled, at: instant)]
    }

    private mutating func expire(at instant: Date) -> [PlayEffect] {
        end(at: instant)
        return [.subscriptionEvent(.expired, at: instant)]
    }

    private mutating func end(at instant: Date) {
        state = .expired
        stateUntil = nil
        endedAt = instant
        scheduledPause = nil
        pendingOrderID = nil
        isCancellationPending = false
    }

    /// The id of the order after `count` renewals.
    private func orderID(of count: Int) -> String { "\(info.orderID)..\(count)" }

    private func order(
        _ id: String, total: AndroidPublisher.Money, from start: Date, at instant: Date
    ) -> AndroidPublisher.Order {
        .processed(info, orderID: id, price: period.price(in: terms), total: total, at: instant) {
            $0.subscriptionDetails = AndroidPublisher.SubscriptionDetails {
                $0.basePlanId = terms.basePlanID
                $0.offerId = terms.offerID
                $0.offerPhase = period.name(in: terms)
                $0.servicePeriodStartTime = start.wholeMilliseconds
                $0.servicePeriodEndTime = paidUntil
            }
        }
    }
}

extension Date {
    fileprivate func addingDays(_ days: Int) -> Date { addingTimeInterval(Double(days) * 86400) }
}

// MARK: - Actions

extension PlaySubscription {
    /// Begins the subscription with its first payment.
    mutating func begin(at instant: Date) throws(PlayRefusal) -> [PlayEffect] {
        guard state == .pending else {
            throw PlayRefusal("invalidPurchaseState", "The purchase does not wait for its payment.")
        }
        revision += 1
        startedAt = instant
        periodStart = instant
        anchor = instant
        if let end = replacement?.end, replacement?.deferredItem != nil {
            // The customer keeps the old item until then, and pays nothing now.
            paidUntil = max(end, instant.addingTimeInterval(0.001)).wholeMilliseconds
            state = .active
            info.begin(at: instant)
            return [.subscriptionEvent(.purchased, at: instant)]
        }
        period.isProrated = replacement?.mode.map { $0 != .chargeFullPrice } ?? false
        if period.isProrated { period.phase = terms.phases.count }
        let end = replacement?.end ?? period.duration(in: terms).end(from: instant)
        if replacement?.end == nil { periodsSinceAnchor = 1 } else { anchor = end }
        paidUntil = max(end, instant.addingTimeInterval(0.001)).wholeMilliseconds
        state = .active
        latestOrderID = info.orderID
        info.begin(
            at: instant, prepaidLength: terms.kind == .prepaid ? terms.length(from: instant) : nil)
        let total = replacement?.payment ?? period.price(in: terms)
        let effects: [PlayEffect] = [
            .order(order(info.orderID, total: total, from: instant, at: instant)),
            .subscriptionEvent(.purchased, at: instant),
        ]
        return effects + updateStepUp(at: instant) + countPayment(at: instant)
    }

    /// Ends a purchase that waits for its payment.
    mutating func decline(at instant: Date) throws(PlayRefusal) -> [PlayEffect] {
        guard state == .pending else {
            throw PlayRefusal("invalidPurchaseState", "The purchase does not wait for its payment.")
        }
        revision += 1
        state = .pendingPurchaseCanceled
        endedAt = instant
        return [.subscriptionEvent(.pendingPurchaseCanceled, at: instant)]
    }

    mutating func acknowledge(_ payload: String?) throws(PlayRefusal) {
        guard state != .pending else {
            throw PlayRefusal("subscriptionNotOwnedByUser", "The purchase is pending; there is nothing to acknowledge.")
        }
        guard !isEnded || info.isAcknowledged else {
            throw PlayRefusal("subscriptionNotOwnedByUser", "The subscription has ended.")
        }
        if !info.isAcknowledged { revision += 1 }
        info.acknowledge(payload)
    }

    /// Sets the account of the customer, unless the purchase has one.
    mutating func attribute(to ids: AndroidPublisher.ExternalAccountIds) {
        guard info.obfuscatedAccountID == nil, info.obfuscatedProfileID == nil else { return }
        info.obfuscatedAccountID = ids.obfuscatedAccountId
        info.obfuscatedProfileID = ids.obfuscatedProfileId
    }

    /// Turns the renewal off. During a commitment, the renewal is turned off at its end, unless the developer cancels.
    /// In a grace period, an account hold or a pause, the subscription ends at once.
    mutating func cancel(by canceller: Canceller, at instant: Date) throws(PlayRefusal) -> [PlayEffect] {
        guard renews, state != .pending, !(isCancellationPending && canceller == .user) else {
            throw PlayRefusal("invalidSubscriptionState", "The subscription does not renew, so it cannot be cancelled.")
        }
        revision += 1
        if canceller == .user, (remainingPayments ?? 0) > 0, state == .active {
            isCancellationPending = true
            return [.subscriptionEvent(.cancellationScheduled, at: instant)]
        }
        isCancellationPending = false
        scheduledPause = nil
        cancellation = Cancellation(by: canceller, at: instant)
        let effects = [.subscriptionEvent(.canceled, at: instant)] + consentEvents(at: instant)
        if state == .active {
            state = .canceled
            return effects
        }
        return effects + expire(at: instant)
    }

    /// Turns the renewal on again.
    mutating func restart(at instant: Date) throws(PlayRefusal) -> [PlayEffect] {
        guard state == .canceled || isCancellationPending else {
            throw PlayRefusal("invalidSubscriptionState", "The subscription is not cancelled, or it has ended.")
        }
        revision += 1
        state = .active
        isCancellationPending = false
        cancellation = nil
        return [.subscriptionEvent(.restarted, at: instant)] + consentEvents(at: instant)
    }

    /// Schedules a pause of one week to three months from the end of the period on; `nil` removes it.
    mutating func schedulePause(_ length: SubscriptionPeriod?, at instant: Date) throws(PlayRefusal) -> [PlayEffect] {
        guard state == .active, terms.kind == .autoRenewing else {
            throw PlayRefusal("invalidSubscriptionState", "Only an active subscription that renews can be paused.")
        }
        if let length {
            let end = length.end(from: paidUntil)
            guard end >= SubscriptionPeriod.weeks(1).end(from: paidUntil),
                end <= SubscriptionPeriod.months(3).end(from: paidUntil)
            else { throw PlayRefusal("invalidValue", "A pause has a length of one week to three months.") }
        } else if scheduledPause == nil {
            throw PlayRefusal("invalidSubscriptionState", "No pause is scheduled.")
        }
        revision += 1
        scheduledPause = length
        return [.subscriptionEvent(.pauseScheduleChanged, at: instant)]
    }

    /// Ends a pause before its time, or removes the scheduled one.
    mutating func resume(at instant: Date) throws(PlayRefusal) -> [PlayEffect] {
        if scheduledPause != nil { return try schedulePause(nil, at: instant) }
        guard state == .paused else {
            throw PlayRefusal("invalidSubscriptionState", "The subscription is not paused, and no pause is scheduled.")
        }
        revision += 1
        return resumePayments(at: instant)
    }

    /// Lets the payments work again. In a grace period, the next period begins at the end of the last one; in an account
    /// hold, it begins now.
    mutating func recover(at instant: Date) throws(PlayRefusal) -> [PlayEffect] {
        guard paymentsFail else {
            throw PlayRefusal("invalidSubscriptionState", "The payments of the subscription do not fail.")
        }
        revision += 1
        paymentsFail = false
        switch state {
        case .inGracePeriod: return pay(nextPeriod, from: paidUntil, at: instant, .renewed)
        case .onHold:
            if lacksConsent(at: instant) { return endWithoutConsent(at: instant) }
            anchor = instant
            periodsSinceAnchor = 0
            return pay(nextPeriod, from: instant, at: instant, .recovered)
        default: return []
        }
    }

    /// Lets the payments fail from the next one on.
    mutating func failPayments() throws(PlayRefusal) {
        guard renews, state != .pending else {
            throw PlayRefusal("invalidSubscriptionState", "The subscription does not renew.")
        }
        revision += 1
        paymentsFail = true
    }

    /// Moves the next payment, unless this is a trial. Throws unless the subscription is active, and the new instant is
    /// within a year of the present end of the period.
    mutating func `defer`(
        to end: Date, at instant: Date, _ isTrial: Bool = false
    ) throws(PlayRefusal) -> [PlayEffect] {
        guard state == .active, terms.kind != .prepaid else {
            throw PlayRefusal("invalidSubscriptionState", "Only an active subscription that renews can be deferred.")
        }
        guard end > paidUntil, end <= SubscriptionPeriod.years(1).end(from: paidUntil) else {
            throw PlayRefusal(
                "invalidExpiryTime", "The new expiry should be later than the present one, by a year at most.")
        }
        if isTrial { return [] }
        revision += 1
        paidUntil = end.wholeMilliseconds
        anchor = paidUntil
        periodsSinceAnchor = 0
        return [.subscriptionEvent(.deferred, at: instant)]
    }

    /// Ends the subscription at once and refunds its latest order, in full or by the unused share of the period.
    mutating func revoke(
        at instant: Date, by canceller: Canceller, voided: (source: Int, reason: Int), prorated: Bool = false,
        chargeback: Bool = false, order: String? = nil
    ) -> [PlayEffect] {
        var refund = PlayRefund(order ?? latestOrderID ?? info.orderID, at: instant, voided: voided)
        if chargeback { refund.reason = .chargeback }
        if prorated {
            let left = paidUntil.playMilliseconds.value - instant.playMilliseconds.value
            refund.denominator = periodLength
            refund.numerator = min(max(0, left), periodLength)
        }
        revision += 1
        cancellation = Cancellation(by: canceller, at: instant)
        end(at: instant)
        return [.refund(refund), .subscriptionEvent(.revoked, at: instant)]
    }

    /// Ends the subscription at the instant at which another one replaces it.
    mutating func replace(at instant: Date) -> [PlayEffect] {
        revision += 1
        cancellation = Cancellation(by: .replacement, at: instant)
        return expire(at: instant)
    }
}

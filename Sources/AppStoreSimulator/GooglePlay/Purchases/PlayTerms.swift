import Foundation
import GooglePlay
import Primitives
import StoreModel

/// The terms of a subscription at its purchase: a base plan and perhaps an offer, in one region. A later change of the
/// catalogue does not affect them.
struct PlayTerms: Codable, Sendable, Hashable {
    var basePlanID: String
    var offerID: String?
    var tags: [String]
    var kind: PlayBasePlan.Kind
    var period: SubscriptionPeriod
    var graceDays: Int
    var holdDays: Int
    var committedPayments: Int
    var renewsWithCommitment: Bool
    var allowsExtension: Bool
    var price: AndroidPublisher.Money
    var phases: [Phase]

    struct Phase: Codable, Sendable, Hashable {
        var duration: SubscriptionPeriod
        var count: Int
        var price: AndroidPublisher.Money
    }

    /// Creates the terms, or returns `nil` if the plan or the offer is not sold in the region.
    init?(_ plan: PlayBasePlan, _ offer: PlayOffer?, in region: String) {
        guard plan.isActive, offer?.isActive ?? true, let price = plan.prices.price(in: region) else { return nil }
        phases = []
        for phase in offer?.phases ?? [] {
            guard let price = phase.prices.price(in: region) else { return nil }
            phases.append(Phase(duration: phase.duration, count: phase.count, price: price))
        }
        basePlanID = plan.id
        offerID = offer?.id
        tags = offer?.tags ?? plan.tags
        kind = plan.kind
        period = plan.period
        graceDays = plan.graceDays
        holdDays = plan.holdDays
        committedPayments = plan.committedPayments
        renewsWithCommitment = plan.renewsWithCommitment
        allowsExtension = plan.allowsExtension
        self.price = price
    }

    /// The length of a period of the base plan that begins at `start`.
    func length(from start: Date) -> TimeInterval { period.end(from: start).timeIntervalSince(start) }
}

/// The place of a period in the terms: the recurrence of a phase, or a period at the price of the base plan.
struct PlayPeriod: Codable, Sendable, Hashable {
    /// The index of the phase; the number of phases for the base plan.
    var phase = 0
    /// Counted from 1.
    var recurrence = 1
    /// Whether the period continues the value of a subscription that was replaced.
    var isProrated = false

    /// The period after this one.
    func next(in terms: PlayTerms) -> PlayPeriod {
        if isProrated { return PlayPeriod(phase: terms.phases.count) }
        guard phase < terms.phases.count else { return PlayPeriod(phase: phase, recurrence: recurrence) }
        return recurrence < terms.phases[phase].count
            ? PlayPeriod(phase: phase, recurrence: recurrence + 1) : PlayPeriod(phase: phase + 1)
    }

    func price(in terms: PlayTerms) -> AndroidPublisher.Money {
        terms.phases.indices.contains(phase) ? terms.phases[phase].price : terms.price
    }

    func duration(in terms: PlayTerms) -> SubscriptionPeriod {
        terms.phases.indices.contains(phase) ? terms.phases[phase].duration : terms.period
    }

    /// The name of the phase in an order.
    func name(in terms: PlayTerms) -> String {
        guard terms.phases.indices.contains(phase) else { return "BASE" }
        return terms.phases[phase].price.billionths == 0 ? "FREE_TRIAL" : "INTRODUCTORY"
    }
}

import Foundation
import StoreModel

/// A user's subscriptions as the app sees them.
struct PublicSubscriptionsService: Sendable {
    let subscriptions: SubscriptionsService

    /// Rows that could not be read, or are in a state this version does not know, are passed to `report`.
    func subscriptions(
        of user: UserId, at date: Date, report: @Sendable ([UnreadableRow]) -> Void
    ) async throws -> [Subscription] {
        let answer = try await subscriptions.subscriptions(of: user)
        let (known, unknown) = answer.splitByState()
        report((answer.unreadable + unknown).sorted { $0.index < $1.index })
        return SubscriptionChain(known).subscriptions(at: date)
    }
}

extension SubscriptionsResponse {
    /// The subscriptions in a known state, and the others as rows of the answer.
    fileprivate func splitByState() -> (known: [SubscriptionInternal], unknown: [UnreadableRow]) {
        let leftOut = Set(unreadable.map(\.index))
        let places = (0..<subscriptions.count + leftOut.count).filter { !leftOut.contains($0) }
        var known: [SubscriptionInternal] = []
        var unknown: [UnreadableRow] = []
        for (index, row) in zip(places, subscriptions) {
            if Subscription.State(row.state, endsAt: row.currentPeriodEndAt, at: .distantPast) != nil {
                known.append(row)
            } else {
                unknown.append(
                    UnreadableRow(index: index, reason: "The state \"\(row.state.rawValue)\" is not known."))
            }
        }
        return (known, unknown)
    }
}

/// Subscriptions with the links from each to the one that follows it.
struct SubscriptionChain {
    private let rows: [SubscriptionInternal]
    /// From a subscription's place to its successor's; without cycles.
    private var successors: [Int: Int] = [:]

    /// Of two rows with the same id the first counts. A link that would close a cycle is cut.
    init(_ all: [SubscriptionInternal]) {
        var places: [UUID: Int] = [:]
        var rows: [SubscriptionInternal] = []
        for row in all where places[row.id] == nil {
            places[row.id] = rows.count
            rows.append(row)
        }
        self.rows = rows
        for (place, row) in rows.enumerated() {
            guard let next = row.nextSubscriptionId.flatMap({ places[$0] }), !leads(from: next, to: place) else {
                continue
            }
            successors[place] = next
        }
    }

    private func leads(from start: Int, to end: Int) -> Bool {
        var place: Int? = start
        while let current = place {
            if current == end { return true }
            place = successors[current]
        }
        return false
    }

    /// All of them in the order of the answer, each with the one that follows it. The follower has no follower of its
    /// own there: it is in the list itself.
    func subscriptions(at date: Date) -> [Subscription] {
        rows.enumerated().map { place, row in
            var subscription = Subscription(row, at: date)
            subscription.next = successors[place].map { Subscription(rows[$0], at: date) }
            return subscription
        }
    }
}

extension Subscription {
    fileprivate init(_ row: SubscriptionInternal, at date: Date) {
        self.init(
            id: row.id, productIdentifier: row.pricePoint.ident, startDate: row.currentPeriodStartAt,
            endDate: row.currentPeriodEndAt,
            state: State(row.state, endsAt: row.currentPeriodEndAt, at: date) ?? .active,
            type: row.isFromAppStore ? .apple : .web, price: row.pricePoint.nextPrice ?? row.pricePoint.introPrice,
            currencyCode: row.pricePoint.currencyCode, providedFeatures: row.pricePoint.services.map(\.featureIdent),
            originalTransactionID: row.originalTransactionID)
    }
}

extension Subscription.State {
    /// A cancelled subscription whose period is over has expired; one the backend calls active is, whatever its dates.
    fileprivate init?(_ state: SubscriptionInternal.State, endsAt end: Date, at date: Date) {
        switch state {
        case .new, .active: self = .active
        case .canceled: self = date < end ? .cancelled : .expired
        case .isUpcoming: self = .upcoming
        default: return nil
        }
    }
}

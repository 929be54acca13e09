import Foundation
import StoreModel

/// The seats of a subscription that one customer buys for several.
struct Seats: Sendable, Hashable {
    /// The inviter of the members. Raw values are Apple's `invitationManagement`. The set is closed.
    enum Invitations: String, Sendable, CaseIterable {
        /// Apple invites the members, and each has a transaction.
        case apple = "APPLE"
        /// The app invites the members, and its server claims their seats. They have no transactions.
        case developer = "DEVELOPER"
    }

    /// The number of seats that are sold with one period.
    var count: Int
    var invitations: Invitations

    /// The numbers of seats that can be sold at once.
    static let counts = 2...10_000
}

/// Seats that a customer added to the current period of a subscription. They have a transaction of their own.
struct SeatAddition: Sendable, Hashable {
    /// The number of the transaction.
    var id: Int64
    /// The transaction of the period.
    var period: Int64
    var at: Date
    var count: Int
    /// The price of one seat for the rest of the period.
    var price: Price
    /// The revocation of the whole transaction.
    var revocation: Revocation?
    var restoredAt: Date?
}

extension SubscriptionState {
    /// The number of seats of the current period, without the refunded ones; 0 for a subscription without seats.
    var seatCount: Int {
        guard let seats = current.plan.seats, status != .revoked else { return 0 }
        let period = current.latestID
        let added = additions(to: period).filter { $0.revocation == nil }
        let sold = added.reduce(seats.count) { $0 + $1.count }
        let refunded = ([period] + added.map(\.id)).reduce(0) { $0 + (record.refundedSeats[$1] ?? 0) }
        return max(0, sold - refunded)
    }

    /// The seats that were added to a period.
    func additions(to period: Int64) -> [SeatAddition] {
        record.additions.filter { $0.period == period && $0.at <= instant }
    }

    /// Returns the transaction that sold additional seats; `nil` if the period is not known.
    func transaction(of addition: SeatAddition) -> TransactionRecord? {
        guard var added = transaction(addition.period) else { return nil }
        added.id = addition.id
        added.webOrderLineItemID = TransactionNumber.webOrder(of: addition.id)
        added.purchaseDate = addition.at
        added.quantity = addition.count
        added.price = addition.price
        added.isRenewal = false
        added.refundedSeats = record.refundedSeats[addition.id]
        added.revocation = addition.revocation
        added.restoredAt = addition.restoredAt
        added.additionTo = addition.period
        return added
    }
}

extension StoreRules {
    /// Returns the seats of an order: those it names, or those of the customer's running subscription. Throws
    /// `StoreFailure`.
    func seats(of order: Order, _ state: SubscriptionState?) throws(StoreFailure) -> Seats? {
        let running = state.flatMap { $0.isRunning && $0.record.share == nil ? $0 : nil }
        let current = running?.current.plan.seats
        guard order.quantity > 1 else {
            return try current.map { seats throws(StoreFailure) in
                try Self.checkNoOffer(order)
                return Seats(count: max(1, running?.seatCount ?? seats.count), invitations: seats.invitations)
            }
        }
        try Self.checkNoOffer(order)
        if running != nil, current == nil {
            throw StoreFailure(
                code: .invalidQuantity,
                reason: "The customer has a subscription for one; seats can be bought after it has ended.")
        }
        guard let invitations = current?.invitations ?? seatInvitations else {
            throw StoreFailure(
                code: .invalidQuantity,
                reason: "The quantity is \(order.quantity); no seats are sold while the setting "
                    + "\(StoreSetting.seatInvitations.name) is off.")
        }
        return Seats(count: order.quantity, invitations: invitations)
    }

    private static func checkNoOffer(_ order: Order) throws(StoreFailure) {
        guard order.offerID == nil else {
            throw StoreFailure(code: .invalidOffer, reason: "A subscription with several seats is sold without offers.")
        }
    }

    /// Adds seats to the current period, up to the number of the order. The subscription renews with all of them. The
    /// price of each is the part of the seat's price for the rest of the period, rounded down to milliunits.
    mutating func addSeats(
        _ state: SubscriptionState, _ order: Order, at now: Date, _ changes: inout [StoreChange]
    ) -> Decision {
        let run = state.current
        guard var seats = run.plan.seats, order.quantity > state.seatCount else {
            return Self.refuse(
                .invalidQuantity,
                "The subscription has \(state.seatCount) seats; order the number of all seats, which should be higher.")
        }
        guard state.status == .active else {
            return Self.refuse(.unsupported, "Seats can be added only to a period that is paid.")
        }
        let id = order.number ?? numbers.next()
        let whole = max(0.001, run.end.timeIntervalSince(run.start(of: run.count - 1)))
        let rest = min(1, max(0, run.end.timeIntervalSince(now) / whole))
        let price = Price(
            milliunits: Int64((Double(run.plan.price.milliunits) * rest).rounded(.down)),
            currency: run.plan.price.currency)
        let addition = SeatAddition(
            id: id, period: run.latestID, at: now, count: order.quantity - state.seatCount, price: price)
        var record = state.condensed
        seats.count = order.quantity
        record.renewal.plan.seats = seats
        record.changedAt = now
        changes += [.subscription(record), .seatAddition(addition, to: record)]
        return .sold(id)
    }
}

extension Seats {
    /// The form in the database, such as `5 APPLE`.
    var column: String { "\(count) \(invitations.rawValue)" }

    init?(column: String) {
        let words = column.split(separator: " ", omittingEmptySubsequences: false)
        guard words.count == 2, let count = Int(words[0]), (1...Self.counts.upperBound).contains(count),
            let invitations = Invitations(rawValue: String(words[1]))
        else { return nil }
        self.init(count: count, invitations: invitations)
    }
}

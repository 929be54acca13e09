import Foundation
import Primitives
import SimulatorControl
import StoreModel

/// Subscriptions with several seats. `buy` with a quantity sells them, and adds seats to a running subscription.
extension SimulatedAppStore {
    /// Returns the seats of the active subscriptions that an account bought for several.
    ///
    /// - Parameter account: The account.
    /// - Returns: The seats of each subscription, oldest subscription first.
    /// - Throws: `SimulatorError` (`unknownAccount`).
    package func seats(of account: AccountName) throws -> [StoreControlWire.SeatInfo] {
        try read({ try $0.existingAccount(account) }) { db, account, now in
            let conditions = try db.conditions()
            return try db.subscriptions(of: account.id).compactMap { record in
                let state = SubscriptionState(of: record, under: conditions, at: now)
                guard record.share == nil, state.isActive, let seats = state.current.plan.seats else { return nil }
                let claims = try db.seatClaims(of: record).map { claim in
                    StoreControlWire.TakenSeat(
                        account: try claim.appTransactionID.flatMap {
                            try db.account(appTransactionID: $0)?.name.rawValue
                        },
                        claimID: claim.id.lowercased, since: claim.at.wholeMilliseconds)
                }
                let assigned = try db.assignedSeats(of: record.originalID).map { seat in
                    StoreControlWire.TakenSeat(
                        account: try db.account(seat.accountID)?.name.rawValue, claimID: nil,
                        since: (seat.share?.from ?? now).wholeMilliseconds)
                }
                return StoreControlWire.SeatInfo(
                    productID: state.current.plan.productID, originalTransactionID: state.latest.originalTransactionID,
                    invitations: seats.invitations.rawValue.lowercased(), total: state.seatCount,
                    available: max(0, state.seatCount - claims.count - assigned.count),
                    renewalCount: state.autoRenews ? state.nextSale().plan.seats?.count : nil, taken: claims + assigned)
            }
        }
    }

    /// Sets the number of seats from the next period on. It is at most the present number: `buy` adds seats at once.
    ///
    /// - Parameters:
    ///   - count: The number of seats.
    ///   - product: The current or next product of the subscription.
    ///   - account: The account.
    /// - Returns: The latest transaction of the subscription.
    /// - Throws: `SimulatorError` (`unknownAccount`, `unknownSubscription`; `invalidValue` for a subscription without
    ///   seats, and for more seats than it has).
    @discardableResult
    package func setRenewalSeats(
        _ count: Int, of product: ProductID, for account: AccountName
    ) async throws -> StoreControlWire.Transaction {
        try await change(product, for: account) { event, state in
            guard state.nextSale().plan.seats != nil, count <= state.seatCount else {
                throw SimulatorError(
                    .invalidValue,
                    "The subscription has \(state.seatCount) seats and cannot renew with \(count); buy more seats first."
                )
            }
            return StoreRules.setRenewalSeats(count, state, at: event.now)
        }
    }

    /// Gives a member a seat. If Apple invites the members, the member gets a transaction. Otherwise the seat is claimed
    /// for the member, as the app's server does.
    ///
    /// - Parameters:
    ///   - product: The product of the subscription.
    ///   - member: The account of the member.
    ///   - account: The account that bought the seats.
    /// - Throws: `SimulatorError` (`unknownAccount`, `unknownSubscription`; `notNow` without a free seat, and for a
    ///   member who has one).
    package func assignSeat(of product: ProductID, to member: AccountName, for account: AccountName) async throws {
        try await recordSeatEvent(account, member) { event, member in
            let state = try event.seatSubscription(of: product)
            guard member.id != event.account.id, try event.seats(of: member, in: state).isEmpty else {
                throw SimulatorError(.notNow, "The account \(member.name) has a seat already.")
            }
            guard try event.freeSeats(of: state) > 0 else {
                throw SimulatorError(.notNow, "All \(state.seatCount) seats are taken; buy more, or remove a member.")
            }
            switch state.current.plan.seats?.invitations {
            case .developer?:
                let name = "request \(try event.db.seed()) \(event.nextNumber())"
                _ = try event.claimSeat(
                    of: state, request: UUID(namespace: .simulatedStore, name: name),
                    appTransactionID: member.appTransactionID)
            default: try event.assignSeat(of: state, to: member.id)
            }
        }
    }

    /// Takes a seat from a member.
    ///
    /// - Parameters:
    ///   - product: The product of the subscription.
    ///   - member: The account of the member.
    ///   - account: The account that bought the seats.
    /// - Throws: `SimulatorError` (`unknownAccount`, `unknownSubscription`; `notNow` for a member without a seat).
    package func removeSeat(of product: ProductID, from member: AccountName, for account: AccountName) async throws {
        try await recordSeatEvent(account, member) { event, member in
            let seats = try event.seats(of: member, in: try event.seatSubscription(of: product))
            guard !seats.isEmpty else {
                throw SimulatorError(.notNow, "The account \(member.name) has no seat of \(product).")
            }
            for seat in seats {
                switch seat {
                case .claimed(let claim): try event.db.end(claim, at: event.now)
                case .assigned(let record): try event.close(record, at: event.now)
                }
            }
        }
    }

    private func recordSeatEvent(
        _ owner: AccountName, _ member: AccountName,
        _ body: @escaping @Sendable (inout SimulatorEvent, SimulatorDatabase.Account) throws -> Void
    ) async throws {
        try await recordEvent(all: { db in
            let accounts = try db.family(of: db.existingAccount(owner))
            let member = try db.existingAccount(member)
            return accounts.contains { $0.id == member.id } ? accounts : accounts + [member]
        }) { event in
            let member = try event.db.existingAccount(member)
            try body(&event, member)
        }
    }
}

/// A seat that a member has.
private enum MemberSeat {
    case claimed(UUID)
    case assigned(SubscriptionRecord)
}

extension SimulatorEvent {
    /// The running subscription of a product with seats. Throws `unknownSubscription`.
    fileprivate func seatSubscription(of product: ProductID) throws -> SubscriptionState {
        let state = try runningSubscription(of: product)
        guard state.current.plan.seats != nil, state.isActive else {
            throw SimulatorError(
                .unknownSubscription, "The account \(account.name) has no active subscription of \(product) with seats."
            )
        }
        return state
    }

    fileprivate func seats(of member: SimulatorDatabase.Account, in state: SubscriptionState) throws -> [MemberSeat] {
        let claims = try db.seatClaims(of: state.record).filter { $0.appTransactionID == member.appTransactionID }
        let assigned = try db.assignedSeats(of: state.record.originalID).filter { $0.accountID == member.id }
        return claims.map { .claimed($0.id) } + assigned.map { .assigned($0) }
    }
}

import AppStorePayloads
import Foundation
import Primitives
import StoreModel

/// Seats of subscriptions. A seat is assigned to an account, which gets a transaction of its own, or claimed by the app's
/// server.
extension SimulatorEvent {
    /// The number of seats of a subscription that are free.
    func freeSeats(of state: SubscriptionState) throws -> Int {
        let original = state.record.originalID
        let taken = try db.seatClaims(of: state.record).count + db.assignedSeats(of: original).count
        return max(0, state.seatCount - taken)
    }

    /// Claims a seat. A repeated request gets the claim of the first one. Returns `nil` if no seat is free.
    func claimSeat(
        of state: SubscriptionState, request: UUID, appTransactionID: String?
    ) throws -> SeatClaim? {
        let original = state.record.originalID
        if let earlier = try db.seatClaim(request: request, of: original) { return earlier }
        guard try freeSeats(of: state) > 0 else { return nil }
        let name = "seat \(try db.seed()) \(original) \(request.lowercased)"
        let claim = SeatClaim(
            id: UUID(namespace: .simulatedStore, name: name), original: original, request: request, at: now,
            appTransactionID: appTransactionID)
        try db.insert(claim)
        return claim
    }

    /// Gives a member a seat and a transaction of its own. There must be a free seat.
    mutating func assignSeat(of state: SubscriptionState, to member: Int64) throws {
        let owner = state.condensed
        try record([.subscription(owner)])
        let id = nextNumber()
        let seat = SubscriptionRecord(
            originalID: id, accountID: member, groupID: owner.groupID, runs: [], renewal: owner.renewal,
            startedAt: owner.startedAt, changedAt: owner.changedAt,
            share: Share(
                ownerOriginalID: owner.originalID, first: state.current.latestID, from: now, until: nil,
                isAssigned: true))
        try record([.subscription(seat), reported(.purchased, id, state.current.plan.productID, member)])
    }

    /// Refunds some seats of a transaction. The others stay valid.
    mutating func refundSeats(_ count: Int, of sale: Sale, reason: Int) throws {
        let transaction = sale.transaction
        let refunded = transaction.refundedSeats ?? 0
        guard transaction.seats != nil, !transaction.isShared, count <= transaction.quantity - refunded else {
            throw SimulatorError(
                .invalidValue, "The transaction \(transaction.transactionID) does not have \(count) seats to refund.")
        }
        guard count < transaction.quantity - refunded else {
            return try takeBack(sale, Revocation(at: now, reason: reason))
        }
        try db.set(refundedSeats: refunded + count, of: transaction.id, original: transaction.originalID, at: now)
        try db.closeRefundRequest(of: transaction.id)
        let changed = try self.sale(of: transaction.id)
        let state = try changed.state ?? db.subscription(transaction.originalID).map(state)
        try notify(
            .refund, .seats,
            of: Sale(transaction: changed.transaction, state: state, account: changed.account, now: now))
        try releaseRefundedSeats(of: transaction.originalID)
    }

    /// Ends the latest claims and the latest assigned seats for which a refund has left no seats.
    mutating func releaseRefundedSeats(of original: Int64) throws {
        guard let record = try db.subscription(original), record.share == nil else { return }
        let state = state(of: record)
        guard state.current.plan.seats != nil else { return }
        let claims = try db.seatClaims(of: record)
        let ended = Array(claims.dropFirst(state.seatCount))
        for claim in ended { try db.end(claim.id, at: now) }
        if !ended.isEmpty {
            try notifyOfUnclaimedSeats(ended.map(\.id), sale(of: state))
        }
        for seat in try db.assignedSeats(of: original).dropFirst(max(0, state.seatCount - claims.count)) {
            try close(seat, at: now)
        }
    }
}

extension SimulatedAppStore {
    /// Returns the active subscription with seats whose members the app invites.
    ///
    /// Throws `ErrorCode` (`originalTransactionIdNotFound`, `transactionIdIsNotOriginalTransactionId`) or
    /// `ServerRefusal`.
    static func claimableSubscription(
        _ original: Int64, _ db: SimulatorDatabase, at now: Date, repeating request: UUID? = nil
    ) throws -> SubscriptionState {
        typealias Code = AppStoreServerAPI.ErrorCode
        guard let (transaction, state) = try db.transaction(original, at: now) else {
            throw Code.originalTransactionIdNotFound
        }
        guard transaction.originalID == original else { throw Code.transactionIdIsNotOriginalTransactionId }
        guard !transaction.isAssigned else { throw ServerRefusal.assignedTransaction }
        guard let state, state.record.share == nil, let seats = state.current.plan.seats,
            seats.invitations == .developer
        else { throw ServerRefusal.notDeveloperManaged }
        let isRepeated = try request.map { try db.seatClaim(request: $0, of: original) != nil } ?? false
        guard state.isActive || isRepeated else { throw ServerRefusal.subscriptionNotActive }
        return state
    }

    func claimSeat(of original: Int64, request: UUID, appTransactionID: String?) async throws -> UUID {
        try await recordEvent({ try $0.owner(ofTransaction: original, else: .originalTransactionIdNotFound) }) {
            event in
            let state = try Self.claimableSubscription(original, event.db, at: event.now, repeating: request)
            try event.checkAppTransaction(appTransactionID)
            let claim = try event.claimSeat(of: state, request: request, appTransactionID: appTransactionID)
            guard let claim else { throw ServerRefusal.noAvailableSeats }
            return claim.id
        }
    }

    func unclaimSeat(_ claim: UUID, of original: Int64) async throws {
        try await changeClaim(claim, of: original) { event in try event.db.end(claim, at: event.now) }
    }

    func associateSeat(_ claim: UUID, of original: Int64, with appTransactionID: String?) async throws {
        try await changeClaim(claim, of: original) { event in
            guard let appTransactionID else { throw ServerRefusal.appTransactionNotFound }
            try event.checkAppTransaction(appTransactionID)
            try event.db.associate(claim, with: appTransactionID)
        }
    }

    private func changeClaim(
        _ claim: UUID, of original: Int64, _ change: @escaping @Sendable (SimulatorEvent) throws -> Void
    ) async throws {
        try await recordEvent({ try $0.owner(ofTransaction: original, else: .originalTransactionIdNotFound) }) {
            event in
            let state = try Self.claimableSubscription(original, event.db, at: event.now)
            guard try event.db.seatClaims(of: state.record).contains(where: { $0.id == claim }) else {
                throw ServerRefusal.seatClaimNotFound
            }
            try change(event)
        }
    }
}

extension SimulatorEvent {
    /// Throws `ServerRefusal` unless an account has the app transaction, or there is none to check.
    func checkAppTransaction(_ id: String?) throws {
        guard let id else { return }
        // SQL text cannot contain U+0000, and no identifier is longer.
        guard id.utf8.count <= 20, !id.utf8.contains(0), try db.account(appTransactionID: id) != nil else {
            throw ServerRefusal.appTransactionNotFound
        }
    }
}

/// The errors of the endpoints for groups and seats. Apple's pages name them but were found without their numbers, so
/// the numbers are assumptions (`Documentation/ServerAPI.md`).
extension ServerRefusal {
    private static func refusal(_ number: Int, _ message: String) -> ServerRefusal {
        ServerRefusal(AppStoreServerAPI.ErrorCode(rawValue: number), message)
    }

    static let assignedTransaction = refusal(
        4_000_901, "InvalidAssignedTransactionNotSupportedError: The transaction is an assigned seat.")
    static let notDeveloperManaged = refusal(
        4_000_902, "TransactionNotDevManagedGroupError: The app does not manage seats of this subscription.")
    static let invalidGroup = refusal(4_000_903, "InvalidGroupIdError: The group id is invalid.")
    static let invalidLimit = refusal(4_000_904, "InvalidLimitError: The limit should be 1 to 100.")
    static let subscriptionNotActive = refusal(
        4_030_901, "SubscriptionNotActiveError: The subscription is not active.")
    static let noAvailableSeats = refusal(4_030_902, "NoAvailableSeatsError: Every seat is claimed.")
    static let appTransactionNotFound = refusal(
        4_040_901, "AppTransactionIdNotFoundError: The app transaction id is unknown.")
    static let seatClaimNotFound = refusal(4_040_902, "SeatClaimIdNotFoundError: The seat claim id is unknown.")
    static let groupNotFound = refusal(4_040_903, "GroupNotFoundError: The group id is unknown.")
}

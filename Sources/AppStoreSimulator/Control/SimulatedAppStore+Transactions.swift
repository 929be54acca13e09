import AppStorePayloads
import SimulatorControl
import Foundation
import StoreKitAdapter
import StoreModel

/// Changes to single transactions.
extension SimulatedAppStore {
    /// Refunds a transaction, in full or in part, and reports it to the account's devices.
    ///
    /// - Parameters:
    ///   - transaction: The id of the transaction.
    ///   - reason: The reason of the refund.
    ///   - percentage: The refunded part of the price in percent, from 0.001 to 100, rounded to three decimals. `nil`
    ///     means the full price.
    /// - Returns: The refunded transaction.
    /// - Throws: `SimulatorError` (`unknownTransaction`, `alreadyRevoked`; `invalidValue` for an invalid percentage;
    ///   `notNow` for a family member's share, which has no price).
    @discardableResult
    public func refund(
        _ transaction: TransactionID, reason: AppStoreServerAPI.RevocationReason = .other, percentage: Double? = nil
    ) async throws -> StoreControlWire.Transaction {
        let percentage = try percentage.map { percentage in
            guard percentage >= 0.001, percentage <= 100 else {
                throw SimulatorError(.invalidValue, "The percentage of a refund is from 0.001 to 100.")
            }
            return Int((percentage * 1000).rounded())
        }
        return try await takeBack(transaction) { sale in
            try Self.checkRefundable(sale)
            return Revocation(
                at: sale.now, kind: percentage == nil ? .refundFull : .refundProrated,
                reason: reason == .issueWithinApp ? 1 : 0, percentage: percentage)
        }
    }

    @discardableResult
    package func refund(
        _ transaction: TransactionID, _ request: StoreControlWire.Refund
    ) async throws -> StoreControlWire.Transaction {
        if let seats = request.seats {
            guard request.percentage == nil else {
                throw SimulatorError(.invalidValue, "A refund has a percentage or a number of seats, not both.")
            }
            return try await change(transaction) { event, sale in
                try Self.checkRefundable(sale)
                try event.refundSeats(seats, of: sale, reason: request.reason == .appIssue ? 1 : 0)
            }
        }
        return try await refund(
            transaction, reason: request.reason == .appIssue ? .issueWithinApp : .other, percentage: request.percentage)
    }

    /// Revokes a transaction without a refund, as when a family stops sharing.
    ///
    /// - Parameter transaction: The id of the transaction.
    /// - Returns: The revoked transaction.
    /// - Throws: `SimulatorError` (`unknownTransaction`, `alreadyRevoked`).
    @discardableResult
    public func revoke(_ transaction: TransactionID) async throws -> StoreControlWire.Transaction {
        try await takeBack(transaction) { Revocation(at: $0.now, kind: .familyRevoke) }
    }

    private func takeBack(
        _ id: TransactionID, _ revocation: @escaping @Sendable (Sale) throws -> Revocation
    ) async throws -> StoreControlWire.Transaction {
        try await change(id) { event, sale in
            guard sale.transaction.revocation == nil else {
                throw SimulatorError(.alreadyRevoked, "The transaction \(id) is already revoked.")
            }
            try event.takeBack(sale, try revocation(sale))
        }
    }

    /// Reverses a refund. Access continues until the end of the period, and the transaction is delivered again.
    ///
    /// - Parameter transaction: The id of the transaction.
    /// - Returns: The transaction.
    /// - Throws: `SimulatorError` (`unknownTransaction`, `notRefunded`).
    @discardableResult
    public func reverseRefund(_ transaction: TransactionID) async throws -> StoreControlWire.Transaction {
        try await change(transaction) { event, sale in
            guard let revocation = sale.transaction.revocation, !sale.transaction.isShared,
                revocation.kind != .familyRevoke
            else { throw SimulatorError(.notRefunded, "The transaction \(transaction) is not refunded.") }
            let shares = try event.shares(of: sale)
            try event.record(StoreRules.reverse(revocation, of: sale.transaction, sale.state, at: event.now))
            for share in shares {
                try event.record([.unfinished(share.id), .update(StoreRules.update(of: share, .purchased))])
            }
        }
    }

    /// Requests a refund for the customer, and sends a consumption request to the app's server. Call `refund` or
    /// `declineRefund` to decide, unless the setting `refundDecisions` lets the store decide.
    ///
    /// - Parameters:
    ///   - transaction: The id of the transaction.
    ///   - reason: The customer's reason.
    /// - Returns: The transaction.
    /// - Throws: `SimulatorError` (`unknownTransaction`, `alreadyRevoked`; `notNow` for a family member's share).
    @discardableResult
    public func requestRefund(
        of transaction: TransactionID, reason: AppStoreServerAPI.ConsumptionRequestReason = .other
    ) async throws -> StoreControlWire.Transaction {
        try await change(transaction) { event, sale in
            try Self.checkRefundable(sale)
            try event.db.insert(RefundRequest(transaction: sale.transaction.id, at: event.now, reason: reason))
            try event.notify(.consumptionRequest, of: sale, reason: reason)
        }
    }

    @discardableResult
    package func requestRefund(
        of transaction: TransactionID, _ request: StoreControlWire.RefundRequest
    ) async throws -> StoreControlWire.Transaction {
        try await requestRefund(of: transaction, reason: (request.reason ?? .other).consumptionRequestReason)
    }

    /// Declines a refund request.
    ///
    /// - Parameter transaction: The id of the transaction.
    /// - Returns: The transaction.
    /// - Throws: `SimulatorError` (`unknownTransaction`, `alreadyRevoked`; `notNow` if no request is open).
    @discardableResult
    public func declineRefund(of transaction: TransactionID) async throws -> StoreControlWire.Transaction {
        try await change(transaction) { event, sale in
            try Self.checkRefundable(sale)
            guard try event.db.declineRefundRequest(of: sale.transaction.id, at: event.now) else {
                throw SimulatorError(
                    .notNow, "No refund of \(transaction) waits for a decision; request one first.")
            }
            try event.notify(.refundDeclined, of: sale)
        }
    }

    private static func checkRefundable(_ sale: Sale) throws(SimulatorError) {
        let id = sale.transaction.transactionID
        guard sale.transaction.revocation == nil else {
            throw SimulatorError(.alreadyRevoked, "The transaction \(id) is already revoked.")
        }
        guard !sale.transaction.isShared else {
            throw SimulatorError(
                .notNow, "The transaction \(id) is a family member's share; refund the owner's transaction.")
        }
    }

    /// Changes a transaction of any account, and returns the changed transaction.
    private func change(
        _ id: TransactionID, _ body: @escaping @Sendable (inout SimulatorEvent, Sale) throws -> Void
    ) async throws -> StoreControlWire.Transaction {
        let unknown = SimulatorError(.unknownTransaction, "There is no transaction \(id).")
        guard let number = id.number else { throw unknown }
        let sale = try await recordEvent({ try $0.existingAccount(ofTransaction: number) }) { event in
            guard let sale = try event.knownSale(of: number) else { throw unknown }
            try body(&event, sale)
            return try event.sale(of: number)
        }
        return try describe(sale)
    }

    /// Returns the transactions that no device of the account has finished, oldest first.
    ///
    /// - Parameter account: The account.
    /// - Returns: The transactions.
    /// - Throws: `SimulatorError` (`unknownAccount`; `tooManyTransactions` for more than ``transactionLimit``).
    public func unfinishedTransactions(of account: AccountName) async throws -> [StoreControlWire.Transaction] {
        let sales = try read({ try $0.existingAccount(account) }) { db, account, now in
            try db.unfinishedTransactions(of: account.id, at: now).map {
                Sale(transaction: $0, state: $1, account: account, now: now)
            }
        }
        return try describe(sales)
    }
}

extension StoreControlWire.RefundRequest.Reason {
    fileprivate var consumptionRequestReason: AppStoreServerAPI.ConsumptionRequestReason {
        switch self {
        case .unintendedPurchase: .unintendedPurchase
        case .fulfillmentIssue: .fulfillmentIssue
        case .unsatisfiedWithPurchase: .unsatisfiedWithPurchase
        case .legal: .legal
        case .other: .other
        }
    }
}

extension TransactionID {
    /// The id as the database stores it; `nil` for an id that no simulator issues.
    var number: Int64? { Int64(rawValue) }
}

extension SimulatorDatabase {
    /// Returns the account of a transaction or of a waiting purchase. Throws `unknownTransaction`.
    func existingAccount(ofTransaction id: Int64) throws -> Account {
        let row = try sql.first(
            "SELECT account FROM purchase WHERE id = ?1 UNION SELECT account FROM held WHERE number = ?1",
            [.integer(id)])
        let owner: Int64? = try subscription(having: id)?.accountID ?? row?["account"]
        guard let account = try owner.flatMap(account) else {
            throw SimulatorError(.unknownTransaction, "There is no transaction \(id).")
        }
        return account
    }
}

extension SimulatorEvent {
    /// Returns a transaction of the event's account; `nil` if none with this id was sold until now.
    func knownSale(of id: Int64) throws -> Sale? {
        try db.transaction(id, at: now).map {
            Sale(transaction: $0, state: $1, account: account, now: now)
        }
    }

    /// The shares that family members have of a transaction now. A member's period has the purchase date of the owner's
    /// period.
    func shares(of sale: Sale) throws -> [TransactionRecord] {
        let transaction = sale.transaction
        guard !transaction.isShared else { return [] }
        guard sale.state != nil else {
            return try db.shares(ofPurchase: transaction.id, at: now)
        }
        return try db.shares(of: transaction.originalID).compactMap { record in
            guard isOpen(record) else { return nil }
            let date = transaction.purchaseDate
            return state(of: record).transactions(soldAfter: Timestamps.before(date), by: date, limit: 1)
                .first { $0.purchaseDate == date && $0.productID == transaction.productID }
        }
    }
}

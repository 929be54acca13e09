import AppStorePayloads
import Foundation
import SQLStorage
import StoreModel

/// A customer's request for a refund.
struct RefundRequest: Sendable, Hashable {
    var transaction: Int64
    var at: Date
    var reason: AppStoreServerAPI.ConsumptionRequestReason
}

extension SimulatorDatabase {
    /// Inserts a request, or replaces an earlier one for the same transaction.
    func insert(_ request: RefundRequest) throws {
        try sql.execute(
            "INSERT OR REPLACE INTO refund_request (purchase, at, reason) VALUES (?1, ?2, ?3)",
            [
                .integer(request.transaction), .integer(request.at.microseconds), .text(request.reason.rawValue),
            ])
    }

    /// Returns the undecided request for a transaction.
    func openRefundRequest(of transaction: Int64) throws -> RefundRequest? {
        try sql.first(
            "SELECT * FROM refund_request WHERE purchase = ?1 AND declined_at IS NULL", [.integer(transaction)]
        ).map(Self.refundRequest)
    }

    /// Returns the oldest undecided request.
    func oldestOpenRefundRequest() throws -> RefundRequest? {
        try sql.first("SELECT * FROM refund_request WHERE declined_at IS NULL ORDER BY at, purchase LIMIT 1", [])
            .map(Self.refundRequest)
    }

    private static func refundRequest(_ row: SQLRow) throws -> RefundRequest {
        RefundRequest(
            transaction: try row["purchase"], at: try row.date("at"), reason: .init(rawValue: try row["reason"]))
    }

    /// Closes the request for a transaction that is refunded or revoked.
    func closeRefundRequest(of transaction: Int64) throws {
        try sql.execute("DELETE FROM refund_request WHERE purchase = ?1", [.integer(transaction)])
    }

    /// Declines a request. Returns `false` if no request is open.
    func declineRefundRequest(of transaction: Int64, at now: Date) throws -> Bool {
        try sql.execute(
            "UPDATE refund_request SET declined_at = ?2 WHERE purchase = ?1 AND declined_at IS NULL",
            [.integer(transaction), .integer(now.microseconds)]) > 0
    }
}

import AppStorePayloads
import Foundation
import SQLStorage
import StoreModel

/// A customer's wish to have the money back.
struct RefundRequest: Sendable, Hashable {
    var transaction: Int64
    var at: Date
    var reason: AppStoreServerAPI.ConsumptionRequestReason
}

extension SimulatorDatabase {
    /// Who asks again asks anew.
    func insert(_ request: RefundRequest) throws {
        try sql.execute(
            "INSERT OR REPLACE INTO refund_request (purchase, at, reason) VALUES (?1, ?2, ?3)",
            [
                .integer(request.transaction), .integer(request.at.microseconds), .text(request.reason.rawValue),
            ])
    }

    /// What is given back waits for no decision any more.
    func grant(_ transaction: Int64) throws {
        try sql.execute("DELETE FROM refund_request WHERE purchase = ?1", [.integer(transaction)])
    }

    /// `false` where nothing waits for a decision.
    func decline(_ transaction: Int64, at now: Date) throws -> Bool {
        try sql.execute(
            "UPDATE refund_request SET declined_at = ?2 WHERE purchase = ?1 AND declined_at IS NULL",
            [.integer(transaction), .integer(now.microseconds)]) > 0
    }
}

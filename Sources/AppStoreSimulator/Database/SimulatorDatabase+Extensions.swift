import Foundation
import SQLStorage
import StoreModel

/// The renewal dates that the app's server extended.
extension SimulatorDatabase {
    /// The number of extensions of a subscription after a date.
    func extensions(of original: Int64, since date: Date) throws -> Int {
        let row = try sql.first(
            "SELECT count(*) AS count FROM extension WHERE original = ?1 AND at > ?2",
            [.integer(original), .integer(date.microseconds)])
        return try row?["count"] ?? 0
    }

    func hasExtension(of original: Int64, request: String) throws -> Bool {
        try sql.first(
            "SELECT 1 FROM extension WHERE original = ?1 AND request = ?2 LIMIT 1",
            [.integer(original), .text(request)])
            != nil
    }

    func addExtension(of original: Int64, byDays days: Int, request: String, at now: Date) throws {
        try sql.execute(
            "INSERT INTO extension (original, at, days, request) VALUES (?1, ?2, ?3, ?4)",
            [.integer(original), .integer(now.microseconds), .integer(Int64(days)), .text(request)])
    }

    func massExtension(of product: ProductID, _ request: String) throws -> MassExtension? {
        try sql.first(
            "SELECT * FROM mass_extension WHERE product = ?1 AND request = ?2",
            [.text(product.rawValue), .text(request)]
        ).map {
            MassExtension(
                product: product, request: request, at: try $0.date("at"), succeeded: try $0["succeeded"],
                failed: try $0["failed"])
        }
    }

    func insert(_ outcome: MassExtension) throws {
        try sql.execute(
            "INSERT INTO mass_extension (product, request, at, succeeded, failed) VALUES (?1, ?2, ?3, ?4, ?5)",
            [
                .text(outcome.product.rawValue), .text(outcome.request), .integer(outcome.at.microseconds),
                .integer(Int64(outcome.succeeded)), .integer(Int64(outcome.failed)),
            ])
    }

    /// The subscriptions that had a period of a product, or can have had one since they were last written.
    func subscriptions(everHaving product: ProductID) throws -> [Int64] {
        try sql.query(
            """
            SELECT original FROM run WHERE product = ?1
            UNION SELECT original FROM subscription WHERE next_product = ?1 ORDER BY original
            """, [.text(product.rawValue)]
        ).map { try $0["original"] }
    }
}

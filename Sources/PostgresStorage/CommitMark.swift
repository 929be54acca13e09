import Foundation
import SQLStorage

/// A row that shows whether a transaction was committed. The transaction inserts it. If the connection ends before the
/// response to the commit arrives, `check` looks for the row. Ids are ordered by time, so old marks are one range of
/// their index.
struct CommitMark: Sendable {
    static let table = """
        CREATE TABLE IF NOT EXISTS commit_mark (id BYTEA PRIMARY KEY, is_settled BOOLEAN NOT NULL DEFAULT FALSE)
        """

    /// The lifetime of a mark in seconds. It is longer than all attempts of a check, even with clocks that differ.
    private static let lifetime = 3600.0

    private let id: [UInt8]

    init() {
        id = Self.prefix(of: Date()) + (0..<10).map { _ in .random(in: .min ... .max) }
    }

    /// Milliseconds since 1970 in six bytes, in big-endian order.
    private static func prefix(of instant: Date) -> [UInt8] {
        let milliseconds = UInt64(max(0, min(instant.timeIntervalSince1970 * 1000, 0xFFFF_FFFF_FFFF)))
        return (0..<6).map { UInt8(truncatingIfNeeded: milliseconds >> (40 - 8 * UInt64($0))) }
    }

    /// Returns the query that inserts the mark, the last one before a commit. The query fails if `check` has inserted
    /// the mark already.
    func insertion() throws(SQLError) -> PostgresQuery {
        PostgresQuery(
            statement: try Self.statement("INSERT INTO commit_mark (id) VALUES (?1)"), values: [.blob(id)])
    }

    /// Returns the query that checks whether a transaction has inserted the mark. The query waits for a transaction
    /// that is inserting it, and inserts a missing mark, so that the transaction can no longer commit.
    ///
    /// `is_settled` records whether the check inserted the row, so the check can be repeated if its own response is lost.
    /// The commit of the check also confirms that the transaction is durable, because the log is replicated in order.
    func check() throws(SQLError) -> PostgresQuery {
        PostgresQuery(
            statement: try Self.statement(
                """
                INSERT INTO commit_mark (id, is_settled) VALUES (?1, TRUE)
                ON CONFLICT (id) DO UPDATE SET id = excluded.id RETURNING NOT is_settled AS is_committed
                """), values: [.blob(id)], isPrepared: false)
    }

    /// Returns the query that deletes the marks that no check needs any more.
    static func deletionOfOld() throws(SQLError) -> PostgresQuery {
        PostgresQuery(
            statement: try statement("DELETE FROM commit_mark WHERE id < ?1"),
            values: [.blob(prefix(of: Date(timeIntervalSinceNow: -lifetime)))], isPrepared: false)
    }

    private static func statement(_ sql: String) throws(SQLError) -> PostgresStatement { try PostgresStatement(sql) }
}

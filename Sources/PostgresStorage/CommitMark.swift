import Foundation
import SQLStorage

/// A row that a transaction inserts, to find out later whether it was committed: the connection may end before the
/// response to the commit arrives.
///
/// Marks are ordered by time, so old ones are deleted by one range of their index.
struct CommitMark: Sendable {
    static let table = """
        CREATE TABLE IF NOT EXISTS commit_mark (id BYTEA PRIMARY KEY, is_settled BOOLEAN NOT NULL DEFAULT FALSE)
        """

    /// The lifetime of a mark in seconds: longer than any check, on clocks that differ.
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

    /// Inserts the mark, as the last statement before a commit. Fails if `settling` found it missing before.
    func leaving() throws(SQLError) -> PostgresQuery {
        PostgresQuery(
            statement: try Self.statement("INSERT INTO commit_mark (id) VALUES (?1)"), values: [.blob(id)])
    }

    /// Checks whether the mark exists, and waits for a transaction that is inserting it. Inserts a missing mark, so
    /// that the other transaction can no longer commit.
    ///
    /// The row records which of the two inserted it, so the check can be repeated when its own response is lost. Its
    /// commit also confirms the durability of the other transaction, because the log is replicated in order.
    func settling() throws(SQLError) -> PostgresQuery {
        PostgresQuery(
            statement: try Self.statement(
                """
                INSERT INTO commit_mark (id, is_settled) VALUES (?1, TRUE)
                ON CONFLICT (id) DO UPDATE SET id = excluded.id RETURNING NOT is_settled AS is_left
                """), values: [.blob(id)], isKept: false)
    }

    /// Deletes marks that are older than any check.
    static func forgetting() throws(SQLError) -> PostgresQuery {
        PostgresQuery(
            statement: try statement("DELETE FROM commit_mark WHERE id < ?1"),
            values: [.blob(prefix(of: Date(timeIntervalSinceNow: -lifetime)))], isKept: false)
    }

    private static func statement(_ sql: String) throws(SQLError) -> PostgresStatement { try PostgresStatement(sql) }
}

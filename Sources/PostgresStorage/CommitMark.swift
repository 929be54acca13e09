import Foundation
import SQLStorage

/// A row that a transaction leaves behind, so that it can be found out later whether it was committed: the connection may
/// end while the answer to the commit is on its way.
///
/// Marks are in the order of time, so that old ones are deleted by one range of their index.
struct CommitMark: Sendable {
    static let table = """
        CREATE TABLE IF NOT EXISTS commit_mark (id BYTEA PRIMARY KEY, is_settled BOOLEAN NOT NULL DEFAULT FALSE)
        """

    /// How long a mark is kept, in seconds: longer than anyone tries to find out, on clocks that differ.
    private static let lifetime = 3600.0

    private let id: [UInt8]

    init() {
        id = Self.prefix(of: Date()) + (0..<10).map { _ in .random(in: .min ... .max) }
    }

    /// Milliseconds since 1970 in six bytes, the most significant first.
    private static func prefix(of instant: Date) -> [UInt8] {
        let milliseconds = UInt64(max(0, min(instant.timeIntervalSince1970 * 1000, 0xFFFF_FFFF_FFFF)))
        return (0..<6).map { UInt8(truncatingIfNeeded: milliseconds >> (40 - 8 * UInt64($0))) }
    }

    /// Leaves the mark, as the last statement before a commit. Fails after `settling` found it missing.
    func leaving() throws(SQLError) -> PostgresQuery {
        PostgresQuery(
            statement: try Self.statement("INSERT INTO commit_mark (id) VALUES (?1)"), values: [.blob(id)])
    }

    /// Asks whether the mark is there, and waits for a transaction that is about to leave it. Where it is missing it is
    /// left now, so that the other transaction can no longer commit.
    ///
    /// The row says who left it, so that this may be asked again when its own answer is lost. Its own commit says that what the other wrote before it is as safe: the log is replicated in its order.
    func settling() throws(SQLError) -> PostgresQuery {
        PostgresQuery(
            statement: try Self.statement(
                """
                INSERT INTO commit_mark (id, is_settled) VALUES (?1, TRUE)
                ON CONFLICT (id) DO UPDATE SET id = excluded.id RETURNING NOT is_settled AS is_left
                """), values: [.blob(id)], isKept: false)
    }

    /// Deletes marks that are older than anyone may ask for.
    static func forgetting() throws(SQLError) -> PostgresQuery {
        PostgresQuery(
            statement: try statement("DELETE FROM commit_mark WHERE id < ?1"),
            values: [.blob(prefix(of: Date(timeIntervalSinceNow: -lifetime)))], isKept: false)
    }

    private static func statement(_ sql: String) throws(SQLError) -> PostgresStatement { try PostgresStatement(sql) }
}

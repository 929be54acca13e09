import Primitives
import SQLStorage

/// Numbers the events of a database in which several transactions write at the same time.
///
/// A number that a transaction takes is not in the order of the commits: a reader that remembers the last number it saw
/// would miss an event of a transaction that committed later with a smaller number. So an event arrives with a negative
/// number, which no reader asks for, and gets its own here, after the commit: 1, 2, 3, without a gap. A customer's row is
/// locked until its transaction commits, so the events of one customer keep their order.
///
/// Any number of servers may run this at the same time: the row of `feed` lets one at a time do it.
final class FeedSequencer: Sendable {
    /// As many as are numbered in one transaction.
    private static let batch: Int64 = 500

    private let database: any SQLDatabase
    private let changes: ChangeSignal
    /// The last number that was seen.
    private let last = Locked<Int64?>(nil)

    init(database: any SQLDatabase, changes: ChangeSignal) {
        self.database = database
        self.changes = changes
    }

    /// Numbers events that have none, and notifies who waits here of those that another server numbered. Returns whether there
    /// may be more.
    func step() async throws -> Bool {
        let row = try await database.lookup(
            """
            SELECT last, CASE WHEN EXISTS (SELECT 1 FROM event WHERE sequence < 0) THEN 1 ELSE 0 END AS waiting
            FROM feed WHERE id = 1
            """, [])
        guard let row else { return false }
        let (number, isWaiting): (Int64, Bool) = (try row["last"], try row["waiting"])
        let before = last.withLock { last in
            defer { last = number }
            return last
        }
        if let before, before < number { changes.send() }
        guard isWaiting else { return false }
        let count = try await database.write { connection in
            try connection.lockRows("SELECT 1 FROM feed WHERE id = 1", [])
            // Locked before they are counted: an event that is erased at the same time gets no number.
            let count = try connection.execute(
                """
                WITH waiting AS (
                    SELECT sequence AS arrival FROM event WHERE sequence < 0 ORDER BY sequence DESC LIMIT ?1 FOR UPDATE
                ), numbered AS (
                    SELECT arrival, row_number() OVER (ORDER BY arrival DESC) AS place FROM waiting
                )
                UPDATE event SET sequence = feed.last + numbered.place
                FROM feed, numbered WHERE event.sequence = numbered.arrival
                """, [.integer(Self.batch)])
            try connection.perform("UPDATE feed SET last = last + ?1 WHERE id = 1", [.integer(Int64(count))])
            return count
        }
        if count > 0 { changes.send() }
        return count == Self.batch
    }
}

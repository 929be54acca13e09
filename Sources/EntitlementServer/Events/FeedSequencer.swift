import Primitives
import SQLStorage

/// Numbers events in the order of their commits, in a database with concurrent writers.
///
/// Numbers that transactions take from a sequence are not in the order of their commits. A reader that continues after
/// the last number would miss an event that was committed later with a smaller number. So an event is inserted with a
/// negative number, which readers skip. After the commit this job assigns its final number: 1, 2, 3, without gaps. The
/// row of a customer is locked until the commit, so the events of one customer keep their order.
///
/// Several servers can run it at the same time. A lock on the row of `feed` lets one proceed.
final class FeedSequencer: Sendable {
    /// The largest number of events in one transaction.
    private static let batchSize: Int64 = 500

    private let database: any SQLDatabase
    private let changes: ChangeSignal
    /// The number of the last event, as the previous step read it; `nil` before the first step.
    private let last = Locked<Int64?>(nil)

    init(database: any SQLDatabase, changes: ChangeSignal) {
        self.database = database
        self.changes = changes
    }

    /// Numbers new events, and signals events that another server numbered.
    ///
    /// - Returns: Whether there may be more.
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
            // Locks the events before it counts them, so that an event that is erased at the same time gets no number.
            let count = try connection.execute(
                """
                WITH waiting AS (
                    SELECT sequence AS arrival FROM event WHERE sequence < 0 ORDER BY sequence DESC LIMIT ?1 FOR UPDATE
                ), numbered AS (
                    SELECT arrival, row_number() OVER (ORDER BY arrival DESC) AS place FROM waiting
                )
                UPDATE event SET sequence = feed.last + numbered.place
                FROM feed, numbered WHERE event.sequence = numbered.arrival
                """, [.integer(Self.batchSize)])
            try connection.perform("UPDATE feed SET last = last + ?1 WHERE id = 1", [.integer(Int64(count))])
            return count
        }
        if count > 0 { changes.send() }
        return count == Self.batchSize
    }
}

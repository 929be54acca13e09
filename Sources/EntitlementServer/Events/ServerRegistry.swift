import Foundation
import Primitives
import SQLStorage

/// The servers that share a database: their number, and the one that runs the shared background jobs.
///
/// The number and the leader come from rows whose times are those of the database's clock. They can be wrong for a
/// moment, for example after a server hung. The ledger does not depend on them: two servers can run a job at the same
/// time, because their transactions lock the rows that they change. The number of servers only divides the rate limits.
final class ServerRegistry: Sendable {
    private struct State {
        var count = 1
        /// The time until which this server need not renew its lease on the shared jobs.
        var leadsUntil: ContinuousClock.Instant?
    }

    /// The pause between heartbeats of this server, in seconds.
    static let pause: TimeInterval = 2
    /// The number of seconds without a heartbeat after which a server no longer counts and another takes over its
    /// lease.
    private static let timeout = 10

    private let database: any SQLDatabase
    private let clock: MonotonicClock
    private let id: String
    /// The last migration that this program has, and the number of its migrations.
    private let lastMigration: String
    private let migrationCount: Int
    private let state = Locked(State())

    /// - Parameter id: The unique id of this server.
    init(database: any SQLDatabase, id: String, clock: MonotonicClock) {
        self.database = database
        self.id = id
        self.clock = clock
        let migrations = Schema.migrations(for: database.dialect)
        lastMigration = migrations.last?.name ?? ""
        migrationCount = migrations.count
    }

    /// The number of running servers at the last step, including this one.
    var count: Int { state.withLock(\.count) }

    /// Writes this server's heartbeat, counts the servers, and looks for migrations that this program does not have.
    ///
    /// - Throws: `SQLError` with `newerSchema` if one of these migrations requires a newer program.
    func step() async throws {
        let (id, lastMigration) = (SQLValue.text(id), SQLValue.text(lastMigration))
        try await database.write { connection in
            try connection.perform(
                """
                INSERT INTO server (id, seen_at, program) VALUES (?1, clock_timestamp(), ?2)
                ON CONFLICT (id) DO UPDATE SET seen_at = excluded.seen_at
                """, [id, lastMigration])
        }
        let row = try await database.lookup(
            """
            SELECT count(*) AS servers, count(*) FILTER (WHERE seen_at < clock_timestamp() - interval '1 day') AS gone,
                (SELECT max(name) FROM schema_migrations
                 WHERE position >= ?1 AND (minimum_program IS NULL OR minimum_program > ?2)) AS unknown
            FROM server WHERE seen_at > clock_timestamp() - make_interval(secs => \(Self.timeout)) OR
                seen_at < clock_timestamp() - interval '1 day'
            """, [.integer(Int64(migrationCount)), lastMigration])
        guard let row else { return }
        if let unknown: String = try row["unknown"] {
            throw SQLError(
                .newerSchema,
                "The database has the migration \(unknown) of a newer version, which this program does not support: "
                    + "run that version.")
        }
        let (servers, expired): (Int, Int) = (try row["servers"], try row["gone"])
        state.withLock { $0.count = max(1, servers - expired) }
        guard expired > 0 else { return }
        try await database.write { connection in
            try connection.perform("DELETE FROM server WHERE seen_at < clock_timestamp() - interval '1 day'", [])
        }
    }

    /// Returns whether this server has the lease on the shared jobs. Takes or renews it if possible. Another server can take
    /// it when this one stops, or after ten seconds without a renewal.
    func leads() async throws -> Bool {
        let now = clock.now
        if let until = state.withLock(\.leadsUntil), now < until { return true }
        let leads = try await takeLease()
        state.withLock { $0.leadsUntil = leads ? now + .seconds(Self.pause) : nil }
        return leads
    }

    private func takeLease() async throws -> Bool {
        let row = try await database.lookup(
            """
            SELECT holder, CASE WHEN until > clock_timestamp() THEN 1 ELSE 0 END AS live FROM lease WHERE name = 'chores'
            """, [])
        if let row, try row["live"] as Bool, try row["holder"] as String != id { return false }
        let id = SQLValue.text(id)
        return try await database.write { connection in
            try connection.execute(
                """
                INSERT INTO lease (name, holder, until)
                VALUES ('chores', ?1, clock_timestamp() + make_interval(secs => \(Self.timeout)))
                ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, until = excluded.until
                WHERE lease.holder = excluded.holder OR lease.until <= clock_timestamp()
                """, [id]) > 0
        }
    }

    /// Removes this server, so that another takes over its lease at once.
    func leave() async throws {
        state.withLock { $0.leadsUntil = nil }
        let id = SQLValue.text(id)
        try await database.write { connection in
            try connection.perform("DELETE FROM server WHERE id = ?1", [id])
            try connection.perform("DELETE FROM lease WHERE name = 'chores' AND holder = ?1", [id])
        }
    }
}

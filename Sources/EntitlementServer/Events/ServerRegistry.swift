import Foundation
import Primitives
import SQLStorage

/// The servers that share a database: how many there are, and which of them does what is to be done once.
///
/// Both are read from rows that are dated by the database's clock. Neither decides anything about the ledger: a chore that
/// two servers do at the same time does no harm, since its rows are locked, and a rate limit is a share. So a server that
/// hangs and comes back too late breaks nothing.
final class ServerRegistry: Sendable {
    private struct State {
        var count = 1
        /// When this server has to ask again whether it does the shared chores.
        var leadsUntil: ContinuousClock.Instant?
    }

    /// How often a server says that it is there, in seconds.
    static let pause: TimeInterval = 2
    /// After how many seconds of silence a server counts no more, and another takes the shared chores over.
    private static let timeout = 10

    private let database: any SQLDatabase
    private let clock: MonotonicClock
    private let id: String
    /// The last step of the schema that this program knows, and how many it knows.
    private let program: String
    private let steps: Int
    private let state = Locked(State())

    /// - Parameter id: names this server; no other has it.
    init(database: any SQLDatabase, id: String, clock: MonotonicClock) {
        self.database = database
        self.id = id
        self.clock = clock
        let migrations = Schema.migrations(for: database.dialect)
        program = migrations.last?.name ?? ""
        steps = migrations.count
    }

    /// How many servers were there a moment ago, this one among them.
    var count: Int { state.withLock(\.count) }

    /// Says that this server is there, counts them, and looks for steps of the schema that this program does not know.
    ///
    /// Throws `SQLError` with `newerSchema` when one of them leaves this program not what it needs.
    func step() async throws {
        let (id, program) = (SQLValue.text(id), SQLValue.text(program))
        try await database.write { connection in
            try connection.perform(
                """
                INSERT INTO server (id, seen_at, program) VALUES (?1, clock_timestamp(), ?2)
                ON CONFLICT (id) DO UPDATE SET seen_at = excluded.seen_at
                """, [id, program])
        }
        let row = try await database.lookup(
            """
            SELECT count(*) AS servers, count(*) FILTER (WHERE seen_at < clock_timestamp() - interval '1 day') AS gone,
                (SELECT max(name) FROM schema_migrations
                 WHERE position >= ?1 AND (minimum_program IS NULL OR minimum_program > ?2)) AS unknown
            FROM server WHERE seen_at > clock_timestamp() - make_interval(secs => \(Self.timeout)) OR
                seen_at < clock_timestamp() - interval '1 day'
            """, [.integer(Int64(steps)), program])
        guard let row else { return }
        if let unknown: String = try row["unknown"] {
            throw SQLError(
                .newerSchema,
                "The database got the migration \(unknown) from a newer version, which this program does not bear: "
                    + "run that version.")
        }
        let (servers, gone): (Int, Int) = (try row["servers"], try row["gone"])
        state.withLock { $0.count = max(1, servers - gone) }
        guard gone > 0 else { return }
        try await database.write { connection in
            try connection.perform("DELETE FROM server WHERE seen_at < clock_timestamp() - interval '1 day'", [])
        }
    }

    /// Whether this server does what is to be done once. It does so until it stops, or is silent for ten seconds.
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

    /// Says that this server is there no more, so that another takes over at once.
    func leave() async throws {
        state.withLock { $0.leadsUntil = nil }
        let id = SQLValue.text(id)
        try await database.write { connection in
            try connection.perform("DELETE FROM server WHERE id = ?1", [id])
            try connection.perform("DELETE FROM lease WHERE name = 'chores' AND holder = ?1", [id])
        }
    }
}

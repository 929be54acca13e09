import Primitives
import SQLStorage

/// Checks whether the ledger can be read and written. A probe runs at most once a second, independent of the number of
/// requests, because it waits for the disk.
final class Readiness: Sendable {
    struct Finding: Sendable, Equatable {
        var reads: Bool
        var writes: Bool
        /// The replication of commits, if servers share the database.
        var replication: Replication?
        /// The greatest possible lag of the standby in seconds; `nil` if the standby is not read.
        var staleness: Double?
    }

    /// How far PostgreSQL replicates a commit before confirming it. The settings `synchronous_standby_names` and
    /// `synchronous_commit` determine it (https://www.postgresql.org/docs/current/runtime-config-wal.html). With
    /// `synchronous` and `remoteApply`, a failover loses nothing.
    enum Replication: String {
        /// The database has no standby.
        case unreplicated = "none"
        /// A standby may lack acknowledged commits.
        case asynchronous
        /// A standby has received the commit into memory.
        case remoteWrite
        /// A standby has written the commit to disk.
        case synchronous
        /// A standby shows the commit to readers.
        case remoteApply
    }

    private struct State {
        var last: (finding: Finding, at: ContinuousClock.Instant)?
        /// The signal that ends with the probe in progress.
        var probe: ChangeSignal?
        /// Whether the probe in progress has read the ledger already.
        var isReadable = false
    }

    /// The time in which a result is reused, and the longest time that a caller waits for a probe.
    private static let period = Duration.seconds(1)

    private let database: any SQLDatabase
    private let standby: Standby?
    private let realClock: any WallClock
    private let clock: MonotonicClock
    private let report: @Sendable (_ name: String, any Error) -> Void
    private let state = Locked(State())

    init(_ configuration: EntitlementService.Configuration, standby: Standby?) {
        database = configuration.database
        self.standby = standby
        realClock = configuration.realClock
        clock = configuration.monotonicClock
        report = configuration.reportFailure
    }

    /// Returns the result of a probe in the last second, or else waits for a probe, for up to a second. While a probe
    /// hangs, writes count as failing.
    func finding() async throws -> Finding {
        let now = clock.now
        let (recent, probe) = state.withLock { state -> (Finding?, (ChangeSignal, end: AsyncStream<Void>)?) in
            if let last = state.last, now - last.at < Self.period { return (last.finding, nil) }
            if let probe = state.probe { return (nil, (probe, probe.listen())) }
            let own = ChangeSignal(clock: realClock, monotonicClock: clock)
            (state.probe, state.isReadable) = (own, false)
            // The task does not end with its callers, so that a hanging disk or server gets only one probe.
            Task { await self.probe(own) }
            return (nil, (own, own.listen()))
        }
        if let recent { return recent }
        if let probe { _ = await probe.0.wait(for: probe.end, upTo: Self.period / .seconds(1)) }
        try Task.checkCancellation()
        let (fresh, isReadable) = state.withLock { state in
            (state.last.flatMap { clock.now - $0.at < Self.period ? $0.finding : nil }, state.isReadable)
        }
        return fresh
            ?? Finding(reads: isReadable || staleness != nil, writes: false, staleness: staleness)
    }

    private func probe(_ own: ChangeSignal) async {
        let reads = await canRead()
        state.withLock { $0.isReadable = reads }
        var finding = Finding(reads: reads, writes: reads ? await canWrite() : false, staleness: staleness)
        if finding.writes, database.dialect != .sqlite { finding.replication = try? await replication() }
        state.withLock { state in
            state.last = (finding, clock.now)
            state.probe = nil
        }
        own.end()
    }

    private var staleness: Double? { standby?.staleness }

    private func replication() async throws -> Replication {
        let row = try await database.lookup(
            """
            SELECT current_setting('synchronous_standby_names') AS names, current_setting('synchronous_commit') AS level,
                (SELECT count(*) FROM pg_stat_replication) AS copies
            """, [])
        guard let row, try row["names"] as String != "" else {
            return try row.map { try $0["copies"] as Int > 0 } ?? false ? .asynchronous : .unreplicated
        }
        return switch try row["level"] as String {
        case "on": .synchronous
        case "remote_apply": .remoteApply
        case "remote_write": .remoteWrite
        default: .asynchronous
        }
    }

    private func canRead() async -> Bool {
        if staleness != nil { return true }
        do {
            try database.checkFiles()
            _ = try await database.lookup("SELECT 1 AS one", [])
            return true
        } catch {
            report("readiness", error)
            return false
        }
    }

    /// Writes a page and waits until it is durable. Leaves no row.
    private func canWrite() async -> Bool {
        do {
            try database.checkRoom()
            try await database.write { connection in
                try connection.perform("INSERT INTO readiness_probe (number) VALUES (1)", [])
                try connection.perform("DELETE FROM readiness_probe WHERE number = 1", [])
            }
            return true
        } catch {
            report("readiness", error)
            return false
        }
    }
}

extension Schema {
    /// The table of write probes. It is empty outside of a transaction.
    static let readiness = SQLMigration(
        "0011 readiness", [.sqlite: "CREATE TABLE readiness_probe (number INTEGER NOT NULL PRIMARY KEY) STRICT"])
}

import Primitives
import SQLStorage

/// Whether the ledger can be read and written, as a probe found. There is at most one probe a second, however often
/// somebody asks: each of them waits for the disk.
final class Readiness: Sendable {
    struct Finding: Sendable, Equatable {
        var reads: Bool
        var writes: Bool
        /// For how much a commit waits, where servers share a database.
        var replication: Replication?
        /// By how many seconds the copy may be behind; `nil` where it is not read.
        var staleness: Double?
    }

    /// How far a commit is copied before PostgreSQL answers it, by `synchronous_standby_names` and `synchronous_commit`
    /// (https://www.postgresql.org/docs/current/runtime-config-wal.html). A failover loses nothing from `synchronous` on.
    enum Replication: String {
        /// Nothing copies the database.
        case unreplicated = "none"
        /// A copy may lack what was acknowledged.
        case asynchronous
        /// A copy has the commit in its memory.
        case remoteWrite
        /// A copy has it on its disk.
        case synchronous
        /// A copy shows it to readers.
        case remoteApply
    }

    private struct State {
        var last: (finding: Finding, at: ContinuousClock.Instant)?
        /// Ends with the probe that is under way.
        var probe: ChangeSignal?
        /// Whether the probe that is under way has found the ledger readable already.
        var isReadable = false
    }

    /// How long a finding is passed on, and how long somebody waits for a probe.
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

    /// The finding of a probe of the last second, or of one made now. While a probe hangs, nothing can be written.
    func finding() async throws -> Finding {
        let now = clock.now
        let (known, probe) = state.withLock { state -> (Finding?, (ChangeSignal, end: AsyncStream<Void>)?) in
            if let last = state.last, now - last.at < Self.period { return (last.finding, nil) }
            if let probe = state.probe { return (nil, (probe, probe.listen())) }
            let own = ChangeSignal(clock: realClock, monotonicClock: clock)
            (state.probe, state.isReadable) = (own, false)
            // Goes on when no caller waits for it any longer: a disk or a server that hangs is asked once.
            Task { await self.probe(own) }
            return (nil, (own, own.listen()))
        }
        if let known { return known }
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

    /// Writes a page and waits until it is durable; no row stays.
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
    /// Written to find out whether anything can be written. Empty outside of a transaction.
    static let readiness = SQLMigration(
        "0011 readiness", [.sqlite: "CREATE TABLE readiness_probe (number INTEGER NOT NULL PRIMARY KEY) STRICT"])
}

import BaseTestSupport
import Foundation
import HTTPCore
import HostTestSupport
import PostgresStorage
import Primitives
import Purchases
import StoreModel
import Testing

@testable import EntitlementServer

/// Forwards requests, and records the last response.
private final class RecordingTransport: HTTPTransport {
    private let transport: any HTTPTransport
    private let response = Locked<HTTPResponse?>(nil)

    init(_ transport: any HTTPTransport) { self.transport = transport }

    var last: HTTPResponse? { response.withLock(\.self) }

    func send(_ request: HTTPRequest) async throws -> HTTPResponse {
        let answer = try await transport.send(request)
        response.withLock { $0 = answer }
        return answer
    }
}

/// Servers on a PostgreSQL primary with a standby.
@Suite(.enabled(if: PostgresCluster.isAvailable, "PostgreSQL is not installed"), .serialized)
struct StandbyTests {
    struct Setup {
        let primary: PostgresCluster
        let standby: PostgresCluster
        let bench: ServerBench
        /// The URL of the same ledger, for another server.
        let url: String

        /// Waits until the standby has all commits, and updates the lag that the service has measured.
        func follow() async throws {
            try await step("servers")
            try await catchUp()
            try await step("standby")
        }

        private func step(_ name: String) async throws {
            let job = try #require(bench.service.jobs.first { $0.name == name })
            _ = try await job.step()
        }

        private func catchUp() async throws {
            let position = try await primary.run("SELECT pg_current_wal_lsn()")
            try await until("the standby has caught up") {
                try await standby.run("SELECT pg_last_wal_replay_lsn() >= '\(position)'") == "t"
            }
        }
    }

    private static func withStandby(_ settings: [String] = [], _ body: (Setup) async throws -> Void) async throws {
        let primary = try await PostgresCluster()
        _ = try await primary.makeDatabase()
        let standby = try await PostgresCluster(standbyOf: primary)
        let url = "postgres://souk@/test1?host=\(primary.folder),\(standby.folder)&port=5432,5432"
        var copy = PostgresDatabase.Configuration()
        copy.isStandby = true
        let database = try PostgresDatabase(
            url: "postgres://souk@/test1?host=\(standby.folder)", configuration: copy)
        try await ServerBench.$engine.withValue(.postgreSQL) {
            let bench = try await ServerBench(
                folder: try ServerBench.Folder(url: url), configure: { $0.standby = database })
            try await body(Setup(primary: primary, standby: standby, bench: bench, url: url))
            await bench.close()
        }
        await database.close()
    }

    @Test func `a standby answers requests that allow it, with its staleness`() async throws {
        try await Self.withStandby { setup in
            let bench = setup.bench
            let first = try await bench.post(bench.purchase("1"))
            #expect(first.status == 200 && first.headers["Souk-Revision"] == "1")
            try await setup.follow()
            let own = try await bench.get()
            #expect(own.headers["Souk-Revision"] == "1" && own.headers["Souk-Staleness"] == nil)
            let copied = try await bench.get(headers: ["Souk-Min-Revision": "1"])
            #expect(copied.bytes == own.bytes && copied.headers["ETag"] == own.headers["ETag"])
            #expect(copied.headers["Souk-Staleness"] != nil, "\(copied.headers)")
            try await setup.standby.run("SELECT pg_wal_replay_pause()")
            try await until("the standby has paused") {
                try await setup.standby.run("SELECT pg_get_wal_replay_pause_state()") == "paused"
            }
            let second = try await bench.post(bench.purchase("2", product: "brushes"))
            let revision = try #require(second.headers["Souk-Revision"])
            let seen = try await bench.get(headers: ["Souk-Min-Revision": revision])
            #expect(seen.headers["Souk-Staleness"] == nil && seen.headers["Souk-Revision"] == "2")
            #expect(try seen.active().sorted() == ["brushes", "tools"])
            let older = try await bench.get(headers: ["Souk-Min-Revision": "1"])
            #expect(try older.active() == ["tools"] && older.headers["Souk-Staleness"] != nil)
            #expect(try await bench.get("nobody", headers: ["Souk-Min-Revision": "0"]).headers["Souk-Staleness"] == nil)
            #expect(try await bench.get(headers: ["Souk-Min-Revision": "-1"]).field == "Souk-Min-Revision")
            try await setup.standby.run("SELECT pg_wal_replay_resume()")
        }
    }

    @Test
    func `the answer to a write about a customer has the revision of the next read, and a repeated answer has none`()
        async throws
    {
        try await ServerBench.$engine.withValue(.postgreSQL) {
            let bench = try await ServerBench()
            func check(
                _ reply: ServerBench.Reply, _ status: Int = 200, sourceLocation: SourceLocation = #_sourceLocation
            )
                async throws
            {
                let read = try await bench.get()
                #expect(
                    reply.status == status && reply.headers["Souk-Revision"] == read.headers["Souk-Revision"]
                        && read.headers["Souk-Revision"] != nil,
                    "\(reply.json) \(reply.headers)", sourceLocation: sourceLocation)
            }
            let purchase = try bench.purchase("1"), key: HTTPHeaders = ["Idempotency-Key": "1"]
            try await check(bench.post(purchase, headers: key))
            let repeated = try await bench.post(purchase, headers: key)
            #expect(repeated.status == 200 && repeated.headers["Souk-Revision"] == nil)
            let path = "/v1/customers/anna"
            let grant = try await bench.send(
                .post, path + "/grants", as: .secret, body: .json(["feature": "sculpt", "reason": "test"]))
            try await check(grant, 201)
            let granted = try grant.customer().features.compactMap(\.grantID)
            let id = try #require(granted.first)
            try await check(bench.send(.delete, path + "/grants/\(id)", as: .secret))
            try await check(
                bench.send(.post, path + "/aliases", as: .secret, body: .json(["alias": "anna@example.com"])))
            await bench.close()
        }
    }

    @Test func `the client reads from the standby, but never sees less than it wrote`() async throws {
        try await Self.withStandby { setup in
            let bench = setup.bench
            let recorder = RecordingTransport(InProcessTransport(bench.service))
            let key = APIKey(try #require(bench.keys[ServerBench.app]).publicKey)
            let client = EntitlementServiceClient(
                configuration: .init(baseURL: "http://souk", key: key), transport: recorder)
            func present(_ signed: String, _ number: Int) async throws {
                let transaction = StoreTransaction(
                    id: TransactionID(unchecked: "\(number)"), originalID: TransactionID(unchecked: "\(number)"),
                    productID: "tools", kind: .nonConsumable, purchaseDate: bench.clock.now(), signedTransaction: signed
                )
                let validation = try await client.validate([transaction], for: "anna")
                #expect(validation.rejected.isEmpty)
            }
            func active() async throws -> [String] {
                try await client.customer("anna").features.filter(\.isActive).map(\.name).sorted()
            }
            try await present(bench.purchase("1"), 1)
            try await setup.follow()
            #expect(try await active() == ["tools"])
            #expect(recorder.last?.headers["Souk-Staleness"] != nil, "The standby has the purchase.")
            try await setup.standby.run("SELECT pg_wal_replay_pause()")
            try await until("the standby has paused") {
                try await setup.standby.run("SELECT pg_get_wal_replay_pause_state()") == "paused"
            }
            try await present(bench.purchase("2", product: "brushes"), 2)
            #expect(try await active() == ["brushes", "tools"])
            #expect(recorder.last?.headers["Souk-Staleness"] == nil, "The standby lacks the purchase.")
            try await setup.standby.run("SELECT pg_wal_replay_resume()")
            try await setup.follow()
            #expect(try await active() == ["brushes", "tools"])
            #expect(recorder.last?.headers["Souk-Staleness"] != nil && recorder.last?.status == 304)
        }
    }

    @Test func `a base backup and the log restore the ledger of a timestamp, without differences`() async throws {
        let primary = try await PostgresCluster(settings: PostgresCluster.archiving)
        _ = try await primary.makeDatabase()
        try await ServerBench.$engine.withValue(.postgreSQL) {
            let bench = try await ServerBench(folder: try ServerBench.Folder(url: primary.url(of: "test1")))
            _ = try await bench.post(bench.purchase("1"))
            let restored = try await PostgresCluster(backupOf: primary)
            _ = try await bench.post(bench.purchase("2", product: "brushes"))
            let timestamp = try await primary.run("SELECT clock_timestamp()")
            _ = try await bench.post(bench.purchase("3"), for: "ben")
            let last = try await primary.run("SELECT pg_walfile_name(pg_switch_wal())")
            try await until("the log is in the archive") {
                try await primary.run("SELECT last_archived_wal >= '\(last)' FROM pg_stat_archiver") == "t"
            }
            await bench.close()
            await restored.restore(to: timestamp)
            try await until("the timestamp is restored") {
                (try? await restored.run("SELECT pg_is_in_recovery()")) == "f"
            }

            let again = try await ServerBench(
                folder: try ServerBench.Folder(url: restored.url(of: "test1")), keys: bench.keys)
            let replay = LedgerReplay(database: again.database, apps: ReplayTests.apps, clock: again.clock)
            #expect(try replay.run().differences.isEmpty)
            #expect(try await again.get().active().sorted() == ["brushes", "tools"])
            #expect(try await again.get("ben").active() == [])
            #expect(try await again.post(bench.purchase("3"), for: "ben").status == 200)
            await again.close()
        }
    }

    @Test func `readiness reports the replication of commits`() async throws {
        try await Self.withStandby { setup in
            func replication() async throws -> JSONValue? {
                setup.bench.realClock.advance(by: 1)
                return try await setup.bench.send(.get, "/readyz", as: .none).json["replication"]
            }
            #expect(try await replication() == "asynchronous")
            let modes = [("remote_write", "remoteWrite"), ("on", "synchronous"), ("remote_apply", "remoteApply")]
            try await setup.primary.run("ALTER SYSTEM SET synchronous_standby_names = '*'")
            for (level, name) in modes + [("local", "asynchronous")] {
                try await setup.primary.run("ALTER SYSTEM SET synchronous_commit = '\(level)'")
                try await setup.primary.run("SELECT pg_reload_conf()")
                try await until("readiness says \(name)") { try await replication() == .string(name) }
            }
        }
        try await ServerBench.$engine.withValue(.postgreSQL) {
            let alone = try await ServerBench()
            #expect(try await alone.send(.get, "/readyz", as: .none).json["replication"] == "none")
            await alone.close()
        }
    }

    @Test func `an expired answer has the same bytes on every server, and is written later`() async throws {
        try await Self.withStandby { setup in
            let bench = setup.bench
            _ = try await bench.post(bench.period("1"))
            _ = try await bench.get()
            let other = try await ServerBench(
                folder: bench.folder, keys: bench.keys, configure: { $0.clock = bench.clock })
            bench.clock.advance(by: 31 * 86400)
            let revision = try Self.revision(bench)
            let first = try await bench.get()
            bench.clock.advance(by: 3600)
            let second = try await other.get()
            #expect(try first.active() == [])
            #expect(first.bytes == second.bytes && first.headers["ETag"] == second.headers["ETag"])
            try await setup.follow()
            let copied = try await bench.get(headers: ["Souk-Min-Revision": "0"])
            #expect(copied.headers["Souk-Staleness"] != nil && copied.bytes == first.bytes)
            #expect(try Self.revision(bench) == revision, "A read changed the revision.")
            let sweeper = try #require(bench.service.jobs.first { $0.name == "sweeper" })
            while try await sweeper.step() {}
            #expect(try Self.revision(bench) == revision + 1)
            for server in [bench, other] { #expect(try await server.get().bytes == first.bytes) }
            await other.close()
        }
    }

    private static func revision(_ bench: ServerBench) throws -> Int {
        try bench.database.read {
            try #require(try $0.first("SELECT revision FROM customer WHERE id = 'anna'"))["revision"]
        }
    }

    /// If the primary is lost, a commit that did not wait for the standby is lost too.
    @Test func `an answer whose commit did not wait for the standby is not repeated before the standby has it`()
        async throws
    {
        try await Self.withStandby { setup in
            let bench = setup.bench, key: HTTPHeaders = ["Idempotency-Key": "1"]
            let other = try await ServerBench(folder: bench.folder, keys: bench.keys)
            let purchase = try bench.purchase("1")
            let waiting = "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep'"
            try await setup.primary.run("ALTER SYSTEM SET synchronous_commit = 'remote_apply'")
            try await setup.primary.run("ALTER SYSTEM SET synchronous_standby_names = '*'")
            try await setup.primary.run("SELECT pg_reload_conf()")
            try setup.standby.kill()
            let first = Task { try await bench.post(purchase, headers: key) }
            try await until("the cancelled commit is visible, and its server waits for the standby again") {
                let visible = try await setup.primary.run("SELECT count(*) FROM idempotency_key", in: "test1")
                guard visible == "1" else {
                    try await setup.primary.run(
                        "SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'")
                    return false
                }
                return try await setup.primary.run(waiting) == "1"
            }
            let isAnswered = Locked(false)
            let second = Task {
                defer { isAnswered.withLock { $0 = true } }
                return try await other.post(purchase, headers: key)
            }
            try await until("the repetition waits for the standby too") {
                if isAnswered.withLock({ $0 }) { return true }
                return try await setup.primary.run(waiting) == "2"
            }
            let isAnsweredEarly = isAnswered.withLock { $0 }
            #expect(!isAnsweredEarly)
            // The primary stops waiting for the standby, as if the standby had caught up.
            try await setup.primary.run("ALTER SYSTEM SET synchronous_standby_names = ''")
            try await setup.primary.run("SELECT pg_reload_conf()")
            #expect(try await first.value.status == 200)
            #expect(try await second.value.status == 200)
            await other.close()
        }
    }

    @Test func `without the primary, reads use the standby, and its promotion restores writes`() async throws {
        try await Self.withStandby { setup in
            let bench = setup.bench
            _ = try await bench.post(bench.purchase("1"))
            try await setup.follow()
            try setup.primary.kill()
            try await until("the connections to the primary have ended") {
                (try? bench.database.read { try $0.first("SELECT 1 AS one") }) == nil
            }
            let ready = try await bench.send(.get, "/readyz", as: .none).json
            #expect(ready["reads"] == true && ready["standby"]?["staleness"] != nil, "\(ready.text())")
            let read = try await bench.get()
            #expect(try read.status == 200 && read.active() == ["tools"] && read.headers["Souk-Staleness"] != nil)
            let bought = try bench.purchase("2", product: "brushes")
            let waiting = Task { try await bench.post(bought) }
            try await setup.standby.run("SELECT pg_promote()")
            var reply = try await waiting.value
            if reply.status == 503 { reply = try await bench.post(bought) }
            #expect(reply.status == 200, "\(reply)")
            #expect(try await bench.get().active().sorted() == ["brushes", "tools"])
        }
    }
}

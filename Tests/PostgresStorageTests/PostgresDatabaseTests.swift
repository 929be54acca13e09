import BaseTestSupport
import Foundation
import HostTestSupport
import Primitives
import SQLStorage
import Testing

@testable import PostgresStorage

@Suite(.enabled(if: PostgresCluster.isAvailable, "PostgreSQL is not installed"))
struct PostgresDatabaseTests {
    private static let schema = SQLMigration(
        "0001 account",
        [
            .postgreSQL: """
            CREATE TABLE account (name TEXT COLLATE "C" PRIMARY KEY, balance BIGINT NOT NULL);
            INSERT INTO account VALUES ('a', 0), ('b', 0);
            """
        ])

    private static func withDatabase(
        _ configuration: PostgresDatabase.Configuration = .init(),
        _ body: (PostgresDatabase, _ url: String, _ name: String) async throws -> Void
    ) async throws {
        let url = try await PostgresCluster.shared().makeDatabase()
        let database = try PostgresDatabase(url: url, configuration: configuration)
        try database.migrate([schema])
        try await body(database, url, String(url.split(separator: "/")[2].prefix { $0 != "?" }))
        await database.close()
    }

    private static func balance(_ name: String, in database: PostgresDatabase) throws -> Int? {
        try database.read { try $0.first("SELECT balance FROM account WHERE name = ?1", [.text(name)])?["balance"] }
    }

    @Test func `a released cluster ends its server and removes its folder`() async throws {
        var cluster: PostgresCluster? = try await PostgresCluster()
        let folder = try #require(cluster?.folder)
        let file = try String(contentsOfFile: "\(folder)/data/postmaster.pid", encoding: .utf8)
        let server = try #require(file.split(separator: "\n").first.flatMap { Int32($0) })
        cluster = nil
        try await until("the server has ended") { kill(server, 0) != 0 }
        try await until("the folder is gone") { !FileManager.default.fileExists(atPath: folder) }
    }

    @Test func `the use of the connections counts bodies that run, bodies that wait, and their waits`() async throws {
        var configuration = PostgresDatabase.Configuration()
        configuration.writers = 1
        try await Self.withDatabase(configuration) { database, _, _ in
            let (isHeld, waits) = (Locked(true), DispatchSemaphore(value: 0))
            let first = Task {
                try await database.write { connection in
                    _ = try connection.query("SELECT 1 AS one", [])
                    while isHeld.withLock(\.self) { waits.wait() }
                }
            }
            try await until("the first body runs") {
                database.poolUsage.connectionsInUse == 1 && database.poolUsage.openConnections == 2
            }
            let others = (0..<2).map { _ in Task { try await database.write { _ in } } }
            try await until("two bodies wait") { database.poolUsage.queuedWrites == 2 }
            let inside = try database.read { _ in database.poolUsage }
            #expect(inside.connectionsInUse == 2 && inside.openConnections >= 2)
            isHeld.withLock { $0 = false }
            waits.signal()
            for task in [first] + others { try await task.value }
            try await until("no body runs") { database.poolUsage.connectionsInUse == 0 }
            let usage = database.poolUsage
            #expect(usage.queuedWrites == 0 && usage.writeWaits.counts.reduce(0, +) == 3)
            #expect(usage.writeWaits.nanoseconds > 0)
            await database.close()
            #expect(database.poolUsage.openConnections == 0)
        }
    }

    // MARK: - Values

    @Test func `every value comes back as it was bound, and columns of other types are converted or refused`()
        async throws
    {
        try await Self.withDatabase { database, _, _ in
            let values: [SQLValue] = [
                .null, 0, -1, .integer(.min), .integer(.max), .real(0.1), .real(-.infinity),
                .real(.leastNonzeroMagnitude), "", "é",
                "e\u{301}", "\u{1F4A5}", .blob([]), .blob([0, 255, 0x27]), .blob(Array(repeating: 7, count: 100_000)),
                .text(String(repeating: "x", count: 100_000)),
            ]
            for value in values {
                let read = try database.read { try $0.first("SELECT ?1 AS value", [value])?.values.first }
                #expect(read == value)
            }
            let row = try database.read { connection in
                try connection.first(
                    """
                    SELECT CAST(3 AS SMALLINT) AS a, CAST(-4 AS INTEGER) AS b, TRUE AS c, CAST(0.5 AS REAL) AS d,
                        CAST('x' AS VARCHAR(3)) AS e, CAST('y' AS CHAR(1)) AS f, CAST(SUM(balance) AS BIGINT) AS g
                    FROM account
                    """)
            }
            #expect(row?.values == [3, -4, 1, 0.5, "x", "y", 0])
            #expect(throws: SQLError(.unexpectedValue, "")) {
                try database.read { try $0.query("SELECT SUM(balance) AS sum FROM account") }
            }
        }
    }

    @Test func `an error contains no bound value`() async throws {
        try await Self.withDatabase { database, _, _ in
            for sql in [
                "INSERT INTO account VALUES (?1, 1), (?1, 1)", "SELECT CAST(?1 AS BIGINT)",
                "SELECT name FROM nowhere WHERE ?1 = ''",
            ] {
                let error = await #expect(throws: SQLError.self) {
                    try await database.write { try $0.execute(sql, ["confidential"]) }
                }
                #expect(error?.message.contains("confidential") == false)
                #expect(error?.message.contains("\n") == false)
            }
        }
    }

    // MARK: - Round trips

    @Test func `statements without a result share a round trip with the next query or the commit`() async throws {
        try await Self.withDatabase { database, _, _ in
            func trips(_ work: () async throws -> Void) async throws -> Int {
                try await work()
                let before = database.roundTrips
                try await work()
                return database.roundTrips - before
            }
            try await #expect(trips { _ = try Self.balance("a", in: database) } == 1)
            try await #expect(trips { _ = try await database.lookup("SELECT 1 FROM account", []) } == 0)
            try await #expect(
                trips {
                    try await database.write { connection in
                        for name in ["a", "b"] {
                            try connection.perform("UPDATE account SET balance = 1 WHERE name = ?1", [.text(name)])
                        }
                    }
                } == 1)
            try await #expect(
                trips {
                    try await database.write { connection in
                        try connection.lockRows("SELECT 1 FROM account WHERE name = ?1", ["a"])
                        let rows = try connection.queries([
                            SQLQuery("SELECT balance FROM account WHERE name = ?1", ["a"]),
                            SQLQuery("SELECT balance FROM account WHERE name = ?1", ["b"]),
                        ])
                        try connection.perform("UPDATE account SET balance = ?1", [SQLValue(rows.count)])
                    }
                } == 2)
            try await #expect(trips { try await database.write { _ in } } == 0)
        }
    }

    @Test func `a result larger than one batch of a cursor is read whole, and rows that are written are counted`()
        async throws
    {
        try await Self.withDatabase { database, _, _ in
            let inserted = try await database.write { connection in
                try connection.execute(
                    "INSERT INTO account SELECT 'n' || number, number FROM generate_series(1, ?1) AS number", [1250])
            }
            #expect(inserted == 1250)
            var sum = 0
            try database.read { connection in
                try connection.each("SELECT balance FROM account WHERE balance <= ?1", [1250]) {
                    sum += try $0["balance"]
                }
            }
            #expect(sum == 1250 * 1251 / 2)
            let changed = try await database.write { connection in
                [
                    try connection.execute("UPDATE account SET balance = 0 WHERE balance > 1000"),
                    try connection.execute("SELECT name FROM account"),
                    try connection.execute("DELETE FROM account WHERE balance = 0"),
                ]
            }
            #expect(changed == [250, 0, 252])
        }
    }

    // MARK: - Concurrency

    @Test(arguments: [PostgresDatabase.Isolation.serializable, .readCommitted])
    func `two programs that increment the same locked row lose no update`(
        isolation: PostgresDatabase.Isolation
    ) async throws {
        var configuration = PostgresDatabase.Configuration()
        configuration.isolation = isolation
        try await Self.withDatabase(configuration) { first, url, _ in
            let second = try PostgresDatabase(url: url, configuration: configuration)
            try await withThrowingTaskGroup(of: Void.self) { group in
                for database in [first, second] {
                    for _ in 0..<100 {
                        group.addTask {
                            try await database.write { connection in
                                try connection.lockRows("SELECT 1 FROM account WHERE name = ?1", ["a"])
                                let query = "SELECT balance FROM account WHERE name = 'a'"
                                let balance: Int = try connection.first(query)?["balance"] ?? 0
                                try connection.perform(
                                    "UPDATE account SET balance = ?1 WHERE name = 'a'", [SQLValue(balance + 1)])
                            }
                        }
                    }
                }
                try await group.waitForAll()
            }
            try #expect(Self.balance("a", in: second) == 200)
            await second.close()
        }
    }

    @Test func `two programs that read each other's rows have the result of running one after the other`() async throws
    {
        try await Self.withDatabase { first, url, _ in
            let second = try PostgresDatabase(url: url)
            // Write skew: each transaction takes from one account while both accounts together have enough.
            for _ in 0..<20 {
                try await first.write { try $0.perform("UPDATE account SET balance = 1", []) }
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for (database, name) in [(first, "a"), (second, "b")] {
                        group.addTask {
                            try await database.write { connection in
                                let sum: Int =
                                    try connection.first("SELECT CAST(SUM(balance) AS BIGINT) AS sum FROM account")?[
                                        "sum"] ?? 0
                                guard sum == 2 else { return }
                                try connection.perform(
                                    "UPDATE account SET balance = balance - 2 WHERE name = ?1", [.text(name)])
                            }
                        }
                    }
                    try await group.waitForAll()
                }
                let balances = [try Self.balance("a", in: first) ?? 0, try Self.balance("b", in: first) ?? 0]
                #expect(balances.sorted() == [-1, 1])
            }
            await second.close()
        }
    }

    @Test func `if programs migrate at the same time, each migration is applied once`() async throws {
        let second = SQLMigration("0002", [.postgreSQL: "INSERT INTO account VALUES ('c', 3)"])
        for _ in 0..<10 {
            let url = try await PostgresCluster.shared().makeDatabase()
            let databases = try (0..<4).map { _ in try PostgresDatabase(url: url) }
            try await withThrowingTaskGroup(of: Void.self) { group in
                for database in databases {
                    group.addTask {
                        try await withCheckedThrowingContinuation {
                            (continuation: CheckedContinuation<Void, any Error>) in
                            Thread.detachNewThread {
                                continuation.resume(with: Result { try database.migrate([Self.schema, second]) })
                            }
                        }
                    }
                }
                try await group.waitForAll()
            }
            try #expect(Self.balance("c", in: databases[0]) == 3)
            for database in databases { await database.close() }
        }
    }

    @Test func `a program keeps working after a compatible migration by a newer one`() async throws {
        func table(_ name: String, minimumProgram: String? = nil) -> SQLMigration {
            SQLMigration(
                name, [.postgreSQL: "CREATE TABLE \"\(name)\" (id BIGINT)"], minimumProgram: minimumProgram)
        }
        try await Self.withDatabase { database, url, _ in
            let own = [Self.schema, table("0002")]
            try database.migrate(own)
            let newer = try PostgresDatabase(url: url)
            let expanded = own + [table("0003", minimumProgram: "0002"), table("0004", minimumProgram: "0001 account")]
            try newer.migrate(expanded)
            try database.migrate(own)
            #expect(
                try database.schema(own)
                    == SQLSchemaStatus(applied: ["0001 account", "0002", "0003", "0004"], pending: []))
            #expect(try database.deviations(from: own) == [])
            #expect(throws: SQLError(.newerSchema, "")) { try database.migrate([Self.schema]) }
            try newer.migrate(expanded + [table("0005")])
            #expect(throws: SQLError(.newerSchema, "")) { try database.migrate(own) }
            #expect(throws: SQLError(.newerSchema, "")) { _ = try database.schema(own) }
            let wrong = [Self.schema, table("0002", minimumProgram: "0003"), table("0003")]
            #expect(throws: SQLError(.invalidMigration, "")) { try database.migrate(wrong) }
            await newer.close()
        }
    }

    // MARK: - Connections that end

    @Test func `reads, look-ups and writes succeed after the server ended their connections`() async throws {
        try await Self.withDatabase { database, _, name in
            let cluster = try await PostgresCluster.shared()
            for round in 1...3 {
                _ = try Self.balance("a", in: database)
                _ = try await database.lookup("SELECT 1 FROM account", [])
                try await database.write { try $0.perform("UPDATE account SET balance = 1", []) }
                try await cluster.run(
                    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '\(name)'")
                try #expect(Self.balance("a", in: database) == 1)
                let found = try await database.lookup("SELECT balance FROM account WHERE name = 'a'", [])
                #expect(found?.values == [1])
                try await database.write { connection in
                    try connection.perform("UPDATE account SET balance = ?1", [SQLValue(round + 1)])
                }
                try #expect(Self.balance("b", in: database) == round + 1)
                try await database.write { try $0.perform("UPDATE account SET balance = 1", []) }
            }
        }
    }

    @Test func `a transaction whose connection ends before its commit runs again, and is written once`() async throws {
        try await Self.withDatabase { database, url, _ in
            let other = try PostgresDatabase(url: url)
            let runs = Locked(0)
            try await database.write { connection in
                try connection.execute("UPDATE account SET balance = balance + 1 WHERE name = 'a'")
                let run = runs.withLock { runs in
                    runs += 1
                    return runs
                }
                guard run == 1 else { return }
                let id: Int = try connection.first("SELECT pg_backend_pid() AS id")?["id"] ?? 0
                let ended = try other.read {
                    try $0.first("SELECT pg_terminate_backend(CAST(?1 AS INTEGER), 20000) AS ended", [SQLValue(id)])
                }
                #expect(ended?.values == [1])
            }
            #expect(runs.withLock { $0 } == 2)
            try #expect(Self.balance("a", in: database) == 1)
            await other.close()
        }
    }

    /// Creates the table `slow`. The transaction that inserts its first row, and no other, commits after a minute.
    private static func makeSlowCommits(in database: PostgresDatabase) async throws {
        try await database.write { connection in
            try connection.execute("CREATE TABLE slow (id BIGINT)")
            try connection.execute("CREATE TABLE gate (id BIGINT)")
            try connection.execute(
                """
                CREATE FUNCTION wait_for_gate() RETURNS TRIGGER LANGUAGE plpgsql AS
                $$ BEGIN
                    IF (SELECT count(*) FROM slow) > 1 THEN RETURN NULL; END IF;
                    PERFORM pg_sleep(60); RETURN NULL;
                END $$
                """)
            try connection.execute(
                """
                CREATE CONSTRAINT TRIGGER slowly AFTER INSERT ON slow DEFERRABLE INITIALLY DEFERRED
                FOR EACH ROW EXECUTE FUNCTION wait_for_gate()
                """)
        }
    }

    @Test func `a transaction whose connection ended during its commit runs again, and counts once`() async throws {
        try await Self.withDatabase { database, url, _ in
            try await Self.makeSlowCommits(in: database)
            let other = try PostgresDatabase(url: url)
            let runs = Locked(0)
            let outcome = Task {
                try await database.write { connection in
                    let count = runs.withLock { runs in
                        runs += 1
                        return runs
                    }
                    for _ in 0..<count { try connection.perform("INSERT INTO slow VALUES (1)", []) }
                    return count
                }
            }
            try await until("the commit is ended") {
                let ended = try other.read { connection in
                    try connection.query(
                        """
                        SELECT pg_terminate_backend(pid) AS ended FROM pg_stat_activity
                        WHERE query = 'COMMIT' AND state = 'active' AND datname = current_database()
                        """)
                }
                return !ended.isEmpty
            }
            #expect(try await outcome.value == 2)
            let count: Int? = try other.read { try $0.first("SELECT count(*) AS n FROM slow")?["n"] }
            #expect(count == 2)
            await other.close()
        }
    }

    @Test func `a commit whose answer was lost is found, and its body does not run again`() async throws {
        try await Self.withDatabase { database, url, _ in
            let proxy = try PostgresProxy(to: url)
            let cut = try PostgresDatabase(url: proxy.url)
            let runs = Locked(0)
            proxy.cutAnswer(to: "COMMIT")
            let balance: Int = try await cut.write { connection in
                runs.withLock { $0 += 1 }
                try connection.perform("UPDATE account SET balance = balance + 1 WHERE name = 'a'", [])
                return try #require(try connection.first("SELECT balance FROM account WHERE name = 'a'"))["balance"]
            }
            #expect(balance == 1)
            #expect(proxy.cuts == 1)
            #expect(runs.withLock(\.self) == 1)
            #expect(try Self.balance("a", in: database) == 1)
            await cut.close()
            proxy.close()
        }
    }

    @Test(arguments: [1, 2, 3])
    func `a transaction whose commit was lost runs again, even if answers about the commit are lost too`(
        cuts: Int
    ) async throws {
        try await Self.withDatabase { database, url, _ in
            let proxy = try PostgresProxy(to: url)
            let cut = try PostgresDatabase(url: proxy.url)
            let runs = Locked(0)
            // The proxy drops the commit, and the responses to queries for its mark.
            proxy.loseNext("COMMIT")
            for _ in 1..<cuts { proxy.cutAnswer(to: "is_settled") }
            try await cut.write { connection in
                runs.withLock { $0 += 1 }
                try connection.perform("UPDATE account SET balance = balance + 1 WHERE name = 'a'", [])
            }
            #expect(runs.withLock(\.self) == 2)
            #expect(proxy.cuts == cuts)
            #expect(try Self.balance("a", in: database) == 1)
            await cut.close()
            proxy.close()
        }
    }

    @Test func `after a concurrent insert the body runs again and sees the row, and a real violation is refused`()
        async throws
    {
        try await Self.withDatabase { database, url, _ in
            let other = try PostgresDatabase(url: url)
            let runs = Locked(0)
            let inserted = try await database.write { connection in
                let count = runs.withLock { runs in
                    runs += 1
                    return runs
                }
                let known = try connection.first("SELECT 1 AS one FROM account WHERE name = 'c'")
                guard known == nil else { return false }
                if count == 1 {
                    let isDone = DispatchSemaphore(value: 0)
                    Task {
                        try await other.write { try $0.perform("INSERT INTO account VALUES ('c', 1)", []) }
                        isDone.signal()
                    }
                    isDone.wait()
                }
                try connection.execute("INSERT INTO account VALUES ('c', 2)")
                return true
            }
            #expect(!inserted && runs.withLock(\.self) == 2)
            #expect(try Self.balance("c", in: database) == 1)
            await #expect(throws: SQLError(.uniqueViolation, "")) {
                try await database.write { try $0.execute("INSERT INTO account VALUES ('a', 1)") }
            }
            await other.close()
        }
    }

    @Test func `a query fails if the server does not answer in time`() async throws {
        var configuration = PostgresDatabase.Configuration()
        configuration.timeout = .milliseconds(300)
        configuration.retryTimeout = .zero
        try await Self.withDatabase(configuration) { database, _, _ in
            #expect(throws: SQLError(.connectionLost, "")) {
                try database.read { try $0.query("SELECT CAST(pg_sleep(30) AS TEXT)") }
            }
            try #expect(Self.balance("a", in: database) == 0)
        }
    }

    @Test func `a look-up fails without the server, and succeeds when the server is back`() async throws {
        try await Self.withDatabase { database, url, _ in
            let proxy = try PostgresProxy(to: url)
            let cut = try PostgresDatabase(url: proxy.url)
            proxy.refuse(true)
            await #expect(throws: SQLError.self) {
                _ = try await cut.lookup("SELECT balance FROM account WHERE name = 'a'", [])
            }
            proxy.refuse(false)
            let row = try await cut.lookup("SELECT balance FROM account WHERE name = 'a'", [])
            #expect(try row?["balance"] == 0)
            await cut.close()
            proxy.close()
        }
    }

    // MARK: - Opening

    @Test(arguments: [
        "postgres://souk@/missing?host=FOLDER", "postgres://locked@/postgres?host=FOLDER",
        "postgres://nobody@/postgres?host=FOLDER", "postgres://souk@/postgres?host=/nowhere",
        "postgres://souk@127.0.0.1:1/postgres", "postgres://souk@/postgres?host=FOLDER&wrong=1", "mysql://a/b", "",
        "postgres",
        "postgres://souk:secret@/postgres?host=FOLDER", "postgres://souk@[::1/x",
    ])
    func `a database that cannot be opened is refused in one line that ends with a full stop`(url: String) async throws
    {
        let folder = try await PostgresCluster.shared().folder
        let error = #expect(throws: SQLError.self) {
            _ = try PostgresDatabase(url: url.replacingOccurrences(of: "FOLDER", with: folder))
        }
        #expect(error?.code == .cannotOpen)
        #expect(error?.message.hasSuffix(".") == true)
        #expect(error?.message.contains("\n") == false)
        #expect(error?.message.contains("secret") == false)
    }

    @Test func `a database that is not in UTF-8 is refused`() async throws {
        let cluster = try await PostgresCluster.shared()
        try await cluster.run("CREATE DATABASE latin ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0")
        let error = #expect(throws: SQLError(.cannotOpen, "")) {
            _ = try PostgresDatabase(url: cluster.url(of: "latin"))
        }
        #expect(error?.message.contains("LATIN1") == true)
    }

    @Test func `a read-only database is refused`() async throws {
        let cluster = try await PostgresCluster.shared()
        try await cluster.run("CREATE DATABASE frozen TEMPLATE template0")
        try await cluster.run("ALTER DATABASE frozen SET default_transaction_read_only = on")
        #expect(throws: SQLError(.readOnly, "")) { _ = try PostgresDatabase(url: cluster.url(of: "frozen")) }
    }

    @Test func `a password in the URL works if the configuration allows it`() async throws {
        let cluster = try await PostgresCluster.shared()
        var configuration = PostgresDatabase.Configuration()
        configuration.allowsPasswordInURL = true
        let url = cluster.url(of: "postgres", as: "locked:open%20sesame")
        let database = try PostgresDatabase(url: url, configuration: configuration)
        await database.close()
        let error = #expect(throws: SQLError(.cannotOpen, "")) {
            _ = try PostgresDatabase(
                url: url.replacingOccurrences(of: "sesame", with: "barley"), configuration: configuration)
        }
        #expect(error?.message.contains("barley") == false)
    }
}

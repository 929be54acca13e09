import Foundation
import HTTPCore
import HostTestSupport
import Primitives
import SQLStorage
import StoreModel
import Testing

@testable import EntitlementServer

@Suite(.enabled(if: PostgresCluster.isAvailable, "PostgreSQL is not installed"))
struct LedgerCopyTests {
    private static let target = "postgres://souk@127.0.0.1/ledger"

    /// Opens the folder's database on PostgreSQL.
    private static func opened(_ folder: ServerBench.Folder) async throws -> any SQLDatabase {
        try await ServerBench.$engine.withValue(.postgreSQL) { try await folder.open(checkpointPages: 0) }
    }

    private static func copy(_ bench: ServerBench, to target: any SQLDatabase) -> LedgerCopy {
        LedgerCopy(from: bench.database, named: "sqlite:ledger.sqlite", to: target, named: Self.target)
    }

    /// Creates a ledger with facts, claims, grants, aliases, an erasure, audit entries and spent credit.
    private static func populated(_ folder: ServerBench.Folder) async throws -> ServerBench {
        let bench = try await ServerBench.withConsole(folder: folder) { $0.apps[0].credits = CreditTests.table }
        _ = try await bench.post(bench.period("1") { $0.appAccountToken = CustomerID("anna").appAccountToken })
        _ = try await bench.post(bench.purchase("2"), for: "ben")
        _ = try await bench.post(
            bench.purchase("3") { $0.appAccountToken = CustomerID("later").appAccountToken }, for: "carl")
        _ = try await bench.grant(to: "ben", headers: ["Idempotency-Key": "k"])
        _ = try await bench.alias("anonymous-1", to: "anna")
        _ = try await bench.post(bench.purchase("4"), for: "gone")
        _ = try await bench.send(.delete, "/v1/customers/gone", as: .secret)
        let visitor = try await ConsoleVisitor.signedIn(at: bench)
        _ = try await visitor.act("/grants", [("id", "ben"), ("feature", "gift"), ("reason", "a gift")])
        _ = try await bench.give(50, to: "ben")
        _ = try await bench.redeem([("cat", "filter")], for: "ben")
        return bench
    }

    @Test func `a moved ledger continues with the same answers, keys and event numbers`() async throws {
        let folder = try ServerBench.Folder()
        let bench = try await Self.populated(folder)
        let answers = try await bench.get("ben").json
        let lastEvent = try bench.service.ledger.span(of: LedgerID(app: ServerBench.app, environment: .sandbox)).last
        let database = try await Self.opened(folder)
        let copy = Self.copy(bench, to: database)
        try await copy.begin()
        let counts = try await copy.run()
        #expect(try counts.facts == bench.count("fact") && counts.customers == bench.count("customer"))
        #expect(try counts.events == bench.count("event") && counts.written > counts.facts)
        try await copy.finish()
        await bench.close()
        await database.close()

        #expect(throws: SQLError(.newerSchema, "")) {
            try SQLiteFile(path: folder.databasePath).schema(Schema.migrations(for: .sqlite))
        }
        try await ServerBench.$engine.withValue(.postgreSQL) {
            let moved = try await ServerBench.withConsole(folder: folder, keys: bench.keys) {
                $0.apps[0].credits = CreditTests.table
            }
            #expect(try await moved.credit(for: "ben").json["balance"]?.intValue == 45)
            #expect(try moved.replay().differences == [])
            let visitor = try await ConsoleVisitor.signedIn(at: moved)
            let log = try await visitor.get("/audit").text
            #expect(log.contains("granted <code><bdi>gift<") && log.matches(of: /signed in/).count == 2)
            #expect(try await moved.get("ben").json["features"] == answers["features"])
            #expect(try await moved.get("anonymous-1").active() == ["pro"])
            let grants = try moved.count("customer_grant")
            _ = try await moved.grant(to: "ben", headers: ["Idempotency-Key": "k"])
            #expect(try moved.count("customer_grant") == grants)
            let listener = try await EventListener(moved, after: String(lastEvent))
            #expect(try await moved.get("later").active() == ["tools"])
            try await moved.numberEvents()
            #expect(try await listener.events(1).first?.id == String(lastEvent + 1))
            _ = try await moved.post(moved.purchase("9"), for: "dora")
            #expect(try moved.replay().differences == [])
            await moved.close()
        }
    }

    @Test func `an interrupted copy continues, and includes later changes`() async throws {
        struct Interruption: Error {}
        let folder = try ServerBench.Folder()
        let bench = try await Self.populated(folder)
        let database = try await Self.opened(folder)
        let writes = Locked(0)
        let failing = Self.copy(
            bench,
            to: FailingDatabase(inner: database) {
                try writes.withLock { writes in
                    writes += 1
                    if writes == 8 { throw Interruption() }
                }
            })
        try await failing.begin()
        await #expect(throws: Interruption.self) { try await failing.run() }
        #expect(throws: SQLError(.newerSchema, "")) { try database.migrate(Schema.migrations(for: .postgreSQL)) }

        let copy = Self.copy(bench, to: database)
        try await copy.begin()
        _ = try await copy.run()
        await #expect(throws: EntitlementServerError.self) {
            _ = try await bench.post(bench.purchase("5"), for: "ben")
            try await copy.finish()
        }
        _ = try await bench.send(.delete, "/v1/customers/ben", as: .secret)
        #expect(try await copy.run().written > 0)
        #expect(try await copy.run().written == 0)
        try await copy.finish()
        await #expect(throws: EntitlementServerError.self) { try await copy.begin() }
        await bench.close()
        await database.close()
    }

    @Test func `a database that contains a ledger is not overwritten`() async throws {
        let folder = try ServerBench.Folder()
        let bench = try await ServerBench(folder: folder)
        let other = try await ServerBench.$engine.withValue(.postgreSQL) { try await ServerBench(folder: folder) }
        let error = await #expect(throws: EntitlementServerError.self) {
            try await Self.copy(bench, to: other.database).begin()
        }
        #expect(error?.reason.contains("holds a ledger already") == true)
        await bench.close()
        await other.close()
    }
}

/// A database whose writes can fail.
private struct FailingDatabase: SQLDatabase {
    let inner: any SQLDatabase
    let fail: @Sendable () throws -> Void

    var dialect: SQLDialect { inner.dialect }
    func migrate(_ migrations: [SQLMigration]) throws { try inner.migrate(migrations) }
    func read<T: Sendable>(_ body: (any SQLConnection) throws -> T) throws -> T { try inner.read(body) }
    func close() async { await inner.close() }

    func write<T: Sendable>(_ body: @escaping @Sendable (any SQLConnection) throws -> T) async throws -> T {
        try fail()
        return try await inner.write(body)
    }
}

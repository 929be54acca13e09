import BaseTestSupport
import Foundation
import HTTPCore
import HostTestSupport
import PostgresStorage
import SQLStorage
import Testing

@testable import EntitlementServer

/// Servers of two releases on one PostgreSQL: the newer one changes the schema while the older one serves.
@Suite(.enabled(if: PostgresCluster.isAvailable, "PostgreSQL is not installed"))
struct UpgradeTests {
    /// A migration of a later release that only adds to the schema. An older server supports it.
    private static let expanding = SQLMigration(
        "9001 expanding",
        [
            .postgreSQL: """
            ALTER TABLE customer ADD COLUMN nickname TEXT COLLATE "C" NOT NULL DEFAULT '';
            CREATE TABLE nickname (id BIGINT)
            """
        ], minimumProgram: Schema.programs.name)
    /// A migration of a later release that renames a column. An older server does not support it.
    private static let contracting = SQLMigration(
        "9002 contracting", [.postgreSQL: "ALTER TABLE customer RENAME COLUMN etag TO tag"])

    private static var newerRelease: [SQLMigration] { Schema.migrations(for: .postgreSQL) + [expanding, contracting] }

    private static func withServer(_ body: (ServerBench) async throws -> Void) async throws {
        try await ServerBench.$engine.withValue(.postgreSQL) {
            let bench = try await ServerBench()
            try await body(bench)
            await bench.close()
        }
    }

    @Test func `a server continues, and can restart, after a newer release has added to the schema`() async throws {
        try await Self.withServer { bench in
            #expect(try await bench.grant("one").status == 201)
            try bench.database.migrate(Self.newerRelease.dropLast())
            #expect(try await bench.grant("two").status == 201)
            let restarted = try await ServerBench(folder: bench.folder, keys: bench.keys)
            #expect(try await restarted.grant("three").status == 201)
            #expect(try bench.count("customer") > 0)
            await restarted.close()
        }
    }

    @Test func `a migration that a running older server does not support is refused until that server has ended`()
        async throws
    {
        try await Self.withServer { bench in
            let error = #expect(throws: SQLError(.busy, "")) { try bench.database.migrate(Self.newerRelease) }
            let newest = try #require(Schema.migrations(for: .postgreSQL).last).name
            #expect(error?.message.contains("knows only \(newest); end it first") == true)
            #expect(error?.message.contains("9002 contracting takes programs that know 9002 contracting") == true)
            #expect(try await bench.grant("one").status == 201)

            try await bench.database.write { connection in
                try connection.execute("UPDATE server SET seen_at = seen_at - interval '11 seconds'")
            }
            try bench.database.migrate(Self.newerRelease)
            await #expect(throws: SQLError(.newerSchema, "")) { try await bench.service.run() }
            #expect(try bench.count("server") == 0)
            await #expect(throws: SQLError(.newerSchema, "")) {
                _ = try await ServerBench(folder: bench.folder, keys: bench.keys)
            }
        }
    }

    @Test func `a server that starts during a migration waits for it, and then refuses the schema`() async throws {
        try await Self.withServer { bench in
            try await bench.database.write { try $0.perform("DELETE FROM server", []) }
            let registry = ServerRegistry(database: bench.database, id: "older", clock: bench.realClock.monotonic)
            let slow = SQLMigration(
                Self.contracting.name, [.postgreSQL: "LOCK TABLE server IN SHARE MODE; SELECT pg_sleep(2)"])
            let steps = Self.newerRelease.dropLast() + [slow]
            let migrating = Task.detached { try bench.database.migrate(Array(steps)) }
            try await until("the step has its lock") {
                try bench.database.read { connection in
                    try connection.first(
                        """
                        SELECT 1 AS one FROM pg_stat_activity
                        WHERE wait_event = 'PgSleep' AND datname = current_database()
                        """, []) != nil
                }
            }
            await #expect(throws: SQLError(.newerSchema, "")) { try await registry.step() }
            try await migrating.value
        }
    }
}

import ContractSuites
import HostTestSupport
import SQLStorage
import Testing

@testable import PostgresStorage

/// A database behind PgBouncer in transaction mode, where each transaction can have another connection.
@Suite(.enabled(if: PostgresCluster.isAvailable && PostgresCluster.hasPooler, "PgBouncer is not installed"))
struct PoolerTests {
    private static let cluster = Task { try await PostgresCluster(pooled: true) }

    private static func makeURL() async throws -> String {
        let cluster = try await cluster.value
        let name = try await cluster.makeDatabase().split(separator: "/")[2].prefix { $0 != "?" }
        return cluster.pooledURL(of: String(name))
    }

    private static var pooled: PostgresDatabase.Configuration {
        var configuration = PostgresDatabase.Configuration()
        configuration.keepsStatements = false
        return configuration
    }

    @Test(arguments: SQLDatabaseContract.cases)
    func `PostgreSQL keeps the contract behind a pooler`(_ contract: SQLDatabaseContract) async throws {
        let database = try PostgresDatabase(url: try await Self.makeURL(), configuration: Self.pooled)
        try await contract.check(database)
        await database.close()
    }

    @Test func `a pooler refuses a connection with prepared statements, and the message says what to do`()
        async throws
    {
        let url = try await Self.makeURL()
        let error = #expect(throws: SQLError(.cannotOpen, "")) { try PostgresDatabase(url: url) }
        #expect(error?.message.contains("open it without prepared statements") == true, "\(String(describing: error))")
    }

    @Test func `transactions behind a pooler have the timeouts of the configuration`() async throws {
        var configuration = Self.pooled
        configuration.lockTimeout = .milliseconds(50)
        let url = try await Self.makeURL()
        let database = try PostgresDatabase(url: url, configuration: configuration)
        try database.migrate([
            SQLMigration("0001", [.postgreSQL: "CREATE TABLE t (v BIGINT); INSERT INTO t VALUES (1)"])
        ])
        let settings = try await database.write { connection in
            try connection.first(
                """
                SELECT current_setting('lock_timeout') AS a, current_setting('idle_in_transaction_session_timeout') AS b
                """)
        }
        #expect(settings?.values == ["50ms", "1min"])
        await database.close()
    }
}

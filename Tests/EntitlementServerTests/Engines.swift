import HostTestSupport
import SQLStorage
import Testing

/// Runs each case of a suite on SQLite. If PostgreSQL is installed, also runs each case there, except the tests with
/// `onSQLite`.
struct EngineTrait: SuiteTrait, TestTrait, TestScoping {
    let isRecursive = true

    func provideScope(
        for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
    ) async throws {
        guard testCase != nil, ServerBench.engine == .sqlite else { return try await function() }
        try await function()
        guard PostgresCluster.isAvailable, !test.traits.contains(where: { $0 is SQLiteTrait }) else { return }
        await ServerBench.$engine.withValue(.postgreSQL) {
            do {
                try await function()
            } catch {
                Issue.record(error, "on PostgreSQL")
            }
        }
    }
}

/// Marks tests of SQLite's own features: files, query plans, its catalogue and its dialect.
struct SQLiteTrait: TestTrait, TestScoping {
    func provideScope(
        for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
    ) async throws {
        if ServerBench.engine == .sqlite { try await function() }
    }
}

extension Trait where Self == EngineTrait {
    static var onBothEngines: Self { EngineTrait() }
}

extension Trait where Self == SQLiteTrait {
    static var onSQLite: Self { SQLiteTrait() }
}

import Foundation
import SQLStorage
import StoreModel

extension EntitlementService {
    /// A server that has a ledger in a SQLite file for itself. The file is made when there is none, and closed with the
    /// server.
    ///
    ///     let service = try await EntitlementService(
    ///         ledgerAt: URL(fileURLWithPath: "ledger.sqlite"), for: .init(bundleID: "com.example.darkroom"))
    ///
    /// - Parameters:
    ///   - file: the path of the SQLite file.
    ///   - app: the app that the server answers for.
    ///   - environments: whose facts are accepted.
    ///   - configure: changes the configuration.
    /// - Throws: As `init(configuration:)`, and `SQLError` when the file cannot be opened or another process has it.
    public convenience init(
        ledgerAt file: URL, for app: Configuration.App, environments: [StoreEnvironment] = [.production, .sandbox],
        configure: (inout Configuration) throws -> Void = { _ in }
    ) async throws {
        var exclusive = SQLiteDatabase.Configuration()
        exclusive.isExclusive = true
        var configuration = Configuration(
            database: try SQLiteDatabase(path: file.path, configuration: exclusive), apps: [app],
            environments: environments)
        try configure(&configuration)
        try await self.init(configuration: configuration)
    }
}

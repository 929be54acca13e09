import Foundation
import SQLStorage
import StoreModel

extension EntitlementService {
    /// Creates a server with a ledger of its own in a SQLite file.
    ///
    /// The file is created if it does not exist. It is closed when the server is deallocated.
    ///
    ///     let service = try await EntitlementService(
    ///         ledgerAt: URL(fileURLWithPath: "ledger.sqlite"), for: .init(bundleID: "com.example.darkroom"))
    ///
    /// - Parameters:
    ///   - file: The path of the SQLite file.
    ///   - app: The app that the server answers for.
    ///   - environments: The environments whose facts are accepted.
    ///   - configure: A closure that changes the configuration.
    /// - Throws: The errors of ``init(configuration:)`` and of `configure`, and `SQLError` if the file cannot be opened or
    ///   another process uses it.
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

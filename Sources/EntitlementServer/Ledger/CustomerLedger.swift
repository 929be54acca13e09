import Foundation
import Primitives
import SQLStorage
import StoreModel

/// The customers of an app in a ledger, for tools without a server: exports and erases them as the endpoints do. Each
/// export and erasure has an entry in the audit log.
///
/// Only one process may write to a ledger in SQLite: the database must be exclusive.
package struct CustomerLedger: Sendable {
    /// The audit log names the key of an action. A command has none, so its entries have this name.
    private static let keyID = "command line"

    private let ledger: Ledger
    private let app: BundleID
    private let realClock: any WallClock
    private let makePseudonym: @Sendable () -> String

    /// Prepares a ledger that has all migrations.
    ///
    /// - Parameters:
    ///   - app: The app with the features, credits and transfer mode of the server. Only a ledger in SQLite needs them; a
    ///     shared database stores them.
    ///   - clock: The clock of the server.
    ///   - realClock: The clock of the audit log.
    ///   - makePseudonym: Creates the pseudonyms of erased customers. They must be unpredictable.
    /// - Throws: ``EntitlementServerError`` with `unknownApp` if the ledger has no such app, and with
    ///   `invalidConfiguration` if the server's answers were computed with other features.
    package init(
        of database: any SQLDatabase, app: EntitlementService.Configuration.App, clock: any WallClock,
        realClock: any WallClock, makePseudonym: @escaping @Sendable () -> String
    ) async throws {
        let rules = try database.read { connection in
            try Self.rules(of: app, isShared: database.dialect != .sqlite, connection)
        }
        self.app = app.bundleID
        self.realClock = realClock
        self.makePseudonym = makePseudonym
        ledger = Ledger(
            database: database, clock: clock, cache: AnswerCache(bytes: 0), metrics: ServerMetrics(),
            changes: ChangeSignal(clock: realClock), rules: rules)
        // A server does the same when it starts.
        try await ledger.sealOpenFacts()
        try await ledger.assignOldRedemptions()
    }

    private static func rules(
        of app: EntitlementService.Configuration.App, isShared: Bool, _ connection: any SQLConnection
    ) throws -> ActiveRules {
        let row = try connection.first(
            "SELECT rules_digest FROM app WHERE bundle_id = ?1", [.text(app.bundleID.rawValue)])
        guard let row else {
            throw EntitlementServerError(.unknownApp, "The ledger has no app \(app.bundleID).")
        }
        if isShared {
            guard let stored = try ActiveRules.stored(of: app.bundleID, connection) else {
                throw EntitlementServerError(
                    .invalidConfiguration, "The ledger has features of another version: start a server once.")
            }
            return stored
        }
        let digest: [UInt8] = try row["rules_digest"]
        guard digest == EntitlementService.rulesDigest(app.features) else {
            throw EntitlementServerError(
                .invalidConfiguration,
                "The server's answers were computed with other features, or by another version. Give the server's feature map, or start the server once."
            )
        }
        return ActiveRules(AppRules.of([app]))
    }

    /// Returns the environments that have a customer or an alias of this name.
    package func environments(of customer: CustomerID) throws -> [StoreEnvironment] {
        try [StoreEnvironment.production, .sandbox, .xcode].filter { environment in
            let key = key(customer, environment)
            if try ledger.knownName(key).isKnown { return true }
            return try ledger.database.read { connection in
                try ledger.transaction(connection, on: key.ledgerID).hasPurchaseWaiting(for: customer)
            }
        }
    }

    /// Returns the data about a customer, as `GET /v1/customers/{customer}/export` does; `nil` for an unknown one.
    package func export(_ customer: CustomerID, in environment: StoreEnvironment) async throws -> JSONValue? {
        try await ledger.export(key(customer, environment), noting: note(.export))
    }

    /// Erases a customer, as `DELETE /v1/customers/{customer}` does. Returns `nil` for an unknown or erased one.
    package func erase(_ customer: CustomerID, in environment: StoreEnvironment) async throws -> ErasedCustomer? {
        let pseudonym = CustomerID(unchecked: "erased-\(makePseudonym())")
        return try await ledger.erase(key(customer, environment), leaving: pseudonym, noting: note(.erase))
    }

    private func key(_ customer: CustomerID, _ environment: StoreEnvironment) -> CustomerKey {
        CustomerKey(ledgerID: LedgerID(app: app, environment: environment), customer: customer)
    }

    private func note(_ action: AuditAction) -> AuditNote {
        AuditNote(action: action, keyID: Self.keyID, role: .full, now: realClock.now())
    }
}

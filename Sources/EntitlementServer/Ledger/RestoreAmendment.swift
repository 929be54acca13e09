import Foundation
import Primitives
import SQLStorage
import StoreModel

/// The changes since a backup that its restore must not undo: created and revoked keys, and erased customers. They are
/// read from the replaced ledger and applied to the copy that replaces it.
///
///     try await backup.replace(path, keepingItAs: former) {
///         try RestoreAmendment(of: $0)
///     } amending: { copy, amendment in
///         changes = try await amendment?.apply(to: copy, at: Date())
///     }
package struct RestoreAmendment: Sendable {
    /// The result of an amendment.
    package struct Changes: Sendable {
        /// Keys of the replaced ledger that the backup does not have.
        package fileprivate(set) var added: [APIKeys.Entry] = []
        /// Keys that were revoked since the backup.
        package fileprivate(set) var revoked: [APIKeys.Entry] = []
        /// The number of customers that were erased from the copy of the backup.
        package fileprivate(set) var erasedCustomers = 0
        /// The number of erasures that could not be repeated, because earlier versions stored no digests of names.
        package fileprivate(set) var unknownErasures = 0
        /// Whether the replaced ledger has another origin than the backup: it was created anew, or belongs to another
        /// server. Then it does not contain the changes since the backup.
        package fileprivate(set) var isOfAnotherLedger = false
        /// Whether the replaced ledger lacks changes since the backup: it is an older state of the same ledger, it was
        /// itself restored after a loss, or it is damaged.
        package fileprivate(set) var isIncomplete = false

        package init() {}
    }

    private struct App: Sendable {
        let name: String
        let rulesDigest: [UInt8]
        let createdAt: Int64
        let tokenSecret: [UInt8]?
        let erasureSalt: [UInt8]?
    }

    private struct Key: Sendable {
        let digest: [UInt8]
        let entry: APIKeys.Entry
    }

    /// An erased customer.
    private struct ErasedCustomer: Hashable {
        let ledgerID: LedgerID
        let pseudonym: CustomerID
    }

    /// The part of an event by which two states of a ledger are compared.
    private struct NumberedEvent: Sendable {
        let sequence: Int64
        let hash: Int

        init(_ row: SQLRow) throws {
            let (customer, type, createdAt): (String, String, Int64) = (
                try row["customer"], try row["type"], try row["created_at"]
            )
            sequence = try row["sequence"]
            var hasher = Hasher()
            hasher.combine(ExactString(customer))
            hasher.combine(type)
            hasher.combine(createdAt)
            hash = hasher.finalize()
        }

        static func each(_ connection: any SQLConnection, _ body: (NumberedEvent) throws -> Void) throws {
            try connection.each("SELECT sequence, customer, type, created_at FROM event ORDER BY sequence") {
                try body(NumberedEvent($0))
            }
        }
    }

    private let apps: [App]
    private let keys: [Key]
    private let erasedNames: [ErasedName]
    private let erasedCustomers: Set<ErasedCustomer>
    private let lastEvent: Int64
    /// The last event that is marked as deleted. A restore that skips ids marks all earlier events.
    private let lastDeletedEvent: Int64
    private let lastEventBeforeDeleted: Int64
    private let events: [NumberedEvent]
    private let ledgerIDs: [LedgerID]
    private let isIntact: Bool

    /// Whether customers were erased from the replaced ledger.
    package var hasErasures: Bool { !erasedCustomers.isEmpty }

    /// Reads a migrated ledger.
    ///
    /// - Parameter isIntact: Whether the file of the ledger is undamaged.
    package init(of connection: any SQLConnection, isIntact: Bool = true) throws {
        self.isIntact = isIntact
        apps = try connection.query("SELECT * FROM app").map { row in
            App(
                name: try row["bundle_id"], rulesDigest: try row["rules_digest"], createdAt: try row["created_at"],
                tokenSecret: try row["token_secret"], erasureSalt: try row["erasure_salt"])
        }
        keys = try Self.keys(connection)
        erasedNames = try connection.query("SELECT * FROM erased_name").map(ErasedName.init)
        erasedCustomers = try Self.erasedCustomers(connection)
        lastEvent = try Self.lastEvent(connection)
        lastDeletedEvent = try connection.first("SELECT max(sequence) AS last FROM event_horizon")?["last"] ?? 0
        lastEventBeforeDeleted =
            try connection.first(
                "SELECT max(sequence) AS last FROM event WHERE sequence < ?1", [.integer(lastDeletedEvent)])?["last"]
            ?? 0
        var events: [NumberedEvent] = []
        try NumberedEvent.each(connection) { events.append($0) }
        self.events = events
        ledgerIDs = try Self.ledgerIDs(connection)
    }

    /// Migrates and amends the copy of a backup. Keys that only the backup has remain unchanged.
    ///
    /// - Parameter now: The real time. If the replaced ledger is another one or incomplete, new events get ids above
    ///   this time in milliseconds since 1970.
    package func apply(to database: SQLiteDatabase, at now: Date) async throws -> Changes {
        try database.migrate(Schema.migrations(for: database.dialect))
        let ledger = Ledger(
            database: database, clock: SystemClock(), cache: AnswerCache(bytes: 0), metrics: ServerMetrics(),
            changes: ChangeSignal(clock: SystemClock()), rules: ActiveRules([BundleID: AppRules]()))
        try await ledger.sealOpenFacts()
        let (changes, hasErased) = try await database.write { connection in
            var changes = Changes()
            changes.isOfAnotherLedger = try !hasSameOrigin(connection)
            changes.isIncomplete = try !isIntact || !hasAllChanges(connection)
            let isUnknown = changes.isOfAnotherLedger || changes.isIncomplete
            let last = isUnknown ? max(lastEvent, Self.assumedLastEvent(at: now)) : lastEvent
            // This comes before the erasures, because their events must not reuse ids.
            try Self.skipEvents(after: last, of: ledgerIDs, connection)
            try mergeKeys(connection, &changes)
            let hasErased = try repeatErasures(connection, &changes)
            return (changes, hasErased)
        }
        if hasErased { try await Ledger.compact(database) }
        return changes
    }

    /// Returns whether the replaced ledger and this backup have the same origin. Each app gets a random secret when it
    /// is first served. The secret does not change. Backups of the first version have no secret, so the times of
    /// creation are compared.
    private func hasSameOrigin(_ backup: any SQLConnection) throws -> Bool {
        return try backup.query("SELECT bundle_id, created_at, token_secret FROM app").allSatisfy { row in
            let name = ExactString(try row["bundle_id"])
            guard let app = apps.first(where: { ExactString($0.name) == name }) else { return false }
            let secret: [UInt8]? = try row["token_secret"]
            return try secret.map { $0 == app.tokenSecret } ?? (row["created_at"] == app.createdAt)
        }
    }

    /// Returns whether the replaced ledger has all changes since the backup.
    ///
    /// The result is `false` if the ledger lacks an event, key, revocation or erasure of the backup, or if an event id
    /// of the backup belongs to another event: then the ledger continued from an older state.
    ///
    /// After a restore of a ledger with an unknown last event, ids begin at `assumedLastEvent`. A backup that has only
    /// smaller ids is older than that restore. If the backup's last event is later than the last event that was
    /// restored, changes can be missing.
    private func hasAllChanges(_ backup: any SQLConnection) throws -> Bool {
        let last = try Self.lastEvent(backup)
        if last > lastEvent { return false }
        if lastEvent >= Self.firstAssumedEvent, last < max(Self.firstAssumedEvent, lastDeletedEvent),
            last > lastEventBeforeDeleted
        {
            return false
        }
        var index = 0
        var hasSameEvents = true
        try NumberedEvent.each(backup) { event in
            while index < events.count, events[index].sequence < event.sequence { index += 1 }
            if index < events.count, events[index].sequence == event.sequence, events[index].hash != event.hash {
                hasSameEvents = false
            }
        }
        guard hasSameEvents else { return false }
        let revokedKeys = Dictionary(uniqueKeysWithValues: keys.map { ($0.digest, $0.entry.revokedAt != nil) })
        let hasAllKeys = try Self.keys(backup).allSatisfy { key in
            revokedKeys[key.digest].map { $0 || key.entry.revokedAt == nil } ?? false
        }
        let names = Set(erasedNames)
        return try hasAllKeys
            && backup.query("SELECT * FROM erased_name").map(ErasedName.init).allSatisfy(names.contains)
    }

    // MARK: - Events

    /// The smallest result of `assumedLastEvent`: milliseconds in 2001. No ledger has so many events.
    private static let firstAssumedEvent: Int64 = 1_000_000_000_000

    /// Migrates the copy of a backup that replaces an unreadable ledger, and skips event ids: the ledger may have used
    /// them.
    ///
    /// - Parameter now: The real time. New events get ids above this time in milliseconds since 1970.
    package static func skipUnknownEvents(in database: SQLiteDatabase, at now: Date) async throws {
        try database.migrate(Schema.migrations(for: database.dialect))
        try await database.write { connection in
            try skipEvents(after: assumedLastEvent(at: now), of: ledgerIDs(connection), connection)
        }
    }

    /// Returns an unused event id if the used ones are unknown: the milliseconds since 1970. It is unused because a
    /// ledger has far less than one event per millisecond, even after an earlier restore of this kind.
    private static func assumedLastEvent(at now: Date) -> Int64 { now.milliseconds }

    /// Returns the id of the last event, even if that event was deleted.
    private static func lastEvent(_ connection: any SQLConnection) throws -> Int64 {
        let row = try connection.first("SELECT seq FROM sqlite_sequence WHERE name = 'event'")
        return try row?["seq"] ?? 0
    }

    private static func ledgerIDs(_ connection: any SQLConnection) throws -> [LedgerID] {
        try connection.query("SELECT DISTINCT app, environment FROM customer").map { row in
            LedgerID(
                app: BundleID(unchecked: try row["app"]),
                environment: StoreEnvironment(rawValue: try row["environment"]))
        }
    }

    /// Makes the next event id greater than `last`, and marks all earlier events as deleted, so that streams which
    /// continue after a lost event are notified. Changes nothing if no event was lost.
    private static func skipEvents(after last: Int64, of ledgerIDs: [LedgerID], _ connection: any SQLConnection) throws
    {
        let present = try lastEvent(connection)
        guard last > present, last < .max else { return }
        let next = SQLValue.integer(last + 1)
        let changed = try connection.execute("UPDATE sqlite_sequence SET seq = ?1 WHERE name = 'event'", [next])
        if changed == 0 {
            try connection.perform("INSERT INTO sqlite_sequence (name, seq) VALUES ('event', ?1)", [next])
        }
        for ledgerID in Set(try ledgerIDs + Self.ledgerIDs(connection)) {
            try connection.perform(
                """
                INSERT INTO event_horizon (app, environment, sequence) VALUES (?1, ?2, ?3)
                ON CONFLICT (environment, app) DO UPDATE SET sequence = excluded.sequence
                """, [.text(ledgerID.app.rawValue), .text(ledgerID.environment.rawValue), next])
        }
    }

    // MARK: - Keys

    private static func keys(_ connection: any SQLConnection) throws -> [Key] {
        try connection.query("SELECT \(APIKeys.columns) FROM api_key").map { row in
            Key(digest: try row["digest"], entry: try APIKeys.entry(row))
        }
    }

    private func mergeKeys(_ connection: any SQLConnection, _ changes: inout Changes) throws {
        for app in apps {
            try connection.perform(
                """
                INSERT INTO app (bundle_id, rules_digest, created_at, token_secret, erasure_salt)
                VALUES (?1, ?2, ?3, ?4, ?5)
                ON CONFLICT (bundle_id) DO UPDATE SET erasure_salt = coalesce(app.erasure_salt, excluded.erasure_salt)
                """,
                [
                    .text(app.name), .blob(app.rulesDigest), .integer(app.createdAt), SQLValue(app.tokenSecret),
                    SQLValue(app.erasureSalt),
                ])
        }
        let present = Dictionary(
            uniqueKeysWithValues: try Self.keys(connection).map { ($0.digest, $0.entry.revokedAt != nil) })
        for key in keys {
            let (entry, revokedAt) = (key.entry, SQLValue(key.entry.revokedAt?.milliseconds))
            switch present[key.digest] {
            case nil:
                try connection.perform(
                    """
                    INSERT INTO api_key (digest, app, kind, created_at, label, revoked_at)
                    VALUES (?1, ?2, ?3, ?4, ?5, ?6)
                    """,
                    [
                        .blob(key.digest), .text(entry.bundleID.rawValue), .text(entry.kind.rawValue),
                        .integer(entry.createdAt.milliseconds), SQLValue(entry.label), revokedAt,
                    ])
                changes.added.append(entry)
            case false? where entry.revokedAt != nil:
                try connection.perform(
                    "UPDATE api_key SET revoked_at = ?2 WHERE digest = ?1", [.blob(key.digest), revokedAt])
                changes.revoked.append(entry)
            default: break
            }
        }
    }

    // MARK: - Erasures

    private static func erasedCustomers(_ connection: any SQLConnection) throws -> Set<ErasedCustomer> {
        Set(
            try connection.query("SELECT app, environment, id FROM customer WHERE erased_at IS NOT NULL").map { row in
                ErasedCustomer(
                    ledgerID: LedgerID(
                        app: BundleID(unchecked: try row["app"]),
                        environment: StoreEnvironment(rawValue: try row["environment"])),
                    pseudonym: CustomerID(unchecked: try row["id"]))
            })
    }

    /// Erases from the copy the customers that were erased since the backup. Returns whether any data was removed.
    private func repeatErasures(_ connection: any SQLConnection, _ changes: inout Changes) throws -> Bool {
        let before = Set(try connection.query("SELECT * FROM erased_name").map(ErasedName.init))
        let since = erasedNames.filter { !before.contains($0) }
        let erasedWithoutNames = erasedCustomers.subtracting(
            erasedNames.map { ErasedCustomer(ledgerID: $0.ledgerID, pseudonym: $0.pseudonym) })
        changes.unknownErasures = erasedWithoutNames.subtracting(try Self.erasedCustomers(connection)).count
        var deletedKeys = 0
        for (ledgerID, names) in Dictionary(grouping: since, by: \.ledgerID) {
            let index = ErasedNames(names)
            for (customer, name) in try index.customers(of: ledgerID, connection) {
                try Self.erase(customer, as: name, connection)
                changes.erasedCustomers += 1
            }
            for (token, name) in try index.tokens(in: ledgerID, connection) {
                var transaction = LedgerTransaction(
                    connection, ledgerID: ledgerID, rules: ActiveRules.Entry(), now: name.erasedAt)
                guard try transaction.tokenOwner(of: token) == nil else { continue }
                let customer = try transaction.register(CustomerID(unchecked: token.wireText))
                for other in transaction.affected where other != customer {
                    try connection.execute(
                        "UPDATE customer SET valid_until = 0 WHERE app = ?1 AND environment = ?2 AND id = ?3",
                        transaction.values(.text(other.rawValue)))
                }
                try Self.erase(customer, as: name, connection)
                changes.erasedCustomers += 1
            }
            for customer in try index.requesters(in: ledgerID, connection) {
                deletedKeys += try IdempotentRequest.delete(customer, of: ledgerID, connection)
            }
            for name in names { try name.keep(connection) }
        }
        return changes.erasedCustomers + deletedKeys > 0
    }

    private static func erase(_ customer: CustomerID, as name: ErasedName, _ connection: any SQLConnection) throws {
        let pseudonym = try unused(name.pseudonym, in: name.ledgerID, connection)
        var transaction = LedgerTransaction(
            connection, ledgerID: name.ledgerID, rules: ActiveRules.Entry(), now: name.erasedAt)
        _ = try transaction.erase(customer, leaving: pseudonym)
        try connection.execute(
            """
            UPDATE customer SET answer = ?4, etag = '', content_digest = ?4, valid_from = 0, valid_until = 0
            WHERE app = ?1 AND environment = ?2 AND id = ?3
            """, transaction.values(.text(pseudonym.rawValue), .blob([])))
    }

    /// Returns the pseudonym, with a suffix if it is used. Two customers of a backup get the same pseudonym if they
    /// were merged after the backup and erased later.
    private static func unused(
        _ pseudonym: CustomerID, in ledgerID: LedgerID, _ connection: any SQLConnection
    ) throws -> CustomerID {
        var (name, number) = (pseudonym.rawValue, 1)
        while try connection.first(
            "SELECT 1 AS one FROM customer WHERE app = ?1 AND environment = ?2 AND id = ?3",
            [.text(ledgerID.app.rawValue), .text(ledgerID.environment.rawValue), .text(name)]) != nil
        {
            number += 1
            name = "\(pseudonym)-\(number)"
        }
        return CustomerID(unchecked: name)
    }
}

/// The names of erased customers, found by their digests.
private struct ErasedNames {
    private let bySalt: [[UInt8]: [[UInt8]: ErasedName]]

    init(_ names: [ErasedName]) {
        bySalt = Dictionary(grouping: names, by: \.salt).mapValues { names in
            Dictionary(names.map { ($0.digest, $0) }) { $1 }
        }
    }

    private func erased(_ name: String) -> ErasedName? {
        for (salt, digests) in bySalt {
            if let erased = digests[ErasedName.digest(of: name, salt)] { return erased }
        }
        return nil
    }

    /// Returns the customers with one of the names, each once.
    func customers(of ledgerID: LedgerID, _ connection: any SQLConnection) throws -> [(CustomerID, ErasedName)] {
        var found: [CustomerID: ErasedName] = [:]
        for names in [
            "SELECT id AS name, id AS customer FROM customer WHERE app = ?1 AND environment = ?2 AND erased_at IS NULL",
            "SELECT alias AS name, customer FROM alias WHERE app = ?1 AND environment = ?2",
        ] {
            try connection.each(names, Self.values(ledgerID)) { row in
                guard let erased = erased(try row["name"]) else { return }
                found[CustomerID(unchecked: try row["customer"])] = erased
            }
        }
        return found.sorted { $0.key < $1.key }
    }

    /// Returns the tokens of erased customers that facts contain.
    func tokens(in ledgerID: LedgerID, _ connection: any SQLConnection) throws -> [(UUID, ErasedName)] {
        var found: [(UUID, ErasedName)] = []
        try connection.each(
            """
            SELECT DISTINCT app_account_token AS token FROM fact
            WHERE app = ?1 AND environment = ?2 AND app_account_token IS NOT NULL
            """, Self.values(ledgerID)
        ) { row in
            let text: String = try row["token"]
            if let token = UUID(text: text), let erased = erased(text) { found.append((token, erased)) }
        }
        return found
    }

    /// Returns the erased names for which answers are stored.
    func requesters(in ledgerID: LedgerID, _ connection: any SQLConnection) throws -> [CustomerID] {
        var found: [CustomerID] = []
        try connection.each(
            """
            SELECT customer AS name FROM idempotency_key WHERE app = ?1 AND environment = ?2
            UNION SELECT asker FROM idempotency_key WHERE app = ?1 AND environment = ?2
            """, Self.values(ledgerID)
        ) { row in
            let name: String = try row["name"]
            if erased(name) != nil { found.append(CustomerID(unchecked: name)) }
        }
        return found
    }

    private static func values(_ ledgerID: LedgerID) -> [SQLValue] {
        [.text(ledgerID.app.rawValue), .text(ledgerID.environment.rawValue)]
    }
}

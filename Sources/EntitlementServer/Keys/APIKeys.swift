import Foundation
import Primitives
import SQLStorage
import StoreModel

/// The API keys of a ledger. They can be managed while a server runs: it caches a key for a second at most.
///
///     let keys = APIKeys(database: database)
///     let (entry, key) = try await keys.create(.secret, for: "com.example.darkroom", label: "backend")
///     try await keys.revoke(entry.id)
///
/// The ledger keeps only digests: a key can be read only when it is created.
package struct APIKeys: Sendable {
    /// One key, without the secret itself.
    package struct Entry: Sendable, Hashable {
        /// The beginning of the key's digest, which identifies the key in lists and logs.
        package let id: String
        package let bundleID: BundleID
        package let kind: KeyKind
        /// The name that the creator gave the key.
        package let label: String?
        package let createdAt: Date
        package let revokedAt: Date?
        /// The last stored use; `nil` if there is none. Servers store the uses once a minute.
        package var usedAt: Date?
    }

    private let database: any SQLDatabase
    private let clock: any WallClock
    private let randomBytes: @Sendable (Int) -> [UInt8]

    /// Creates a list of keys over a migrated ledger. `randomBytes` must be unpredictable.
    package init(
        database: any SQLDatabase, clock: any WallClock = SystemClock(),
        randomBytes: @escaping @Sendable (Int) -> [UInt8] = KeyText.randomBytes
    ) {
        self.database = database
        self.clock = clock
        self.randomBytes = randomBytes
    }

    /// Creates a key for an app of the ledger, with a label of at most 100 bytes.
    ///
    /// - Parameter save: Receives the key before it becomes valid.
    /// - Throws: The error of `save`, in which case no key is created, and `EntitlementServerError` with `unknownApp`
    ///   if no server served the app from this ledger, or `invalidConfiguration` for the label.
    @discardableResult
    package func create(
        _ kind: KeyKind, for bundleID: BundleID, label: String? = nil,
        save: (Entry, String) throws -> Void = { _, _ in }
    ) async throws -> (entry: Entry, key: String) {
        let apps = try self.apps()
        guard apps.contains(bundleID) else {
            let present = apps.isEmpty ? "no app yet" : "only " + apps.map(\.rawValue).joined(separator: ", ")
            throw EntitlementServerError(
                .unknownApp,
                "The ledger has \(present), but not \(bundleID). Start a server for that app once, and try again.")
        }
        if let label, label.utf8.count > 100 || label.isEmpty || label.unicodeScalars.contains(where: { $0.value < 32 })
        {
            throw EntitlementServerError(
                .invalidConfiguration, "A label must have 1 to 100 bytes without control characters.")
        }
        let key = KeyText.make(kind, from: randomBytes(32))
        let digest = SHA256.hash(key.utf8)
        let now = clock.now().wholeMillisecond
        let entry = Entry(
            id: Self.id(of: digest), bundleID: bundleID, kind: kind, label: label, createdAt: now, revokedAt: nil)
        try save(entry, key)
        try await database.write { connection in
            try connection.perform(
                "INSERT INTO api_key (digest, app, kind, created_at, label) VALUES (?1, ?2, ?3, ?4, ?5)",
                [
                    .blob(digest), .text(bundleID.rawValue), .text(kind.rawValue), .integer(now.milliseconds),
                    label.map { .text($0) } ?? .null,
                ])
        }
        return (entry, key)
    }

    /// Returns the keys of an app, or of all apps, oldest first. Revoked keys are included.
    package func list(of bundleID: BundleID? = nil) throws -> [Entry] {
        try (bundleID.map { [$0] } ?? apps()).flatMap { app in
            try database.read { connection in
                try connection.query("SELECT \(Self.columns) FROM api_key WHERE app = ?1", [.text(app.rawValue)])
                    .map(Self.entry)
            }
        }.sorted { ($0.createdAt, $0.id) < ($1.createdAt, $1.id) }
    }

    /// Revokes a key. Within a second, servers refuse the key and end its streams. A key that was revoked before keeps
    /// its date of revocation.
    ///
    /// - Throws: `EntitlementServerError` with `unknownKey` if no key, or more than one, has this id.
    @discardableResult
    package func revoke(_ id: String) async throws -> Entry {
        let unknown = EntitlementServerError(.unknownKey, "No key has the id \(id); souk keys list shows them all.")
        guard let first = Hex.decode(id), first.count == Self.idLength else { throw unknown }
        let last = first + Array(repeating: 0xFF, count: 32 - first.count)
        let now = clock.now().milliseconds
        return try await database.write { connection in
            let range: [SQLValue] = [.blob(first), .blob(last)]
            let rows = try connection.query(
                "SELECT \(Self.columns) FROM api_key WHERE digest >= ?1 AND digest <= ?2", range)
            guard rows.count == 1, let row = rows.first else { throw unknown }
            try connection.perform(
                "UPDATE api_key SET revoked_at = ?2 WHERE digest = ?1 AND revoked_at IS NULL",
                [.blob(try row["digest"]), .integer(now)])
            let stored = try Self.entry(row)
            return Entry(
                id: stored.id, bundleID: stored.bundleID, kind: stored.kind, label: stored.label,
                createdAt: stored.createdAt, revokedAt: stored.revokedAt ?? Date(milliseconds: now),
                usedAt: stored.usedAt)
        }
    }

    private func apps() throws -> [BundleID] {
        try database.read { connection in
            try connection.query("SELECT bundle_id FROM app WHERE bundle_id > '' ORDER BY bundle_id").map { row in
                BundleID(unchecked: try row["bundle_id"])
            }
        }
    }

    static let columns = "digest, app, kind, label, created_at, revoked_at, used_at"
    private static let idLength = 8

    /// Returns the beginning of a key's digest, which identifies the key in lists and logs.
    static func id(of digest: [UInt8]) -> String { Hex.encode(digest.prefix(idLength)) }

    static func entry(_ row: SQLRow) throws -> Entry {
        guard let kind = KeyKind(rawValue: try row["kind"]) else {
            throw EntitlementServerError(.internalInconsistency, "An API key in the ledger has an unknown kind.")
        }
        let (revokedAt, usedAt): (Int64?, Int64?) = (try row["revoked_at"], try row["used_at"])
        return Entry(
            id: id(of: try row["digest"]), bundleID: BundleID(unchecked: try row["app"]), kind: kind,
            label: try row["label"], createdAt: Date(milliseconds: try row["created_at"]),
            revokedAt: revokedAt.map(Date.init(milliseconds:)), usedAt: usedAt.map(Date.init(milliseconds:)))
    }
}

/// The format of keys: a prefix that shows the kind to a person who finds the key, and 32 unpredictable bytes.
package enum KeyText {
    /// Returns unpredictable bytes of the system.
    @Sendable package static func randomBytes(_ count: Int) -> [UInt8] {
        var source = SystemRandomNumberGenerator()
        return (0..<count).map { _ in UInt8.random(in: .min ... .max, using: &source) }
    }

    static func make(_ kind: KeyKind, from random: [UInt8]) -> String {
        "souk_\(kind.rawValue)_" + Base64.encodeURL(random)
    }
}

import Foundation
import Primitives
import SQLStorage
import StoreModel

/// The rights of an API key.
package enum KeyKind: String, Sendable, CaseIterable {
    /// Ships in apps: may present purchases, validate receipts, and read a customer and price points. With the
    /// customer's token it may also merge anonymous ids, read credit, and redeem credit and codes. An app can require
    /// the token for all of this.
    case `public`
    /// Stays on servers: may do everything in its app.
    case secret
}

/// The sender of a request: an app, with the rights of one of its keys.
struct Caller: Sendable, Equatable {
    let app: BundleID
    let kind: KeyKind
    /// The SHA-256 of the key, which distinguishes it from the app's other keys.
    let keyDigest: [UInt8]
}

/// The first two keys of an app. The ledger keeps only their SHA-256, so they cannot be read again.
public struct IssuedKeys: Sendable, CustomStringConvertible {
    /// The bundle id of the app.
    public let bundleID: BundleID
    /// The key for apps and devices.
    public let publicKey: String
    /// The key for the app's own servers.
    public let secretKey: String

    /// A description without the keys, because descriptions are logged.
    public var description: String { "keys of \(bundleID)" }
}

/// The API keys of all apps, by their digest.
final class KeyRing: Sendable {
    /// The time for which a key is cached. The ledger is read again afterwards, since the key may have been revoked.
    static let cacheLifetime = Duration.seconds(1)

    private let database: any SQLDatabase
    /// The replica that is read if the database fails.
    private let standby: (any SQLDatabase)?
    private let clock: MonotonicClock
    private let realClock: any WallClock
    /// The last use of each key, by its digest, since `storeUses` was called last.
    private let uses = Locked<[[UInt8]: Date]>([:])
    /// The verified keys by their hash. The hash has another seed in each process, so the time of a lookup reveals
    /// nothing about a key to a sender.
    private let cache = Locked<[Int: CachedKey]>([:])

    private struct CachedKey {
        let key: [UInt8]
        let caller: Caller
        let since: ContinuousClock.Instant
    }

    init(
        database: any SQLDatabase, standby: (any SQLDatabase)? = nil, clock: MonotonicClock,
        realClock: any WallClock = SystemClock()
    ) {
        self.realClock = realClock
        self.database = database
        self.standby = standby
        self.clock = clock
    }

    /// Returns the app and rights of a key, or `nil` for an unknown or revoked key.
    ///
    /// Finds the key by a hash or digest and compares it in constant time, so that the time of a request reveals
    /// nothing about other keys.
    func caller(presenting key: String) throws -> Caller? {
        guard key.utf8.count <= 512 else { return nil }
        var key = key
        let hash = key.hashValue
        let now = clock.now
        if let cached = cache.withLock({ $0[hash] }), key.withUTF8({ Self.isSame(cached.key, $0) }),
            now - cached.since < Self.cacheLifetime
        {
            return cached.caller
        }
        let digest = SHA256.hash(key.utf8)
        let row = try read { connection in
            try connection.first(
                "SELECT digest, app, kind FROM api_key WHERE digest = ?1 AND revoked_at IS NULL", [.blob(digest)])
        }
        guard let row, try digest.withUnsafeBufferPointer({ Self.isSame(try row["digest"], $0) }),
            let kind = KeyKind(rawValue: try row["kind"]), let app = BundleID(rawValue: try row["app"])
        else {
            cache.withLock { $0[hash] = nil }
            return nil
        }
        let caller = Caller(app: app, kind: kind, keyDigest: digest)
        cache.withLock { $0[hash] = CachedKey(key: Array(key.utf8), caller: caller, since: now) }
        noteUse(of: digest)
        return caller
    }

    /// Notes the use of a key in memory. `caller(presenting:)` skips this for a cached key, whose use was noted within
    /// the last second.
    private func noteUse(of digest: [UInt8]) {
        let now = realClock.now()
        uses.withLock { $0[digest] = now }
    }

    /// Stores the last uses since the previous call. Call it once a minute, so that requests need not store them.
    func storeUses() async throws {
        let taken = uses.withLock { uses in
            defer { uses = [:] }
            return uses
        }
        guard !taken.isEmpty else { return }
        // All servers lock the rows in this order.
        let ordered = taken.sorted { $0.key.lexicographicallyPrecedes($1.key) }
        do {
            try await database.write { connection in
                for (digest, date) in ordered {
                    try connection.perform(
                        "UPDATE api_key SET used_at = ?2 WHERE digest = ?1 AND (used_at IS NULL OR used_at < ?2)",
                        [.blob(digest), .integer(date.milliseconds)])
                }
            }
        } catch {
            uses.withLock { $0.merge(taken) { max($0, $1) } }
            throw error
        }
    }

    /// Returns the last uses of the valid keys of apps, including uses that are not stored yet, newest first.
    ///
    /// - Parameter limit: The largest number of keys. Keys without a known use are left out.
    func lastUses(of apps: [BundleID], limit: Int) throws -> [(id: String, at: Date)] {
        let rows = try database.read { connection in
            try apps.flatMap { app in
                try connection.query(
                    "SELECT digest, used_at FROM api_key WHERE app = ?1 AND revoked_at IS NULL", [.text(app.rawValue)])
            }
        }
        let recent = uses.withLock { $0 }
        let known = try rows.compactMap { row -> (id: String, at: Date)? in
            let (digest, stored): ([UInt8], Int64?) = (try row["digest"], try row["used_at"])
            let dates = [stored.map { Date(milliseconds: $0) }, recent[digest]].compactMap(\.self)
            return dates.max().map { (APIKeys.id(of: digest), $0) }
        }
        return Array(known.sorted { ($1.at, $0.id) < ($0.at, $1.id) }.prefix(limit))
    }

    private func read<T: Sendable>(_ body: (any SQLConnection) throws -> T) throws -> T {
        do {
            return try database.read(body)
        } catch let error as SQLError {
            guard let standby, let value = try? standby.read(body) else { throw error }
            return value
        }
    }

    /// Returns whether the key of `caller` still has its rights. Reads the ledger each time.
    func admits(_ caller: Caller) throws -> Bool {
        let isAdmitted = try database.read { connection in
            try connection.first(
                "SELECT app, kind FROM api_key WHERE digest = ?1 AND revoked_at IS NULL", [.blob(caller.keyDigest)]
            ).map { row in
                try row["app"] == caller.app.rawValue && row["kind"] == caller.kind.rawValue
            } ?? false
        }
        if isAdmitted { noteUse(of: caller.keyDigest) }
        return isAdmitted
    }

    /// Returns the configured apps without keys.
    func appsWithoutKeys(among apps: [BundleID]) throws -> [BundleID] {
        try database.read { connection in
            try apps.filter { app in
                try connection.first("SELECT 1 AS one FROM api_key WHERE app = ?1 LIMIT 1", [.text(app.rawValue)])
                    == nil
            }
        }
    }

    /// Stores the first keys of apps. Leaves out apps that meanwhile got keys from another server.
    ///
    /// - Returns: The stored keys.
    func insert(_ keys: [IssuedKeys], at now: Date) async throws -> [IssuedKeys] {
        try await database.write { connection in
            var inserted: [IssuedKeys] = []
            for app in keys.map(\.bundleID).sorted() {
                try connection.lockRows("SELECT 1 FROM app WHERE bundle_id = ?1", [.text(app.rawValue)])
            }
            for issued in keys {
                let app: [SQLValue] = [.text(issued.bundleID.rawValue)]
                guard try connection.first("SELECT 1 AS one FROM api_key WHERE app = ?1 LIMIT 1", app) == nil else {
                    continue
                }
                inserted.append(issued)
                for (key, kind) in [(issued.publicKey, KeyKind.public), (issued.secretKey, .secret)] {
                    try connection.perform(
                        "INSERT INTO api_key (digest, app, kind, created_at) VALUES (?1, ?2, ?3, ?4)",
                        [
                            .blob(SHA256.hash(key.utf8)), .text(issued.bundleID.rawValue), .text(kind.rawValue),
                            .integer(now.milliseconds),
                        ])
                }
            }
            return inserted
        }
    }

    private static func isSame(_ left: [UInt8], _ right: UnsafeBufferPointer<UInt8>) -> Bool {
        left.withUnsafeBufferPointer { left in
            guard left.count == right.count else { return false }
            return left.indices.reduce(UInt8(0)) { $0 | (left[$1] ^ right[$1]) } == 0
        }
    }
}

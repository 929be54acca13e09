import Foundation
import StoreModel

/// The gauges of the keys and of the database.
enum LedgerGauges {
    /// The largest number of keys with a value: the most recently used ones. Each key is a time series.
    static let keyLimit = 100

    /// Returns the gauges of a server.
    static func all(keys: KeyRing, apps: [BundleID], ledger: Ledger) -> [ServerMetrics.Gauge] {
        [
            .init(
                name: "souk_key_last_use_timestamp_seconds",
                help: "Time of the last use of a valid API key, by its id.", label: "key"
            ) {
                try keys.lastUses(of: apps, limit: keyLimit).map { ($0.id, $0.at.timeIntervalSince1970) }
            },
            .init(name: "souk_database_bytes", help: "Size of the database, with all apps.") {
                value(try ledger.databaseBytes())
            },
            .init(name: "souk_database_free_bytes", help: "Free space on the disk of a SQLite database.") {
                value(ledger.freeBytes)
            },
        ]
    }

    private static func value(_ bytes: Int64?) -> [(label: String, value: Double)] {
        bytes.map { [("", Double($0))] } ?? []
    }
}

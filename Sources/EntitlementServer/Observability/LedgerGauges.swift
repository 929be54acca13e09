import Foundation
import SQLStorage
import StoreModel

/// The gauges of the keys, the database, the cache and the background jobs.
enum LedgerGauges {
    /// The largest number of keys with a value: the most recently used ones. Each key is a time series.
    static let keyLimit = 100

    /// Returns the gauges of a server.
    static func all(keys: KeyRing, apps: [BundleID], ledgers: [LedgerID], ledger: Ledger) -> [ServerMetrics.Gauge] {
        let pool = ledger.database as? any ConnectionPool
        return [
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
            .init(name: "souk_database_queued_writes", help: "Writes that wait for the database.") {
                value(
                    ((ledger.database as? SQLiteDatabase)?.queuedWrites ?? pool?.poolUsage.queuedWrites).map(Int64.init)
                )
            },
            .init(name: "souk_database_connections", help: "Open connections to PostgreSQL.") {
                value((pool?.poolUsage.openConnections).map(Int64.init))
            },
            .init(name: "souk_database_connections_in_use", help: "Connections on which a read or a write runs.") {
                value((pool?.poolUsage.connectionsInUse).map(Int64.init))
            },
            .init(name: "souk_answer_cache_bytes", help: "Memory of the cached answers.") {
                value(Int64(ledger.cache.usage.bytes))
            },
            .init(name: "souk_answer_cache_hits_total", help: "Answers found in the cache.", kind: .counter) {
                value(Int64(clamping: ledger.cache.usage.hits))
            },
            .init(name: "souk_answer_cache_misses_total", help: "Answers not found in the cache.", kind: .counter) {
                value(Int64(clamping: ledger.cache.usage.misses))
            },
            .init(
                name: "souk_last_notification_timestamp_seconds",
                help: "Time of the last notification of the App Store, by app and environment.", label: "ledger"
            ) {
                try ledgers.compactMap { ledgerID in
                    try ledger.lastNotificationAt(in: ledgerID).map { (ledgerID.label, $0.timeIntervalSince1970) }
                }
            },
            .init(name: "souk_figures_lag_facts", help: "Facts that the figures do not count yet, up to 10000.") {
                value(try ledger.factsWithoutFigures(upTo: 10_000))
            },
        ]
    }

    private static func value(_ bytes: Int64?) -> [(label: String, value: Double)] {
        bytes.map { [("", Double($0))] } ?? []
    }
}

extension LedgerID {
    /// The value of the label `ledger` in metrics.
    fileprivate var label: String { "\(app)/\(environment.rawValue)" }
}

import Primitives
import SQLStorage
import StoreModel

/// Adds new facts to the daily sums of the figures, in the order of their numbers.
///
/// Each step reads the purchases that a few new facts belong to, and those that replaced them or that they replaced. For
/// each of them it computes the contributions without and with the new facts, and adds the difference to the sums. The
/// sums and the number of the last fact are written in one transaction, so a fact counts once, even after a crash or if
/// two servers run the job. A request with purchases computes no sums. On SQLite it can wait for the short transaction of
/// a step.
///
/// On PostgreSQL a fact can be committed after another one with a greater number. So a step first reads the last number
/// and then takes a transaction id. This id is greater than that of every transaction that took a number up to the last
/// one for a fact. The step continues when all transactions with a smaller id have ended.
final class FigureAggregator: Sendable {
    /// The version of the definitions. Increase it when changed code computes other contributions from the same facts:
    /// then all sums are computed again. A server with an earlier version does not change the sums.
    static let version: Int64 = 4
    /// The largest number of facts in one step. It is limited because writes on SQLite wait for the step's transaction.
    private let batchSize: Int64

    /// The number of a fact, and a transaction id above those of all transactions that wrote facts up to this number.
    private struct Horizon: Sendable {
        let last: Int64
        let transaction: Int64
        var isComplete = false
    }

    private let database: any SQLDatabase
    private let horizon = Locked<Horizon?>(nil)

    init(database: any SQLDatabase, batchSize: Int64 = 100) {
        self.database = database
        self.batchSize = batchSize
    }

    /// Adds the next facts. Returns whether there are more.
    func step() async throws -> Bool {
        let row = try await database.lookup(
            """
            SELECT version, position, (SELECT sequence FROM fact WHERE sequence > figure_position.position
                ORDER BY sequence DESC LIMIT 1) AS last
            FROM figure_position WHERE id = 1
            """, [])
        guard let row else { return false }
        let (version, position, last): (Int64, Int64, Int64?) = (
            try row["version"], try row["position"], try row["last"]
        )
        guard version <= Self.version else { return false }
        guard version == Self.version else { return try await startAgain() }
        guard let last, let end = try await completeEnd(after: position, last) else { return false }
        let batch = try await database.readAsync { [batchSize] connection in
            try FigureBatch(after: position, upTo: end, limit: batchSize, connection)
        }
        try await database.write { connection in
            try connection.lockRows("SELECT 1 FROM figure_position WHERE id = 1", [])
            try batch.write(connection)
        }
        return batch.position < last
    }

    /// Deletes the sums of an earlier version, and begins again with the first fact.
    private func startAgain() async throws -> Bool {
        try await database.write { connection in
            try connection.lockRows("SELECT 1 FROM figure_position WHERE id = 1", [])
            let values: [SQLValue] = [.integer(Self.version)]
            guard
                try connection.first("SELECT 1 AS one FROM figure_position WHERE id = 1 AND version < ?1", values)
                    != nil
            else { return }
            try connection.perform("DELETE FROM figure", [])
            try connection.perform("UPDATE figure_position SET version = ?1, position = 0 WHERE id = 1", values)
        }
        return true
    }

    /// Returns the number of a fact up to which no fact can appear any more; `nil` while a transaction could still
    /// commit one.
    private func completeEnd(after position: Int64, _ last: Int64) async throws -> Int64? {
        guard database.dialect == .postgreSQL else { return last }
        var current = horizon.withLock(\.self)
        if current.map({ $0.last <= position }) ?? true {
            current = try await database.write { connection in
                // The order matters: the id has to be taken after the number was read. A transaction takes its id when
                // it locks the purchase, and so before it takes the number of a fact.
                let fact = try connection.first(
                    "SELECT sequence FROM fact WHERE sequence > ?1 ORDER BY sequence DESC LIMIT 1",
                    [.integer(position)])
                guard let fact, let id = try connection.first("SELECT txid_current() AS id", []) else { return nil }
                return Horizon(last: try fact["sequence"], transaction: try id["id"])
            }
        }
        guard var found = current else { return nil }
        if !found.isComplete {
            let row = try await database.lookup(
                "SELECT txid_snapshot_xmin(txid_current_snapshot()) AS oldest", [])
            found.isComplete = try row.map { try $0["oldest"] >= found.transaction } ?? false
        }
        let horizonNow = found
        horizon.withLock { $0 = horizonNow }
        return found.isComplete ? found.last : nil
    }
}

/// The changes of the sums that follow from some facts.
struct FigureBatch: Sendable {
    /// The last fact that the sums contain, before and after this batch.
    private let former: Int64
    let position: Int64
    private let changes: [LedgerID: FigureSums]

    /// Computes the changes that follow from the facts after `former` up to `end`, at most `limit` facts.
    init(after former: Int64, upTo end: Int64, limit: Int64, _ connection: any SQLConnection) throws {
        let facts = try connection.query(
            """
            SELECT sequence, app, environment, original_transaction_id FROM fact
            WHERE sequence > ?1 AND sequence <= ?2 ORDER BY sequence LIMIT ?3
            """, [.integer(former), .integer(end), .integer(limit)])
        let last: Int64? = try facts.last.map { try $0["sequence"] }
        let position = facts.count < limit ? end : last ?? end
        let purchases = Set(
            try facts.map { row in
                FigureChains.Purchase(
                    ledgerID: try LedgerID(row), original: TransactionID(unchecked: try row["original_transaction_id"]))
            })
        let chains = try FigureChains(of: purchases, after: former, upTo: position, connection)
        self.former = former
        self.position = position
        changes = chains.changes
    }

    /// Adds the changes to the sums. Does nothing if another server has added them.
    func write(_ connection: any SQLConnection) throws {
        let current = try connection.first(
            "SELECT 1 AS one FROM figure_position WHERE id = 1 AND version = ?1 AND position = ?2",
            [.integer(FigureAggregator.version), .integer(former)])
        guard current != nil else { return }
        for (ledgerID, sums) in changes {
            for (key, value) in sums.values {
                try connection.perform(
                    """
                    INSERT INTO figure (app, environment, measure, day, age, product, country, source, offer,
                        currency, high, value)
                    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)
                    ON CONFLICT (app, environment, measure, day, age, product, country, source, offer, currency)
                    DO UPDATE SET
                        high = figure.high + excluded.high + (figure.value + excluded.value) / \(FigureValue.base),
                        value = (figure.value + excluded.value) % \(FigureValue.base)
                    """, ledgerID.values + key.values + [.integer(value.high), .integer(value.low)])
            }
        }
        try connection.perform("UPDATE figure_position SET position = ?1 WHERE id = 1", [.integer(position)])
    }
}

extension LedgerID {
    /// Reads the columns `app` and `environment`.
    init(_ row: SQLRow) throws {
        self.init(
            app: BundleID(unchecked: try row["app"]), environment: StoreEnvironment(rawValue: try row["environment"]))
    }
}

extension FigureKey {
    /// The values of the columns after `app` and `environment`.
    fileprivate var values: [SQLValue] {
        [.text(measure.rawValue), .integer(day), .integer(age)]
            + [product, country, source, offer, currency].map { .text($0.rawValue) }
    }

    /// Reads a row of `figure`; `nil` for a measure of another version.
    init?(_ row: SQLRow) throws {
        guard let measure = FigureMeasure(rawValue: try row["measure"]) else { return nil }
        self.init(
            measure, day: try row["day"], age: try row["age"], product: ExactString(try row["product"] as String),
            country: ExactString(try row["country"] as String), source: ExactString(try row["source"] as String),
            offer: ExactString(try row["offer"] as String), currency: ExactString(try row["currency"] as String))
    }
}

extension FigureValue {
    /// Reads a sum from the columns `high` and `value`.
    init(_ row: SQLRow) throws { self.init(high: try row["high"], low: try row["value"]) }
}

import Foundation
import Primitives
import SQLStorage
import StoreModel

/// A request with an idempotency key. Its repetitions have no effect and get the same answer.
struct IdempotentRequest: Sendable {
    static let lifetime: TimeInterval = 24 * 3600
    /// The largest number of expired keys that one write deletes. It is larger than 1, so that more keys are deleted
    /// than added.
    private static let batchSize = 100
    /// The limit of stored answers per customer, in bytes, for requests with the public key. The last answer may exceed
    /// it.
    static let maximumBytes = 4 << 20

    let ledgerID: LedgerID
    /// The kind of the sender's API key. Devices and the app's server have separate idempotency keys.
    let sender: KeyKind
    /// The customer of the token. Without a token, the customer in the path of a request with the public key. Customers
    /// have separate idempotency keys.
    let requester: CustomerID?
    let key: String
    /// The SHA-256 of method, path and body; in the console, of the action, its customer and its fields.
    let digest: [UInt8]
    /// The customer in the path or in the answer. The stored answer is erased with this customer.
    var customer: CustomerID?
    /// The real time, by which keys expire. The store's time can differ.
    let now: Date
}

/// An answer that is stored for repetitions.
struct KeptAnswer: Sendable, Equatable {
    let status: Int
    let contentType: String
    let body: [UInt8]
    /// The numbers of bytes at the beginning and at the end of the body that differ in each answer, such as its time.
    /// These bytes are stored with the key, so that the bytes between them are stored once for equal answers.
    var own = (beginning: 0, ending: 0)
    /// The revision of the customer's answer in the body. It is not stored: a repetition has none.
    var revision: Int64?

    static func == (left: KeptAnswer, right: KeptAnswer) -> Bool {
        left.status == right.status && left.contentType == right.contentType && left.body == right.body
    }
}

extension IdempotentRequest {
    /// Returns the stored answer of this key. Throws `Refusal.idempotencyMismatch` if the key was used for another
    /// request, and `EntitlementServerError` with `damagedAnswer` if the stored bytes were changed.
    func kept(_ connection: any SQLConnection) throws -> KeptAnswer? {
        try connection.first(query.sql, query.values).map(answer(of:))
    }

    /// Returns the stored answer. For the public key, checks the customer's limit in the same round trip, and throws
    /// `Refusal.tooManyAnswers` if there is no answer and the limit is reached.
    func keptCheckingLimit(_ connection: any SQLConnection) throws -> KeptAnswer? {
        guard sender == .public, let customer else { return try kept(connection) }
        let size = SQLQuery(
            """
            SELECT CAST(COALESCE(SUM(LENGTH(body)), 0) AS BIGINT) AS bytes FROM kept_answer
            WHERE app = ?1 AND environment = ?2 AND customer IN (?3, COALESCE(
                (SELECT customer FROM alias WHERE app = ?1 AND environment = ?2 AND alias = ?3), ?3))
            """, [.text(ledgerID.app.rawValue), .text(ledgerID.environment.rawValue), .text(customer.rawValue)])
        let rows = try connection.queries([query, size])
        if let row = rows[0].first { return try answer(of: row) }
        guard let bytes: Int = try rows[1].first?["bytes"], bytes < Self.maximumBytes else {
            throw Refusal.tooManyAnswers
        }
        return nil
    }

    private var query: SQLQuery {
        SQLQuery(
            """
            SELECT idempotency_key.request_digest AS request_digest, idempotency_key.status AS status,
                idempotency_key.content_type AS content_type, idempotency_key.beginning AS beginning,
                idempotency_key.ending AS ending, idempotency_key.own_digest AS own_digest,
                idempotency_key.answer_digest AS answer_digest,
                kept_answer.digest AS digest, kept_answer.body AS body
            FROM idempotency_key LEFT JOIN kept_answer ON kept_answer.id = idempotency_key.answer
            WHERE idempotency_key.app = ?1 AND idempotency_key.environment = ?2 AND idempotency_key.asker = ?3
                AND idempotency_key.key = ?4 AND idempotency_key.created_at > ?5
            """, identity + [.integer(oldest)])
    }

    private func answer(of row: SQLRow) throws -> KeptAnswer {
        guard try row["request_digest"] == digest else { throw Refusal.idempotencyMismatch }
        let (body, digest): ([UInt8]?, [UInt8]?) = (try row["body"], try row["digest"])
        let (first, last, ownDigest): ([UInt8]?, [UInt8]?, [UInt8]?) =
            (try row["beginning"], try row["ending"], try row["own_digest"])
        let (beginning, ending) = (first ?? [], last ?? [])
        guard let body, digest == nil || digest == SHA256.hash(body),
            Self.digest(ofOwn: beginning, ending) == ownDigest
        else {
            throw EntitlementServerError(
                .damagedAnswer, "The ledger is damaged: an answer that was stored for repetitions has changed.")
        }
        let answer = KeptAnswer(
            status: try row["status"], contentType: try row["content_type"], body: beginning + body + ending,
            own: (beginning.count, ending.count))
        let written: [UInt8]? = try row["answer_digest"]
        guard (200...599).contains(answer.status), written == nil || written == self.digest(of: answer) else {
            throw EntitlementServerError(
                .damagedAnswer,
                "The ledger is damaged: an answer that was stored for repetitions has another status or type.")
        }
        return answer
    }

    /// Inserts the key without an answer; on SQLite also deletes expired keys. `complete` adds the answer in the same
    /// transaction. Returns `false` if an unexpired key exists. If a request with this key is in progress, waits for
    /// its end.
    func begin(_ connection: any SQLConnection) throws -> Bool {
        // Reading old rows would conflict with concurrent writers; `Ledger.deleteExpiredKeys` deletes those keys.
        if !connection.isConcurrent { try Self.deleteExpired(before: oldest, connection) }
        if try insert(connection) { return true }
        let deletedCount = try Self.delete(
            """
            DELETE FROM idempotency_key
            WHERE app = ?1 AND environment = ?2 AND asker = ?3 AND key = ?4 AND created_at <= ?5 RETURNING answer
            """, identity + [.integer(oldest)], connection)
        return try deletedCount > 0 && insert(connection)
    }

    private func insert(_ connection: any SQLConnection) throws -> Bool {
        try connection.execute(
            """
            INSERT INTO idempotency_key (app, environment, asker, key, request_digest, status, content_type, answer,
                created_at, customer)
            VALUES (?1, ?2, ?3, ?4, ?5, 0, '', 0, ?6, ?7) ON CONFLICT (app, environment, asker, key) DO NOTHING
            """, identity + [.blob(digest), .integer(now.milliseconds), .text(customer?.rawValue ?? "")]) > 0
    }

    /// Stores the first answer. Does nothing if the key exists.
    func keep(_ answer: KeptAnswer, _ connection: any SQLConnection) throws {
        if try begin(connection) { try complete(answer, connection) }
    }

    /// Stores the answer of a key that `begin` inserted. Equal bytes are stored once per customer.
    func complete(_ answer: KeptAnswer, _ connection: any SQLConnection) throws {
        let (beginning, ending) = (answer.body.prefix(answer.own.beginning), answer.body.suffix(answer.own.ending))
        let rest = Array(answer.body[beginning.endIndex..<ending.startIndex])
        try connection.perform(
            """
            UPDATE idempotency_key SET status = ?5, content_type = ?6, answer = ?7, customer = ?8, beginning = ?9,
                ending = ?10, own_digest = ?11, answer_digest = ?12
            WHERE app = ?1 AND environment = ?2 AND asker = ?3 AND key = ?4
            """,
            identity + [
                .integer(Int64(answer.status)), .text(answer.contentType), .integer(try rowID(of: rest, connection)),
                .text(customer?.rawValue ?? ""), beginning.isEmpty ? .null : .blob(Array(beginning)),
                ending.isEmpty ? .null : .blob(Array(ending)),
                Self.digest(ofOwn: Array(beginning), Array(ending)).map { .blob($0) } ?? .null,
                .blob(digest(of: answer)),
            ])
    }

    /// Returns a SHA-256 over the answer and the request that it answers.
    private func digest(of answer: KeptAnswer) -> [UInt8] {
        let names = [
            ledgerID.app.rawValue, ledgerID.environment.rawValue, requester?.rawValue ?? "", sender.rawValue, key,
            "\(answer.status)",
            answer.contentType,
        ]
        return SHA256.hash(digest + Array(names.joined(separator: "\0").utf8) + [0] + answer.body)
    }

    /// Returns the digest of the key's own bytes; `nil` if there are none.
    private static func digest(ofOwn beginning: [UInt8], _ ending: [UInt8]) -> [UInt8]? {
        beginning.isEmpty && ending.isEmpty ? nil : SHA256.hash(beginning + [0] + ending)
    }

    /// Returns the id of the row with these bytes, and inserts the row if there is none.
    private func rowID(of body: [UInt8], _ connection: any SQLConnection) throws -> Int64 {
        let content: [SQLValue] = [
            .text(ledgerID.app.rawValue), .text(ledgerID.environment.rawValue), .text(customer?.rawValue ?? ""),
            .blob(SHA256.hash(body)),
        ]
        if !connection.isConcurrent {
            let existing = try connection.first(
                "SELECT id FROM kept_answer WHERE app = ?1 AND environment = ?2 AND customer = ?3 AND digest = ?4",
                content)
            if let existing { return try existing["id"] }
        }
        // The update only locks an existing row, so that a concurrent deletion of its last key does not delete the row.
        let row = try connection.first(
            """
            INSERT INTO kept_answer (app, environment, customer, digest, body) VALUES (?1, ?2, ?3, ?4, ?5)
            ON CONFLICT (app, environment, customer, digest) DO UPDATE SET digest = excluded.digest RETURNING id
            """, content + [.blob(body)])
        guard let row else {
            throw EntitlementServerError(.internalInconsistency, "The ledger did not store an answer.")
        }
        return try row["id"]
    }

    /// Deletes up to 100 expired keys, the oldest first. Returns whether there may be more.
    @discardableResult
    static func deleteExpired(before instant: Int64, _ connection: any SQLConnection) throws -> Bool {
        let expired = try connection.query(
            """
            SELECT app, environment, asker, key FROM idempotency_key WHERE created_at <= ?1
            ORDER BY created_at LIMIT ?2
            """, [.integer(instant), .integer(Int64(batchSize))]
        ).map { row in try ["app", "environment", "asker", "key"].map { .text(try row[$0]) } as [SQLValue] }
        for identity in expired {
            try delete(
                """
                DELETE FROM idempotency_key
                WHERE app = ?1 AND environment = ?2 AND asker = ?3 AND key = ?4 AND created_at <= ?5 RETURNING answer
                """, identity + [.integer(instant)], connection)
        }
        return expired.count == batchSize
    }

    /// Runs `deletion`, which deletes keys and returns the ids of their answers. Then deletes the answers that have no
    /// key left. Returns the number of deleted keys.
    @discardableResult
    private static func delete(
        _ deletion: String, _ values: [SQLValue], _ connection: any SQLConnection
    ) throws -> Int {
        let rows = try connection.query(deletion, values)
        for row in rows {
            try connection.lockRows("SELECT 1 FROM kept_answer WHERE id = ?1", [.integer(try row["answer"])])
            try connection.perform(
                """
                DELETE FROM kept_answer
                WHERE id = ?1 AND NOT EXISTS (SELECT 1 FROM idempotency_key WHERE answer = ?1)
                """, [.integer(try row["answer"])])
        }
        return rows.count
    }

    /// Deletes the keys of all requests about or by a customer. Returns their number.
    @discardableResult
    static func delete(_ customer: CustomerID, of ledgerID: LedgerID, _ connection: any SQLConnection) throws -> Int {
        let values: [SQLValue] = [
            .text(ledgerID.app.rawValue), .text(ledgerID.environment.rawValue), .text(customer.rawValue),
        ]
        return try ["customer", "asker"].reduce(0) { count, column in
            let deletedCount = try delete(
                "DELETE FROM idempotency_key WHERE app = ?1 AND environment = ?2 AND \(column) = ?3 RETURNING answer",
                values, connection)
            return count + deletedCount
        }
    }

    private var identity: [SQLValue] {
        [
            .text(ledgerID.app.rawValue), .text(ledgerID.environment.rawValue), .text(requester?.rawValue ?? ""),
            .text("\(sender.rawValue):\(key)"),
        ]
    }

    private var oldest: Int64 { Self.oldest(at: now) }

    fileprivate static func oldest(at now: Date) -> Int64 { now.addingTimeInterval(-lifetime).milliseconds }
}

extension Ledger {
    /// Deletes up to 100 keys older than a day, for databases in which `begin` does not delete them. Returns whether
    /// there may be more.
    ///
    /// - Parameter now: The real time.
    func deleteExpiredKeys(at now: Date) async throws -> Bool {
        try await database.write { connection in
            try IdempotentRequest.deleteExpired(before: IdempotentRequest.oldest(at: now), connection)
        }
    }
}

extension Schema {
    /// Stores answers apart from their keys, so that equal bytes are stored once per customer. The column `asker` of a
    /// key names its requester. Older answers have no digest; they expire after a day.
    static let keptAnswers = SQLMigration(
        "0010 kept answers",
        [
            .sqlite: """
            CREATE TABLE kept_answer (
                id INTEGER NOT NULL PRIMARY KEY,
                app TEXT NOT NULL,
                environment TEXT NOT NULL,
                customer TEXT NOT NULL,
                digest BLOB,
                body BLOB NOT NULL
            ) STRICT;
            CREATE TABLE asked_key (
                app TEXT NOT NULL,
                environment TEXT NOT NULL,
                asker TEXT NOT NULL,
                key TEXT NOT NULL,
                customer TEXT NOT NULL,
                request_digest BLOB NOT NULL,
                status INTEGER NOT NULL,
                content_type TEXT NOT NULL,
                answer INTEGER NOT NULL,
                created_at INTEGER NOT NULL,
                PRIMARY KEY (app, environment, asker, key)
            ) STRICT, WITHOUT ROWID;
            INSERT INTO kept_answer (id, app, environment, customer, body)
            SELECT rowid, app, environment, coalesce(customer, ''), body FROM idempotency_key;
            INSERT INTO asked_key (app, environment, asker, key, customer, request_digest, status, content_type, answer,
                created_at)
            SELECT app, environment, '', key, coalesce(customer, ''), request_digest, status, content_type, rowid,
                created_at FROM idempotency_key;
            DROP TABLE idempotency_key;
            ALTER TABLE asked_key RENAME TO idempotency_key;
            CREATE UNIQUE INDEX kept_answer_of_customer ON kept_answer (app, environment, customer, digest);
            CREATE INDEX idempotency_key_by_age ON idempotency_key (created_at);
            CREATE INDEX idempotency_key_of_customer ON idempotency_key (app, environment, customer);
            CREATE INDEX idempotency_key_of_answer ON idempotency_key (answer);
            """
        ])

    /// The parts of an answer that belong to one key.
    static let ownParts = SQLMigration(
        "0012 own parts of answers",
        [
            .sqlite: """
            ALTER TABLE idempotency_key ADD COLUMN beginning BLOB;
            ALTER TABLE idempotency_key ADD COLUMN ending BLOB;
            ALTER TABLE idempotency_key ADD COLUMN own_digest BLOB;
            """
        ])

    /// The digests that show whether a key's answer was changed. Older programs leave the column empty.
    static let answerDigests = SQLMigration(
        "0017 digests of answers",
        [
            .sqlite: "ALTER TABLE idempotency_key ADD COLUMN answer_digest BLOB",
            .postgreSQL: "ALTER TABLE idempotency_key ADD COLUMN answer_digest BYTEA",
        ],
        minimumProgram: programs.name)
}

import Foundation
import Primitives
import SQLStorage
import StoreModel

/// A request that its sender may repeat without its happening twice.
struct IdempotentRequest: Sendable {
    static let lifetime: TimeInterval = 24 * 3600
    /// How many expired keys one write forgets; it keeps one.
    private static let batch = 100
    /// How many bytes of answers to requests with the public key are kept for a customer at most, before one more.
    static let mostBytes = 4 << 20

    let ledgerID: LedgerID
    /// Whose keys these are: what an app on a device names a request must not meet what the app's server names one.
    let sender: KeyKind
    /// The customer whose token was presented, or whom a request with the public key alone is about: what one customer names
    /// a request must not meet what another names one.
    let requester: CustomerID?
    let key: String
    /// SHA-256 of method, path and body.
    let digest: [UInt8]
    /// Whom it is about, as its path names them or as it turned out: kept answers are erased with their customer.
    var customer: CustomerID?
    /// Real time, not the store's: how long a key is kept has nothing to do with when subscriptions end.
    let now: Date
}

/// An answer as it is kept for repetitions.
struct KeptAnswer: Sendable, Equatable {
    let status: Int
    let contentType: String
    let body: [UInt8]
    /// How many bytes at the beginning and at the end of the body no other request gets, such as its time. They are kept
    /// with the key, so that the rest is kept once.
    var own = (beginning: 0, ending: 0)

    static func == (left: KeptAnswer, right: KeptAnswer) -> Bool {
        left.status == right.status && left.contentType == right.contentType && left.body == right.body
    }
}

extension IdempotentRequest {
    /// The answer this key got before. Throws `Refusal.idempotencyMismatch` when it was for another request, and
    /// `EntitlementServerError` with `damagedAnswer` when its bytes are not those that were kept.
    func kept(_ connection: any SQLConnection) throws -> KeptAnswer? {
        try connection.first(question.sql, question.values).map(answer(of:))
    }

    /// The same, in one round trip with the question whether more answers may be kept for the customer. Throws
    /// `Refusal.tooManyAnswers` when there is no answer, and they may not.
    func keptOrMay(_ connection: any SQLConnection) throws -> KeptAnswer? {
        // A secret key is the app's own. Without a customer the answer is about none.
        guard sender == .public, let customer else { return try kept(connection) }
        let size = SQLQuery(
            """
            SELECT CAST(COALESCE(SUM(LENGTH(body)), 0) AS BIGINT) AS bytes FROM kept_answer
            WHERE app = ?1 AND environment = ?2 AND customer IN (?3, COALESCE(
                (SELECT customer FROM alias WHERE app = ?1 AND environment = ?2 AND alias = ?3), ?3))
            """, [.text(ledgerID.app.rawValue), .text(ledgerID.environment.rawValue), .text(customer.rawValue)])
        let rows = try connection.queries([question, size])
        if let row = rows[0].first { return try answer(of: row) }
        guard let bytes: Int = try rows[1].first?["bytes"], bytes < Self.mostBytes else { throw Refusal.tooManyAnswers }
        return nil
    }

    private var question: SQLQuery {
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
                .damagedAnswer, "The ledger is damaged: an answer kept for repetitions is not what was answered.")
        }
        let answer = KeptAnswer(
            status: try row["status"], contentType: try row["content_type"], body: beginning + body + ending,
            own: (beginning.count, ending.count))
        let written: [UInt8]? = try row["answer_digest"]
        guard (200...599).contains(answer.status), written == nil || written == self.digest(of: answer) else {
            throw EntitlementServerError(
                .damagedAnswer, "The ledger is damaged: an answer kept for repetitions has another status or type.")
        }
        return answer
    }

    /// Writes the key down without an answer, and forgets what is older than a day. `false` for a key that was used before:
    /// the first request may run at the same time, and its end is waited for. `complete` adds the answer in the same
    /// transaction.
    func begin(_ connection: any SQLConnection) throws -> Bool {
        // To read what is old makes conflicts with those who write at the same time: `Ledger.forgetExpiredKeys` does it.
        if !connection.isConcurrent { try Self.forgetExpired(before: oldest, connection) }
        if try insert(connection) { return true }
        let expired = try Self.forget(
            """
            DELETE FROM idempotency_key
            WHERE app = ?1 AND environment = ?2 AND asker = ?3 AND key = ?4 AND created_at <= ?5 RETURNING answer
            """, identity + [.integer(oldest)], connection)
        return try expired > 0 && insert(connection)
    }

    private func insert(_ connection: any SQLConnection) throws -> Bool {
        try connection.execute(
            """
            INSERT INTO idempotency_key (app, environment, asker, key, request_digest, status, content_type, answer,
                created_at, customer)
            VALUES (?1, ?2, ?3, ?4, ?5, 0, '', 0, ?6, ?7) ON CONFLICT (app, environment, asker, key) DO NOTHING
            """, identity + [.blob(digest), .integer(now.milliseconds), .text(customer?.rawValue ?? "")]) > 0
    }

    /// Keeps the first answer; does nothing where the key has one.
    func keep(_ answer: KeptAnswer, _ connection: any SQLConnection) throws {
        if try begin(connection) { try complete(answer, connection) }
    }

    /// Keeps the answer of a key that was begun. The bytes of an answer are kept once for a customer, however many keys
    /// they answer.
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
                .integer(Int64(answer.status)), .text(answer.contentType), .integer(try number(of: rest, connection)),
                .text(customer?.rawValue ?? ""), beginning.isEmpty ? .null : .blob(Array(beginning)),
                ending.isEmpty ? .null : .blob(Array(ending)),
                Self.digest(ofOwn: Array(beginning), Array(ending)).map { .blob($0) } ?? .null,
                .blob(digest(of: answer)),
            ])
    }

    /// SHA-256 of all that is answered, and of what it answers.
    private func digest(of answer: KeptAnswer) -> [UInt8] {
        let names = [
            ledgerID.app.rawValue, ledgerID.environment.rawValue, requester?.rawValue ?? "", sender.rawValue, key,
            "\(answer.status)",
            answer.contentType,
        ]
        // No name has U+0000.
        return SHA256.hash(digest + Array(names.joined(separator: "\0").utf8) + [0] + answer.body)
    }

    /// `nil` for an answer of which nothing is the key's own.
    private static func digest(ofOwn beginning: [UInt8], _ ending: [UInt8]) -> [UInt8]? {
        beginning.isEmpty && ending.isEmpty ? nil : SHA256.hash(beginning + [0] + ending)
    }

    /// The row of these bytes, which are kept from now on.
    private func number(of body: [UInt8], _ connection: any SQLConnection) throws -> Int64 {
        let content: [SQLValue] = [
            .text(ledgerID.app.rawValue), .text(ledgerID.environment.rawValue), .text(customer?.rawValue ?? ""),
            .blob(SHA256.hash(body)),
        ]
        if !connection.isConcurrent {
            let known = try connection.first(
                "SELECT id FROM kept_answer WHERE app = ?1 AND environment = ?2 AND customer = ?3 AND digest = ?4",
                content)
            if let known { return try known["id"] }
        }
        // Locks a row that is there: the last other key that has it may be forgotten at the same time.
        let row = try connection.first(
            """
            INSERT INTO kept_answer (app, environment, customer, digest, body) VALUES (?1, ?2, ?3, ?4, ?5)
            ON CONFLICT (app, environment, customer, digest) DO UPDATE SET digest = excluded.digest RETURNING id
            """, content + [.blob(body)])
        guard let row else {
            throw EntitlementServerError(.internalInconsistency, "The ledger did not keep an answer.")
        }
        return try row["id"]
    }

    /// Forgets the oldest expired keys. Returns whether there may be more.
    @discardableResult
    static func forgetExpired(before instant: Int64, _ connection: any SQLConnection) throws -> Bool {
        let expired = try connection.query(
            """
            SELECT app, environment, asker, key FROM idempotency_key WHERE created_at <= ?1
            ORDER BY created_at LIMIT ?2
            """, [.integer(instant), .integer(Int64(batch))]
        ).map { row in try ["app", "environment", "asker", "key"].map { .text(try row[$0]) } as [SQLValue] }
        for identity in expired {
            try forget(
                """
                DELETE FROM idempotency_key
                WHERE app = ?1 AND environment = ?2 AND asker = ?3 AND key = ?4 AND created_at <= ?5 RETURNING answer
                """, identity + [.integer(instant)], connection)
        }
        return expired.count == batch
    }

    /// Runs a statement that deletes keys and returns their answers, and deletes those that no other key has. Returns how
    /// many keys were deleted.
    @discardableResult
    private static func forget(
        _ deleting: String, _ values: [SQLValue], _ connection: any SQLConnection
    ) throws -> Int {
        let rows = try connection.query(deleting, values)
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

    /// Forgets all that is kept about a customer, and what the customer's token asked. Returns how many keys that were.
    @discardableResult
    static func forget(_ customer: CustomerID, of ledgerID: LedgerID, _ connection: any SQLConnection) throws -> Int {
        let values: [SQLValue] = [
            .text(ledgerID.app.rawValue), .text(ledgerID.environment.rawValue), .text(customer.rawValue),
        ]
        return try ["customer", "asker"].reduce(0) { count, column in
            let forgotten = try forget(
                "DELETE FROM idempotency_key WHERE app = ?1 AND environment = ?2 AND \(column) = ?3 RETURNING answer",
                values, connection)
            return count + forgotten
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
    /// Forgets keys older than a day, where a write does not. Returns whether there may be more.
    ///
    /// - Parameter now: real time.
    func forgetExpiredKeys(at now: Date) async throws -> Bool {
        try await database.write { connection in
            try IdempotentRequest.forgetExpired(before: IdempotentRequest.oldest(at: now), connection)
        }
    }
}

extension Schema {
    /// Answers apart from the keys that name them, so that the same bytes are kept once for a customer; and whose token a
    /// key came with. Answers of before have no digest; a day later there are none.
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

    /// The parts of an answer that only one key has.
    static let ownParts = SQLMigration(
        "0012 own parts of answers",
        [
            .sqlite: """
            ALTER TABLE idempotency_key ADD COLUMN beginning BLOB;
            ALTER TABLE idempotency_key ADD COLUMN ending BLOB;
            ALTER TABLE idempotency_key ADD COLUMN own_digest BLOB;
            """
        ])

    /// Shows whether a key leads to the answer that it got, whole. A program that does not know the column leaves it empty.
    static let answerDigests = SQLMigration(
        "0017 digests of answers",
        [
            .sqlite: "ALTER TABLE idempotency_key ADD COLUMN answer_digest BLOB",
            .postgreSQL: "ALTER TABLE idempotency_key ADD COLUMN answer_digest BYTEA",
        ],
        minimumProgram: programs.name)
}

import Foundation
import Primitives
import SQLStorage
import StoreModel

/// A request that its sender may repeat without its happening twice.
struct IdempotentRequest: Sendable {
    static let lifetime: TimeInterval = 24 * 3600

    let book: Book
    /// Whose keys these are: what an app on a device names a request must not meet what the app's server names one.
    let sender: KeyKind
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
}

extension IdempotentRequest {
    /// The answer this key got before; throws `Refusal.idempotencyMismatch` when it was for another request.
    func kept(_ connection: any SQLConnection) throws -> KeptAnswer? {
        guard
            let row = try connection.first(
                """
                SELECT request_digest, status, content_type, body FROM idempotency_key
                WHERE app = ?1 AND environment = ?2 AND key = ?3 AND created_at > ?4
                """, identity + [.integer(oldest)])
        else { return nil }
        guard try row["request_digest"] == digest else { throw Refusal.idempotencyMismatch }
        return KeptAnswer(status: try row["status"], contentType: try row["content_type"], body: try row["body"])
    }

    /// Keeps the first answer, and forgets what is older than a day.
    func keep(_ answer: KeptAnswer, _ connection: any SQLConnection) throws {
        try connection.execute("DELETE FROM idempotency_key WHERE created_at <= ?1", [.integer(oldest)])
        try connection.execute(
            """
            INSERT INTO idempotency_key (app, environment, key, request_digest, status, content_type, body, created_at,
                customer) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9) ON CONFLICT (app, environment, key) DO NOTHING
            """,
            identity + [
                .blob(digest), .integer(Int64(answer.status)), .text(answer.contentType), .blob(answer.body),
                .integer(now.milliseconds), SQLValue(customer?.rawValue),
            ])
    }

    private var identity: [SQLValue] {
        [.text(book.app.rawValue), .text(book.environment.rawValue), .text("\(sender.rawValue):\(key)")]
    }

    private var oldest: Int64 { now.addingTimeInterval(-Self.lifetime).milliseconds }
}

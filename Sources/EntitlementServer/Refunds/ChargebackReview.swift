import Foundation
import GooglePlay
import Primitives
import SQLStorage
import StoreModel

/// A chargeback at Google Play that the developer can review within 24 hours: the customer's bank takes a payment back.
///
/// The notification only names an order and has the token for the answer. What is known about the order comes from
/// Google, and the token is sent only to the order's app, with its service account.
struct ChargebackReview: Sendable {
    let order: TransactionID
    let token: String
    /// The newest fact about the purchase.
    let transaction: TransactionFact
    let purchasedAt: Date
    let requestedAt: Date

    /// The identity of the review. A repeated notification has the same one.
    var identity: String {
        "play." + Hex.encode(SHA256.hash(Array("\(order.rawValue)\n\(token)".utf8)))
    }
}

extension PlayReader {
    /// Fetches the order of a review, and its purchase.
    ///
    /// Throws `Rejection`, `GooglePlayFailure` if Google does not answer usefully, and the errors of the ledger.
    ///
    /// - Parameter sentAt: The instant of the notification. It is believed only between the payment and now.
    func review(
        of id: TransactionID, token: String, sentAt: Date?
    ) async throws -> (presented: Presented, review: ChargebackReview) {
        let order = try await order(id)
        let presented = try await fetch(order.token)
        guard case .purchased(let purchase) = try presented.fetch.reading() else {
            throw Rejection("unknownOrder", "The order has no completed purchase.")
        }
        let now = ledger.clock.now()
        let paidAt = order.createdAt ?? purchase.transaction.purchaseDate
        let review = ChargebackReview(
            order: id, token: token, transaction: purchase.transaction, purchasedAt: paidAt,
            requestedAt: min(max(sentAt ?? now, paidAt), now).wholeMillisecond)
        return (presented, review)
    }

    /// An order of the app, as Google states it.
    struct KnownOrder: Sendable {
        let token: PurchaseToken
        let createdAt: Date?
        let state: AndroidPublisher.OrderState?
    }

    /// Gets an order of the app. Throws `Rejection` for an unknown one.
    func order(_ id: TransactionID) async throws -> KnownOrder {
        let unknown = Rejection("unknownOrder", "Google Play knows no order of this app with the id.")
        let json: JSONValue
        do {
            json = try await source.client.order(id.rawValue)
        } catch let failure as GooglePlayFailure where [.unknownToken, .expiredToken].contains(failure.kind) {
            throw unknown
        }
        guard let order = try? WireJSON.decode(AndroidPublisher.Order.self, from: json),
            order.orderId?.hasSameBytes(as: id.rawValue) == true,
            let token = order.purchaseToken.flatMap(PurchaseToken.init(rawValue:))
        else { throw unknown }
        return KnownOrder(token: token, createdAt: order.createTime?.wholeMillisecond, state: order.state)
    }
}

extension Ledger {
    /// Stores a review once. The purchase is in the ledger already.
    func keep(_ review: ChargebackReview, in ledgerID: LedgerID) async throws {
        try await write { connection, outcome in
            var transaction = transaction(connection, on: ledgerID)
            try transaction.lock(purchases: [review.transaction.originalID])
            try transaction.keep(review)
            outcome.concernsRefundRequests = true
        }
    }
}

extension Ledger {
    /// Stores that a payment under review was taken back, by Google's list of voided purchases.
    func keepOutcome(
        of order: TransactionID, _ original: TransactionID, at instant: Date, in ledgerID: LedgerID
    ) async throws {
        let request = ledgerID.values + [.text(original.rawValue), .text(order.rawValue)]
        let isNew = try database.read { connection in
            try connection.first(
                """
                SELECT 1 AS one FROM refund_request WHERE app = ?1 AND environment = ?2
                    AND original_transaction_id = ?3 AND transaction_id = ?4 AND source = 'googlePlay'
                    AND NOT EXISTS (SELECT 1 FROM refund_outcome WHERE app = ?1 AND environment = ?2
                        AND transaction_id = ?4)
                LIMIT 1
                """, request) != nil
        }
        guard isNew else { return }
        try await write { connection, outcome in
            outcome.concernsRefundRequests = true
            try connection.perform(
                """
                INSERT INTO refund_outcome (app, environment, transaction_id, notification, outcome, signed_at)
                VALUES (?1, ?2, ?3, 'voided', ?4, ?5)
                ON CONFLICT (app, environment, transaction_id, notification) DO NOTHING
                """,
                ledgerID.values + [
                    .text(order.rawValue), .text(RefundOutcome.refunded.rawValue), .integer(instant.milliseconds),
                ])
        }
    }
}

extension LedgerTransaction {
    /// Stores a review once. Without the key of an erased purchase nothing will be sent.
    fileprivate func keep(_ review: ChargebackReview) throws {
        let original = review.transaction.originalID
        var sealed: Sealed?
        if let id = try purchase(original)?.dataKey, let key = try key(id) {
            let context = Array(review.identity.utf8)
            sealed = Sealed(key: id, bytes: try key.seal(Array(review.token.utf8), authenticating: context))
        }
        try connection.perform(
            """
            INSERT INTO refund_request (app, environment, source, notification, transaction_id,
                original_transaction_id, product, kind, quantity, purchased_at, is_family_shared,
                is_advanced_commerce, requested_at, received_at, state, review_key, sealed_review)
            VALUES (?1, ?2, 'googlePlay', ?3, ?4, ?5, ?6, ?7, ?8, ?9, 0, 0, ?10, ?11, 'pending', ?12, ?13)
            ON CONFLICT (app, environment, notification) DO NOTHING
            """,
            values(
                .text(review.identity), .text(review.order.rawValue), .text(original.rawValue),
                .text(review.transaction.productID.rawValue), .text(review.transaction.kind.rawValue),
                .integer(Int64(review.transaction.quantity)), .integer(review.purchasedAt.milliseconds),
                .integer(review.requestedAt.milliseconds), .integer(now.milliseconds), SQLValue(sealed?.key),
                SQLValue(sealed?.bytes)))
    }

    /// Returns the token of a review; `nil` after an erasure.
    func reviewToken(of request: RefundRequest) throws -> String? {
        guard let sealed = request.sealedReview, let key = try key(sealed.key) else { return nil }
        let bytes = try key.open(sealed.bytes, authenticating: Array(request.notification.utf8))
        return String(decoding: bytes, as: UTF8.self)
    }
}

extension Schema {
    /// The store of a refund request, and the token with which a review of Google Play is answered. The token is
    /// encrypted with the key of the purchase and cannot be read after an erasure.
    static let chargebackReviews = SQLMigration(
        "0028 chargeback reviews",
        [
            .sqlite: """
            ALTER TABLE refund_request ADD COLUMN source TEXT NOT NULL DEFAULT 'appStore';
            ALTER TABLE refund_request ADD COLUMN review_key INTEGER;
            ALTER TABLE refund_request ADD COLUMN sealed_review BLOB;
            """,
            .postgreSQL: """
            ALTER TABLE refund_request ADD COLUMN source TEXT COLLATE "C" NOT NULL DEFAULT 'appStore';
            ALTER TABLE refund_request ADD COLUMN review_key BIGINT;
            ALTER TABLE refund_request ADD COLUMN sealed_review BYTEA;
            """,
        ],
        minimumProgram: programs.name)
}

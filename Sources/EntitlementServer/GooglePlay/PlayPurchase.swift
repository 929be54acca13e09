import Foundation
import GooglePlay
import Primitives
import SQLStorage
import StoreModel

/// A row of `play_purchase`: the ledger's data about one purchase token of Google Play, beside its facts.
struct PlayPurchase: Sendable {
    enum Acknowledgement: String, Sendable {
        /// Google still awaits the acknowledgement or, for a consumable, the consumption.
        case pending
        /// Nothing is left to do, because it was done or because the purchase ended.
        case done
    }

    let original: TransactionID
    let packageName: PackageName
    var productID: ProductID
    var kind: ProductType
    /// The begin of the newest fetch.
    var fetchedAt: Date
    /// The digest of what the newest fetch returned.
    var contentDigest: [UInt8]
    /// The instant at which another purchase replaced this subscription.
    var replacedAt: Date?
    /// The purchase that replaced this subscription.
    var replacedBy: TransactionID?
    /// The instant at which Google voided this purchase of a one-time product, by the list of voided purchases.
    var voidedAt: Date?
    var acknowledgement: Acknowledgement
    /// The instant at which Google refunds a purchase that is not acknowledged.
    var acknowledgeBy: Date?
    var acknowledgementAttempts: Int64 = 0
    /// The next attempt, in real time.
    var acknowledgementDueAt: Date?
    /// The instant from which a new fetch is worth its quota; `nil` if nothing changes any more.
    var checkAt: Date?
    /// The token, encrypted with the key of the purchase.
    fileprivate var sealedToken: LedgerTransaction.Sealed?
}

extension PlayPurchase {
    fileprivate static let columns = """
        original_transaction_id, data_key, sealed_token, package_name, product, kind, fetched_at, content_digest,
            replaced_at, replaced_by, voided_at, acknowledgement, acknowledge_by, acknowledgement_attempts,
            acknowledgement_due_at, check_at
        """

    fileprivate init(_ row: SQLRow) throws {
        func date(_ column: String) throws -> Date? {
            let milliseconds: Int64? = try row[column]
            return milliseconds.map { Date(milliseconds: $0) }
        }
        guard let acknowledgement = Acknowledgement(rawValue: try row["acknowledgement"]) else {
            throw EntitlementServerError(
                .internalInconsistency, "A purchase of Google Play in the ledger has an unknown acknowledgement.")
        }
        let (key, replacedBy): (Int64?, String?) = (try row["data_key"], try row["replaced_by"])
        self.init(
            original: TransactionID(unchecked: try row["original_transaction_id"]),
            packageName: PackageName(unchecked: try row["package_name"]),
            productID: ProductID(unchecked: try row["product"]), kind: ProductType(rawValue: try row["kind"]),
            fetchedAt: Date(milliseconds: try row["fetched_at"]), contentDigest: try row["content_digest"],
            replacedAt: try date("replaced_at"), replacedBy: replacedBy.map { TransactionID(unchecked: $0) },
            voidedAt: try date("voided_at"), acknowledgement: acknowledgement,
            acknowledgeBy: try date("acknowledge_by"),
            acknowledgementAttempts: try row["acknowledgement_attempts"],
            acknowledgementDueAt: try date("acknowledgement_due_at"), checkAt: try date("check_at"),
            sealedToken: try key.map { LedgerTransaction.Sealed(key: $0, bytes: try row["sealed_token"]) })
    }

    init(
        original: TransactionID, packageName: PackageName, productID: ProductID, kind: ProductType, fetchedAt: Date,
        contentDigest: [UInt8]
    ) {
        self.init(
            original: original, packageName: packageName, productID: productID, kind: kind, fetchedAt: fetchedAt,
            contentDigest: contentDigest, acknowledgement: .done)
    }
}

extension LedgerTransaction {
    /// Returns the row of a purchase of Google Play. Lock the purchase before.
    func playPurchase(_ original: TransactionID) throws -> PlayPurchase? {
        try connection.first(
            """
            SELECT \(PlayPurchase.columns) FROM play_purchase
            WHERE app = ?1 AND environment = ?2 AND original_transaction_id = ?3
            """, values(.text(original.rawValue))
        ).map(PlayPurchase.init)
    }

    /// Returns purchases whose acknowledgement is due at `now`, in real time.
    func duePlayAcknowledgements(at now: Date, limit: Int) throws -> [PlayPurchase] {
        try connection.query(
            """
            SELECT \(PlayPurchase.columns) FROM play_purchase
            WHERE app = ?1 AND environment = ?2 AND acknowledgement_due_at <= ?3
            ORDER BY acknowledgement_due_at, original_transaction_id LIMIT ?4
            """, values(.integer(now.milliseconds), .integer(Int64(limit)))
        ).map(PlayPurchase.init)
    }

    /// Writes the row of a purchase that has a fact.
    ///
    /// - Parameter token: The token, which a new row stores; `nil` keeps the stored one. It is not stored for an erased
    ///   purchase, which has no key.
    func keep(_ purchase: PlayPurchase, token: PurchaseToken? = nil) throws {
        var sealed = purchase.sealedToken
        if sealed == nil, let token, let id = try self.purchase(purchase.original)?.dataKey, let key = try key(id) {
            let context = Array(purchase.original.rawValue.utf8)
            sealed = Sealed(key: id, bytes: try key.seal(Array(token.rawValue.utf8), authenticating: context))
        }
        try connection.perform(
            """
            INSERT INTO play_purchase (app, environment, original_transaction_id, data_key, sealed_token, package_name,
                product, kind, fetched_at, content_digest, replaced_at, acknowledgement, acknowledge_by,
                acknowledgement_attempts, acknowledgement_due_at, check_at, voided_at, replaced_by)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18)
            ON CONFLICT (app, environment, original_transaction_id) DO UPDATE SET
                data_key = excluded.data_key, sealed_token = excluded.sealed_token, product = excluded.product,
                kind = excluded.kind, fetched_at = excluded.fetched_at, content_digest = excluded.content_digest,
                replaced_at = excluded.replaced_at, acknowledgement = excluded.acknowledgement,
                acknowledge_by = excluded.acknowledge_by,
                acknowledgement_attempts = excluded.acknowledgement_attempts,
                acknowledgement_due_at = excluded.acknowledgement_due_at, check_at = excluded.check_at,
                check_attempts = 0, voided_at = excluded.voided_at, replaced_by = excluded.replaced_by
            """,
            values(
                .text(purchase.original.rawValue), SQLValue(sealed?.key), .blob(sealed?.bytes ?? []),
                .text(purchase.packageName.rawValue), .text(purchase.productID.rawValue),
                .text(purchase.kind.rawValue), .integer(purchase.fetchedAt.milliseconds),
                .blob(purchase.contentDigest), SQLValue(purchase.replacedAt?.milliseconds),
                .text(purchase.acknowledgement.rawValue), SQLValue(purchase.acknowledgeBy?.milliseconds),
                .integer(purchase.acknowledgementAttempts), SQLValue(purchase.acknowledgementDueAt?.milliseconds),
                SQLValue(purchase.checkAt?.milliseconds), SQLValue(purchase.voidedAt?.milliseconds),
                SQLValue(purchase.replacedBy?.rawValue)))
    }

    /// Returns the token of a purchase; `nil` after an erasure.
    func token(of purchase: PlayPurchase) throws -> PurchaseToken? {
        guard let sealed = purchase.sealedToken, let key = try key(sealed.key) else { return nil }
        let bytes = try key.open(sealed.bytes, authenticating: Array(purchase.original.rawValue.utf8))
        return PurchaseToken(rawValue: String(decoding: bytes, as: UTF8.self))
    }

    /// Deletes the token of a purchase. Its key is deleted with those of the facts.
    func erasePlayToken(of original: TransactionID) throws {
        try connection.perform(
            """
            UPDATE play_purchase SET data_key = NULL, sealed_token = ?4, acknowledgement_due_at = NULL, check_at = NULL
            WHERE app = ?1 AND environment = ?2 AND original_transaction_id = ?3
            """, values(.text(original.rawValue), .blob([])))
    }
}

extension Ledger {
    /// Begins a fetch of a purchase of an app, and returns its instant: now by the store's clock, but later than the
    /// begin of each earlier fetch of this app on any server. So of two fetches the database decides which began last,
    /// even if the clocks of servers differ or virtual time is frozen.
    func beginPlayFetch(of app: BundleID) async throws -> Date {
        let now = clock.now().wholeMillisecond.milliseconds
        return try await database.write { connection in
            let row = try connection.first(
                """
                INSERT INTO play_app (app, fetched_at) VALUES (?1, ?2)
                ON CONFLICT (app) DO UPDATE SET fetched_at =
                    CASE WHEN play_app.fetched_at >= excluded.fetched_at THEN play_app.fetched_at + 1
                        ELSE excluded.fetched_at END
                RETURNING fetched_at
                """, [.text(app.rawValue), .integer(now)])
            guard let row else {
                throw EntitlementServerError(.internalInconsistency, "The ledger did not store the begin of a fetch.")
            }
            return Date(milliseconds: try row["fetched_at"])
        }
    }

    /// Returns the row of a purchase of an app, and its token, which is `nil` after an erasure.
    func playPurchase(
        _ original: TransactionID, in ledgerID: LedgerID
    ) throws -> (purchase: PlayPurchase, token: PurchaseToken?)? {
        try database.read { connection in
            let transaction = transaction(connection, on: ledgerID)
            return try transaction.playPurchase(original).map { ($0, try transaction.token(of: $0)) }
        }
    }
}

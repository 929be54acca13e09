import Foundation
import SQLStorage
import StoreModel

extension Books {
    func insert(_ record: TransactionRecord) throws {
        try sql.execute(
            """
            INSERT INTO purchase (
                id, account, original, web_order, product, kind, group_id, purchased_at, original_purchased_at,
                expires_at, quantity, token, price, currency, is_renewal, offer_kind, offer_id, offer_mode, offer_period)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19)
            """,
            [
                .integer(record.id), .integer(record.accountID), .integer(record.originalID),
                SQLValue(record.webOrderLineItemID), .text(record.productID.rawValue), .text(record.kind.rawValue),
                SQLValue(record.groupID), .integer(record.purchaseDate.milliseconds),
                .integer(record.originalPurchaseDate.milliseconds), SQLValue(record.expiresDate?.milliseconds),
                .integer(Int64(record.quantity)), SQLValue(record.appAccountToken?.uuidString),
                .integer(record.price.milliunits), .text(record.price.currency), SQLValue(record.isRenewal),
                SQLValue(record.offer?.kind.rawValue), SQLValue(record.offer?.id),
                SQLValue(record.offer?.paymentMode.rawValue), SQLValue(record.offer?.period.iso8601),
            ])
    }

    func transaction(_ id: Int64) throws -> TransactionRecord? {
        try sql.first("SELECT * FROM purchase WHERE id = ?1", [.integer(id)]).map(Self.transaction)
    }

    /// All of an account's, oldest first.
    func transactions(of account: Int64) throws -> [TransactionRecord] {
        try sql.query("SELECT * FROM purchase WHERE account = ?1 ORDER BY id", [.integer(account)])
            .map(Self.transaction)
    }

    /// What gives access at `now`: the current period of each subscription, and what was bought once and for all.
    func entitlements(of account: Int64, at now: Date) throws -> [TransactionRecord] {
        try sql.query(
            """
            SELECT purchase.* FROM purchase JOIN subscription ON latest = purchase.id
            WHERE subscription.account = ?1 AND is_active = 1 AND subscription.expires_at > ?2 AND revoked_at IS NULL
            UNION ALL
            SELECT * FROM purchase WHERE account = ?1 AND kind IN (?3, ?4) AND revoked_at IS NULL
            ORDER BY id
            """,
            [
                .integer(account), .integer(now.milliseconds),
                .text(StoreProduct.Kind.nonConsumable.rawValue),
                .text(StoreProduct.Kind.nonRenewingSubscription.rawValue),
            ]
        ).map(Self.transaction)
    }

    /// The transaction by which an account has a product that is bought once.
    func owned(_ product: ProductID, by account: Int64) throws -> TransactionRecord? {
        try sql.first(
            "SELECT * FROM purchase WHERE account = ?1 AND product = ?2 AND revoked_at IS NULL ORDER BY id LIMIT 1",
            [.integer(account), .text(product.rawValue)]
        ).map(Self.transaction)
    }

    /// `false` when the account has no such transaction.
    func finish(_ id: Int64, of account: Int64) throws -> Bool {
        try sql.execute(
            "UPDATE purchase SET is_finished = 1 WHERE id = ?1 AND account = ?2", [.integer(id), .integer(account)]) > 0
    }

    private static func transaction(_ row: SQLRow) throws -> TransactionRecord {
        let token: String? = try row["token"]
        let expiresAt: Int64? = try row["expires_at"]
        let revokedAt: Int64? = try row["revoked_at"]
        return TransactionRecord(
            id: try row["id"], accountID: try row["account"], originalID: try row["original"],
            webOrderLineItemID: try row["web_order"], productID: ProductID(unchecked: try row["product"]),
            kind: StoreProduct.Kind(rawValue: try row["kind"]), groupID: try row["group_id"],
            purchaseDate: Date(milliseconds: try row["purchased_at"]),
            originalPurchaseDate: Date(milliseconds: try row["original_purchased_at"]),
            expiresDate: expiresAt.map { Date(milliseconds: $0) }, quantity: try row["quantity"],
            appAccountToken: token.flatMap(UUID.init),
            price: Price(milliunits: try row["price"], currency: try row["currency"]),
            isRenewal: try row["is_renewal"], offer: try offer(row), isUpgraded: try row["is_upgraded"],
            revocationDate: revokedAt.map { Date(milliseconds: $0) }, isFinished: try row["is_finished"],
            signedFrom: Date(milliseconds: try row["signed_from"]))
    }

    private static func offer(_ row: SQLRow) throws -> AppliedOffer? {
        let kind: Int? = try row["offer_kind"]
        guard let kind = kind.flatMap(AppliedOffer.Kind.init) else { return nil }
        let period: String = try row["offer_period"]
        return AppliedOffer(
            kind: kind, id: try row["offer_id"], paymentMode: .init(rawValue: try row["offer_mode"]),
            period: SubscriptionPeriod(iso8601: period) ?? .months(1))
    }
}

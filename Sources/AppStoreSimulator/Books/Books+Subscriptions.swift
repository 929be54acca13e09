import Foundation
import SQLStorage
import StoreModel

extension Books {
    func upsert(_ record: SubscriptionRecord, at now: Date) throws {
        try sql.execute(
            """
            INSERT INTO subscription (
                original, account, group_id, product, latest, original_purchased_at, started_at, expires_at,
                phase_start, phase_sold, phase_offer_kind, phase_offer_id, renews, renews_to, token, used_introductory,
                is_active, expiration_intent)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18)
            ON CONFLICT (original) DO UPDATE SET
                product = ?4, latest = ?5, started_at = ?7, expires_at = ?8, phase_start = ?9, phase_sold = ?10,
                phase_offer_kind = ?11, phase_offer_id = ?12, renews = ?13, renews_to = ?14, token = ?15,
                used_introductory = ?16, is_active = ?17, expiration_intent = ?18,
                signed_from = max(subscription.signed_from, ?19) + 1
            """,
            [
                .integer(record.originalID), .integer(record.accountID), .text(record.groupID),
                .text(record.productID.rawValue), .integer(record.latestID),
                .integer(record.originalPurchaseDate.milliseconds), .integer(record.startedAt.milliseconds),
                .integer(record.expiresDate.milliseconds), .integer(record.phase.start.milliseconds),
                .integer(Int64(record.phase.sold)), SQLValue(record.phase.offer?.kind.rawValue),
                SQLValue(record.phase.offer?.id), SQLValue(record.autoRenews), .text(record.renewsTo.rawValue),
                SQLValue(record.appAccountToken?.uuidString), SQLValue(record.hasUsedIntroductoryOffer),
                SQLValue(record.isActive), SQLValue(record.expirationIntent?.rawValue), .integer(now.milliseconds),
            ])
    }

    func subscription(_ originalID: Int64) throws -> SubscriptionRecord? {
        try sql.first("SELECT * FROM subscription WHERE original = ?1", [.integer(originalID)]).map(Self.subscription)
    }

    func subscription(in group: String, of account: Int64) throws -> SubscriptionRecord? {
        try sql.first(
            "SELECT * FROM subscription WHERE account = ?1 AND group_id = ?2", [.integer(account), .text(group)]
        ).map(Self.subscription)
    }

    func subscriptions(of account: Int64) throws -> [SubscriptionRecord] {
        try sql.query("SELECT * FROM subscription WHERE account = ?1 ORDER BY original", [.integer(account)])
            .map(Self.subscription)
    }

    /// The active subscription that is, or is to become, `product`.
    func activeSubscription(of product: ProductID, account: Int64) throws -> SubscriptionRecord? {
        try sql.first(
            """
            SELECT * FROM subscription WHERE account = ?1 AND is_active = 1 AND (product = ?2 OR renews_to = ?2)
            """, [.integer(account), .text(product.rawValue)]
        ).map(Self.subscription)
    }

    /// Those whose current period ends at `now` or before, first things first.
    func due(at now: Date, limit: Int) throws -> [SubscriptionRecord] {
        try sql.query(
            """
            SELECT * FROM subscription WHERE is_active = 1 AND expires_at <= ?1 ORDER BY expires_at, original LIMIT ?2
            """, [.integer(now.milliseconds), .integer(Int64(limit))]
        ).map(Self.subscription)
    }

    /// When the next period of any subscription ends.
    func nextDue() throws -> Date? {
        let row = try sql.first("SELECT min(expires_at) AS due FROM subscription WHERE is_active = 1")
        let due: Int64? = try row?["due"]
        return due.map { Date(milliseconds: $0) }
    }

    private static func subscription(_ row: SQLRow) throws -> SubscriptionRecord {
        let token: String? = try row["token"]
        let offerKind: Int? = try row["phase_offer_kind"]
        let offerID: String? = try row["phase_offer_id"]
        let intent: Int? = try row["expiration_intent"]
        return SubscriptionRecord(
            originalID: try row["original"], accountID: try row["account"], groupID: try row["group_id"],
            productID: ProductID(unchecked: try row["product"]), latestID: try row["latest"],
            originalPurchaseDate: Date(milliseconds: try row["original_purchased_at"]),
            startedAt: Date(milliseconds: try row["started_at"]),
            expiresDate: Date(milliseconds: try row["expires_at"]),
            phase: .init(
                start: Date(milliseconds: try row["phase_start"]), sold: try row["phase_sold"],
                offer: offerKind.flatMap(AppliedOffer.Kind.init).map { .init(kind: $0, id: offerID) }),
            autoRenews: try row["renews"], renewsTo: ProductID(unchecked: try row["renews_to"]),
            appAccountToken: token.flatMap(UUID.init), hasUsedIntroductoryOffer: try row["used_introductory"],
            isActive: try row["is_active"], expirationIntent: intent.flatMap(SubscriptionRecord.ExpirationIntent.init),
            signedFrom: Date(milliseconds: try row["signed_from"]))
    }
}

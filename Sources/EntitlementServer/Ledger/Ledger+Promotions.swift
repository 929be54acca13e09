import Foundation
import Primitives
import SQLStorage
import StoreModel

extension Ledger {
    /// The reason why a code cannot be redeemed or created.
    enum PromotionRefusal: Error {
        case unknown
        /// The code has expired, its grant would already have ended, or it was redeemed as often as allowed.
        case notRedeemable
        /// Another promotion has this code, perhaps a withdrawn one.
        case taken
    }

    /// Stores a promotion under its code. Returns `answer`.
    ///
    /// Throws `PromotionRefusal.taken`.
    func add(
        _ promotion: Promotion, in ledgerID: LedgerID, as request: IdempotentRequest?, answer: KeptAnswer
    ) async throws -> KeptAnswer {
        let now = clock.now().wholeMillisecond
        return try await write(once: request) { connection, _ in
            let added = try connection.execute(
                """
                INSERT INTO promotion (app, environment, code, feature, lasts, grant_until, redeemable_until,
                    redemption_limit, created_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)
                ON CONFLICT (app, environment, code) DO NOTHING
                """,
                ledgerID.values + [
                    SQLValue(promotion.code), .text(promotion.feature), SQLValue(promotion.lasts?.iso8601),
                    SQLValue(promotion.until?.milliseconds), SQLValue(promotion.redeemableUntil?.milliseconds),
                    SQLValue(promotion.limit.map(Int64.init)), .integer(now.milliseconds),
                ])
            guard added > 0 else { throw PromotionRefusal.taken }
            return answer
        }
    }

    /// Returns promotions after `cursor`, ordered by code, without withdrawn ones.
    func promotions(in ledgerID: LedgerID, after cursor: String, limit: Int) throws -> PromotionList {
        let found = try database.read { connection in
            try connection.query(
                """
                SELECT code, feature, lasts, grant_until, redeemable_until, redemption_limit, redemptions
                FROM promotion WHERE app = ?1 AND environment = ?2 AND code > ?3 AND withdrawn_at IS NULL
                ORDER BY code LIMIT ?4
                """, ledgerID.values + [.text(cursor), .integer(Int64(limit) + 1)]
            ).map(Promotion.init(row:))
        }
        return PromotionList(
            promotions: Array(found.prefix(limit)), nextCursor: found.count > limit ? found[limit - 1].code : nil)
    }

    /// Withdraws a promotion. Its grants remain. Returns `false` if no promotion has this code, or if it was withdrawn
    /// before.
    func withdrawPromotion(_ code: String, in ledgerID: LedgerID) async throws -> Bool {
        let now = clock.now().wholeMillisecond
        return try await database.write { connection in
            try connection.execute(
                """
                UPDATE promotion SET withdrawn_at = ?4
                WHERE app = ?1 AND environment = ?2 AND code = ?3 AND withdrawn_at IS NULL
                """, ledgerID.values + [.text(code), .integer(now.milliseconds)]) > 0
        }
    }

    /// Gives a customer the feature of a code, once. Throws `PromotionRefusal`.
    func redeem(
        code: String, for key: CustomerKey, grantID: String, as request: IdempotentRequest?,
        respond: @escaping @Sendable (StoredAnswer) throws -> KeptAnswer
    ) async throws -> KeptAnswer {
        try await write(once: request) { connection, outcome in
            var transaction = transaction(connection, on: key.ledgerID)
            let customer = try transaction.register(key.customer)
            try transaction.redeem(code: code, for: customer, grantID: grantID)
            return try respond(try finish(transaction, for: customer, &outcome))
        }
    }
}

extension LedgerTransaction {
    fileprivate mutating func redeem(code: String, for customer: CustomerID, grantID: String) throws {
        let row = try connection.first(
            """
            SELECT code, feature, lasts, grant_until, redeemable_until, redemption_limit, redemptions
            FROM promotion WHERE app = ?1 AND environment = ?2 AND code = ?3 AND withdrawn_at IS NULL
            """, values(.text(code)))
        guard let promotion = try row.map(Promotion.init(row:)) else { throw Ledger.PromotionRefusal.unknown }
        let insertedCount = try connection.execute(
            """
            INSERT INTO promotion_redemption (app, environment, customer, code, grant_id, redeemed_at)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6) ON CONFLICT (app, environment, customer, code) DO NOTHING
            """, values(.text(customer.rawValue), .text(code), .text(grantID), .integer(now.milliseconds)))
        guard insertedCount > 0 else { return }
        if let end = promotion.redeemableUntil, now >= end { throw Ledger.PromotionRefusal.notRedeemable }
        let until = promotion.lasts?.end(from: now) ?? promotion.until
        if let until, until <= now { throw Ledger.PromotionRefusal.notRedeemable }
        let counted = try connection.execute(
            """
            UPDATE promotion SET redemptions = redemptions + 1
            WHERE app = ?1 AND environment = ?2 AND code = ?3 AND withdrawn_at IS NULL
                AND (redemption_limit IS NULL OR redemptions < redemption_limit)
            """, values(.text(code)))
        guard counted > 0 else { throw Ledger.PromotionRefusal.notRedeemable }
        try add(
            Grant(id: grantID, feature: promotion.feature, from: now, until: until, reason: "code \(code)"),
            to: customer)
    }
}

extension Promotion {
    fileprivate init(row: SQLRow) throws {
        let (lasts, limit): (String?, Int?) = (try row["lasts"], try row["redemption_limit"])
        let (until, redeemable): (Int64?, Int64?) = (try row["grant_until"], try row["redeemable_until"])
        self.init(
            code: try row["code"], feature: try row["feature"],
            lasts: lasts.flatMap { SubscriptionPeriod(iso8601: $0) },
            until: until.map { Date(milliseconds: $0) }, redeemableUntil: redeemable.map { Date(milliseconds: $0) },
            limit: limit, redemptions: try row["redemptions"])
    }
}

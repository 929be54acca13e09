import Foundation
import Primitives
import SQLStorage
import SimulatorControl
import StoreModel

/// Offer codes, the offers that only they redeem, and their redemptions.
extension SimulatorDatabase {
    /// A code, with its batch and the number of its redemptions.
    struct IssuedCode: Sendable, Hashable {
        var code: String
        var batch: CodeBatch
        var redeemed: Int
    }

    // MARK: - Codes

    func offerCode(_ code: String) throws -> IssuedCode? {
        try sql.first(
            """
            SELECT code, redeemed, code_batch.* FROM offer_code JOIN code_batch ON code_batch.id = offer_code.batch
            WHERE code = ?1
            """, [.text(code)]
        ).map { IssuedCode(code: try $0["code"], batch: try Self.codeBatch($0), redeemed: try $0["redeemed"]) }
    }

    /// Whether codes were created for an offer, so that its identifier is not a code.
    func hasCodes(_ offer: String, of product: ProductID) throws -> Bool {
        try sql.first(
            "SELECT 1 FROM code_batch WHERE product = ?1 AND offer = ?2 LIMIT 1",
            [.text(product.rawValue), .text(offer)]) != nil
    }

    /// Inserts a batch and returns it with its number.
    func insert(_ batch: CodeBatch) throws -> CodeBatch {
        var batch = batch
        let row = try sql.first("SELECT coalesce(max(id), 0) + 1 AS next FROM code_batch")
        batch.id = try row?["next"] ?? 1
        try sql.execute(
            """
            INSERT INTO code_batch (id, at, product, offer, is_custom, code_limit, expires_at)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
            """,
            [
                .integer(batch.id), .integer(batch.createdAt.microseconds), .text(batch.product.rawValue),
                .text(batch.offer), SQLValue(batch.isCustom), .integer(Int64(batch.limit)), SQLValue(batch.expiresAt),
            ])
        return batch
    }

    /// Inserts a code. Returns `false` if the store has the code.
    func insert(_ code: String, of batch: CodeBatch, at place: Int) throws -> Bool {
        try sql.execute(
            "INSERT OR IGNORE INTO offer_code (code, batch, place) VALUES (?1, ?2, ?3)",
            [.text(code), .integer(batch.id), .integer(Int64(place))]) > 0
    }

    func codeBatch(_ id: Int64) throws -> CodeBatch? {
        try sql.first("SELECT * FROM code_batch WHERE id = ?1", [.integer(id)]).map(Self.codeBatch)
    }

    /// The batches, oldest first, each with the number of its codes and of their redemptions, and its first code that
    /// is not used up, or else its first code.
    func codeBatches() throws -> [(batch: CodeBatch, count: Int, redeemed: Int, next: IssuedCode)] {
        try sql.query("SELECT * FROM code_batch ORDER BY id").map(Self.codeBatch).compactMap { batch in
            let totals = try sql.first(
                "SELECT count(*) AS codes, coalesce(sum(redeemed), 0) AS redeemed FROM offer_code WHERE batch = ?1",
                [.integer(batch.id)])
            let next = try sql.first(
                "SELECT code, redeemed FROM offer_code WHERE batch = ?1 ORDER BY redeemed >= ?2, place LIMIT 1",
                [.integer(batch.id), .integer(Int64(batch.limit))])
            guard let totals, let next else { return nil }
            return (
                batch, try totals["codes"], try totals["redeemed"],
                IssuedCode(code: try next["code"], batch: batch, redeemed: try next["redeemed"])
            )
        }
    }

    /// The codes of a batch in the order of their creation.
    func codes(of batch: Int64) throws -> [StoreControlWire.OfferCodeBatch.Code] {
        try sql.query("SELECT code, redeemed FROM offer_code WHERE batch = ?1 ORDER BY place", [.integer(batch)])
            .map { .init(code: try $0["code"], redeemed: try $0["redeemed"]) }
    }

    /// Deactivates the codes of a batch. A batch that is deactivated keeps its instant.
    func deactivateCodes(of batch: Int64, at now: Date) throws {
        try sql.execute(
            "UPDATE code_batch SET deactivated_at = ?2 WHERE id = ?1 AND deactivated_at IS NULL",
            [.integer(batch), .integer(now.microseconds)])
    }

    private static func codeBatch(_ row: SQLRow) throws -> CodeBatch {
        CodeBatch(
            id: try row["id"], createdAt: try row.date("at"), product: ProductID(unchecked: try row["product"]),
            offer: try row["offer"], isCustom: try row["is_custom"],
            limit: Int(try row.number("code_limit", in: ColumnRange.redemptions)),
            expiresAt: try row.optionalDate("expires_at"), deactivatedAt: try row.optionalDate("deactivated_at"))
    }

    // MARK: - Redemptions

    /// Whether an account has redeemed an offer. A refund does not change that.
    func hasRedeemed(_ offer: String, of product: ProductID, _ account: Int64) throws -> Bool {
        try sql.first(
            "SELECT 1 FROM redemption WHERE account = ?1 AND product = ?2 AND offer = ?3",
            [.integer(account), .text(product.rawValue), .text(offer)]) != nil
    }

    /// Records the redemption of a code, and counts it if the code was created. The caller has checked the limit in the
    /// same transaction.
    func insertRedemption(_ code: String, _ offer: String, of product: ProductID, _ account: Int64, at now: Date) throws
    {
        try sql.execute(
            "INSERT INTO redemption (account, product, offer, code, at) VALUES (?1, ?2, ?3, ?4, ?5)",
            [
                .integer(account), .text(product.rawValue), .text(offer), .text(code),
                .integer(now.microseconds),
            ])
        try sql.execute("UPDATE offer_code SET redeemed = redeemed + 1 WHERE code = ?1", [.text(code)])
    }

    // MARK: - Offers of products that do not renew

    func purchaseOffer(_ id: String, of product: ProductID) throws -> PurchaseOffer? {
        try sql.first(
            "SELECT * FROM purchase_offer WHERE product = ?1 AND id = ?2", [.text(product.rawValue), .text(id)]
        ).map(Self.purchaseOffer)
    }

    func insert(_ offer: PurchaseOffer, of product: ProductID) throws {
        let names = JSONValue.array(offer.customers.map(\.rawValue).sorted().map { .string($0) })
        try sql.execute(
            "INSERT INTO purchase_offer (product, id, price, customers) VALUES (?1, ?2, ?3, ?4)",
            [
                .text(product.rawValue), .text(offer.id),
                .integer(Price(amount: offer.amount, currency: "").milliunits), .text(names.text()),
            ])
    }

    static func purchaseOffer(_ row: SQLRow) throws -> PurchaseOffer {
        let text: String = try row["customers"]
        let customers = try WireJSON.decode([StoreControlWire.PurchaseCustomer].self, from: Array(text.utf8))
        let price = try row.number("price", in: ColumnRange.price)
        return PurchaseOffer(
            id: try row["id"], amount: Price(milliunits: price, currency: "").amount, customers: Set(customers))
    }

    /// The instant at which an account last paid for a purchase or a period; `nil` if it never did.
    func lastPayment(of account: Int64, under conditions: RenewalConditions, at now: Date) throws -> Date? {
        let row = try sql.first(
            "SELECT max(purchased_at) AS last FROM purchase WHERE account = ?1 AND price > 0 AND share_owner IS NULL",
            [.integer(account)])
        let purchase: Int64? = try row?["last"]
        let periods = try subscriptions(of: account).filter { $0.share == nil }.compactMap { record in
            SubscriptionState(of: record, under: conditions, at: now).runs.last { run in
                run.offer.map { $0.price?.amount ?? 0 } ?? run.plan.price.amount > 0
            }.map { $0.purchaseDate(of: $0.count - 1) }
        }
        return (periods + [purchase.map { Date(microseconds: $0) }].compactMap(\.self)).max()
    }
}

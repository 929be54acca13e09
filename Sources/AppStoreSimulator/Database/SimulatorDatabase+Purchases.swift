import Foundation
import SQLStorage
import StoreModel

/// The purchases of products that are not subscriptions.
extension SimulatorDatabase {
    func insert(_ record: TransactionRecord, share: Share?) throws {
        try sql.execute(
            """
            INSERT INTO purchase (
                id, account, product, kind, purchased_at, quantity, token, price, currency, storefront,
                share_owner, share_first, share_from, share_until, offer)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15)
            """,
            [
                .integer(record.id), .integer(record.accountID), .text(record.productID.rawValue),
                .text(record.kind.rawValue), .integer(record.purchaseDate.microseconds),
                .integer(Int64(record.quantity)), SQLValue(record.appAccountToken),
                .integer(record.price.milliunits), .text(record.price.currency),
                SQLValue(record.storefront),
            ] + share.columns + [SQLValue(record.redeemedOfferID)])
    }

    func purchase(_ id: Int64, at now: Date) throws -> TransactionRecord? {
        try sql.first("SELECT * FROM purchase WHERE id = ?1", [.integer(id)]).map { try purchase($0, at: now) }
    }

    /// The purchases of an account, oldest first.
    func purchases(of account: Int64, at now: Date) throws -> [TransactionRecord] {
        try sql.query("SELECT * FROM purchase WHERE account = ?1 ORDER BY purchased_at, id", [.integer(account)])
            .map { try purchase($0, at: now) }
    }

    /// The shares of a purchase that Family Sharing has not ended, including shares that the store revoked.
    func shares(ofPurchase id: Int64, at now: Date) throws -> [TransactionRecord] {
        try sql.query(
            "SELECT * FROM purchase WHERE share_owner = ?1 AND share_until IS NULL ORDER BY id", [.integer(id)]
        ).map { try purchase($0, at: now) }
    }

    func unfinishedPurchases(of account: Int64, at now: Date) throws -> [TransactionRecord] {
        try sql.query(
            "SELECT * FROM purchase WHERE account = ?1 AND is_finished = 0 ORDER BY id", [.integer(account)]
        ).map { try purchase($0, at: now) }
    }

    /// The purchases that an account owns: consumables and revoked purchases are left out.
    func ownedPurchases(of account: Int64, at now: Date) throws -> [TransactionRecord] {
        try sql.query(
            "SELECT * FROM purchase WHERE account = ?1 AND kind <> ?2 AND addition_of IS NULL ORDER BY id",
            [.integer(account), .text(ProductType.consumable.rawValue)]
        ).map { try purchase($0, at: now) }.filter { $0.revocation == nil }
    }

    /// The account's first transaction of `product` that is not revoked.
    func owned(_ product: ProductID, by account: Int64, at now: Date) throws -> TransactionRecord? {
        try sql.query(
            "SELECT * FROM purchase WHERE account = ?1 AND product = ?2 ORDER BY id",
            [.integer(account), .text(product.rawValue)]
        ).map { try purchase($0, at: now) }.first { $0.revocation == nil }
    }

    func set(appAccountToken token: UUID, ofPurchase id: Int64) throws {
        try sql.execute("UPDATE purchase SET token = ?2 WHERE id = ?1", [.integer(id), SQLValue(token)])
    }

    func purchase(_ row: SQLRow, at now: Date) throws -> TransactionRecord {
        if let added = try seatAddition(row, at: now) { return added }
        let id = try row.number("id", in: ColumnRange.readable)
        let share = try row.share()
        let purchasedAt = try row.date("purchased_at")
        var record = TransactionRecord(
            id: id, accountID: try row["account"], originalID: id,
            productID: ProductID(unchecked: try row["product"]),
            kind: ProductType(rawValue: try row["kind"]), purchaseDate: purchasedAt,
            originalPurchaseDate: purchasedAt, quantity: try row["quantity"], appAccountToken: try row.id("token"),
            price: Price(
                milliunits: try row.number("price", in: ColumnRange.price), currency: try row["currency"]),
            storefront: try row["storefront"], redeemedOfferID: try row["offer"], sharedAt: share?.from)
        if let until = share?.until, until <= now {
            record.revocation = Revocation(at: until, kind: .familyRevoke)
            return record
        }
        let ownRevocation = try revocations(of: id)[id]
        let ownersRevocation = try share.flatMap { try revocations(of: $0.ownerOriginalID)[$0.ownerOriginalID]?.shared }
        let recorded = [ownRevocation, ownersRevocation].compactMap(\.self)
        record.revocation = recorded.first { $0.isInForce(at: now) }
        record.restoredAt = recorded.compactMap(\.reversedAt).filter { $0 <= now }.max()
        return record
    }
}

import Foundation
import SQLStorage
import StoreModel

extension Books {
    /// What an account's devices are told, with its place in the order of things.
    struct News: Sendable, Hashable {
        var cursor: Int64
        var update: UpdateRecord
        var transaction: TransactionRecord?
        var subscription: SubscriptionRecord?
    }

    func insert(_ update: UpdateRecord) throws {
        let cursor = try newestCursor() + 1
        try sql.execute(
            """
            INSERT INTO news (
                cursor, account, device, payment, product, state, purchase, is_already_owned, failure_code, failure_reason)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)
            """,
            [
                .integer(cursor), .integer(update.accountID), SQLValue(update.device?.rawValue),
                SQLValue(update.payment?.rawValue), .text(update.productID.rawValue), .text(update.state.rawValue),
                SQLValue(update.transactionID), SQLValue(update.isAlreadyOwned),
                SQLValue(update.failure?.code.rawValue), SQLValue(update.failure?.reason),
            ])
        guard let payment = update.payment else { return }
        try sql.execute(
            """
            INSERT INTO payment (account, id, cursor) VALUES (?1, ?2, ?3)
            ON CONFLICT (account, id) DO UPDATE SET cursor = ?3
            """, [.integer(update.accountID), .text(payment.rawValue), .integer(cursor)])
    }

    /// The answer a payment had, and its place; `nil` for a payment that was never made.
    func answer(to payment: PaymentID, of account: Int64) throws -> News? {
        try sql.first(
            """
            SELECT news.* FROM payment JOIN news ON news.cursor = payment.cursor
            WHERE payment.account = ?1 AND payment.id = ?2
            """, [.integer(account), .text(payment.rawValue)]
        ).map(Self.news)
    }

    func newestCursor() throws -> Int64 {
        let row = try sql.first("SELECT max(cursor) AS cursor FROM news")
        let cursor: Int64? = try row?["cursor"]
        return cursor ?? 0
    }

    /// What a device is told after `cursor`, oldest first: what its account has not finished, and whatever else it was
    /// not told yet. A purchase that is finished is told only to the device whose payment it answers.
    func news(for device: Device, after cursor: Int64, limit: Int) throws -> [News] {
        let rows = try sql.query(
            """
            SELECT news.* FROM news LEFT JOIN purchase ON purchase.id = news.purchase
            WHERE news.account = ?1 AND cursor > ?2 AND (
                state = 'purchased' AND is_finished = 0
                OR cursor > ?3 AND (device = ?4 OR device IS NULL AND state <> 'purchased'))
            ORDER BY cursor LIMIT ?5
            """,
            [
                .integer(device.account.id), .integer(cursor), .integer(device.seen), .text(device.id.rawValue),
                .integer(Int64(limit)),
            ])
        return try rows.map { row in
            var news = try Self.news(row)
            if let id = news.update.transactionID {
                news.transaction = try transaction(id)
                news.subscription = try news.transaction.flatMap { try subscription($0.originalID) }
            }
            return news
        }
    }

    /// Whether a device was told something up to `cursor` that is told once.
    func hasPassing(for device: Device, upTo cursor: Int64) throws -> Bool {
        try sql.first(
            """
            SELECT 1 FROM news WHERE account = ?1 AND cursor > ?2 AND cursor <= ?3
                AND (device = ?4 OR device IS NULL AND state <> 'purchased') LIMIT 1
            """,
            [.integer(device.account.id), .integer(device.seen), .integer(cursor), .text(device.id.rawValue)]) != nil
    }

    private static func news(_ row: SQLRow) throws -> News {
        let device: String? = try row["device"]
        let payment: String? = try row["payment"]
        let state: String = try row["state"]
        let code: String? = try row["failure_code"]
        let reason: String? = try row["failure_reason"]
        guard let state = UpdateRecord.State(rawValue: state) else {
            throw SQLError(
                .unexpectedValue, "The store's news hold the state \(state), which this version does not know.")
        }
        return News(
            cursor: try row["cursor"],
            update: UpdateRecord(
                accountID: try row["account"], device: device.map(DeviceID.init(unchecked:)),
                payment: payment.map(PaymentID.init(unchecked:)), productID: ProductID(unchecked: try row["product"]),
                state: state, transactionID: try row["purchase"], isAlreadyOwned: try row["is_already_owned"],
                failure: code.map { StoreFailure(code: .init(rawValue: $0), reason: reason ?? "") }))
    }
}

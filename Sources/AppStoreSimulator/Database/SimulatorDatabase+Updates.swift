import Foundation
import SQLStorage
import StoreModel

/// The stored updates for devices, without the changes that time makes.
extension SimulatorDatabase {
    struct StoredUpdate: Sendable, Hashable {
        var id: Int64
        var at: Date
        var update: UpdateRecord
    }

    func insert(_ update: UpdateRecord, at now: Date) throws {
        try sql.execute(
            """
            INSERT INTO news (
                account, at, device, payment, product, state, purchase, is_already_owned, failure_code, failure_reason)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)
            """,
            [
                .integer(update.accountID), .integer(now.microseconds), SQLValue(update.device?.rawValue),
                SQLValue(update.payment?.rawValue), .text(update.productID.rawValue), .text(update.state.rawValue),
                SQLValue(update.transactionID), SQLValue(update.isAlreadyOwned),
                SQLValue(update.failure?.code.rawValue), SQLValue(update.failure?.reason),
            ])
        guard let payment = update.payment else { return }
        try sql.execute(
            """
            INSERT INTO payment (account, id, news) VALUES (?1, ?2, last_insert_rowid())
            ON CONFLICT (account, id) DO UPDATE SET news = last_insert_rowid()
            """, [.integer(update.accountID), .text(payment.rawValue)])
    }

    /// The latest answer to a payment; `nil` if there is none.
    func answer(to payment: PaymentID, of account: Int64) throws -> StoredUpdate? {
        try sql.first(
            """
            SELECT news.* FROM payment JOIN news ON news.id = payment.news
            WHERE payment.account = ?1 AND payment.id = ?2
            """, [.integer(account), .text(payment.rawValue)]
        ).map(Self.storedUpdate)
    }

    /// The updates for a device after one instant and up to another, oldest first.
    func updates(for device: Device, after start: Date, until end: Date) throws -> [StoredUpdate] {
        try sql.query(
            """
            SELECT * FROM news WHERE account = ?1 AND at > ?2 AND at <= ?3 AND (device = ?4 OR device IS NULL)
            ORDER BY at, id
            """,
            [
                .integer(device.account.id), .integer(start.microseconds), .integer(end.microseconds),
                .text(device.id.rawValue),
            ]
        ).map(Self.storedUpdate)
    }

    static func storedUpdate(_ row: SQLRow) throws -> StoredUpdate {
        let device: String? = try row["device"]
        let payment: String? = try row["payment"]
        let state: String = try row["state"]
        let code: String? = try row["failure_code"]
        let reason: String? = try row["failure_reason"]
        guard let state = UpdateRecord.State(rawValue: state) else {
            throw SQLError(
                .unexpectedValue, "The simulator database has an update with an unknown state: \(state).")
        }
        return StoredUpdate(
            id: try row["id"], at: try row.date("at"),
            update: UpdateRecord(
                accountID: try row["account"], device: device.map(DeviceID.init(unchecked:)),
                payment: payment.map(PaymentID.init(unchecked:)), productID: ProductID(unchecked: try row["product"]),
                state: state, transactionID: try row["purchase"], isAlreadyOwned: try row["is_already_owned"],
                failure: code.map { StoreFailure(code: .init(rawValue: $0), reason: reason ?? "") }))
    }
}

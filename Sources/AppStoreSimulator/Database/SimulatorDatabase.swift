import SimulatorControl
import Foundation
import SQLStorage
import StoreKitAdapter
import StoreModel

/// The simulator database within one read or write: converts between rows and records.
struct SimulatorDatabase {
    let sql: any SQLConnection

    init(_ sql: any SQLConnection) { self.sql = sql }

    struct Account: Sendable, Hashable {
        var id: Int64
        var name: AccountName
        var appTransactionID: String
        var createdAt: Date
        /// The instant of the account's latest event.
        var lastEvent: Date
        var family: FamilyName?
        /// The country of the account's storefront. `nil` means that of the store's setting, or else of the catalogue.
        var storefront: String?
        var canMakePayments: Bool
        /// Whether the account's purchases wait for approval. `nil` means the setting of the store.
        var asksToBuy: Bool?
        /// Whether the account's purchases are interrupted. `nil` means the setting of the store.
        var isInterrupted: Bool?
    }

    struct Device: Sendable, Hashable {
        var id: DeviceID
        var account: Account
        /// The instant up to which the device has received everything except unfinished transactions.
        var deliveredUntil: Date
        /// The values that bind signed data to the device.
        var binding: DeviceBinding?
    }

    // MARK: - Accounts and devices

    func account(_ name: AccountName) throws -> Account? {
        try sql.first("SELECT * FROM account WHERE name = ?1", [.text(name.rawValue)]).map(Self.account)
    }

    func account(_ id: Int64) throws -> Account? {
        try sql.first("SELECT * FROM account WHERE id = ?1", [.integer(id)]).map(Self.account)
    }

    func account(appTransactionID: String) throws -> Account? {
        try sql.first("SELECT * FROM account WHERE app_transaction = ?1", [.text(appTransactionID)]).map(Self.account)
    }

    func accounts() throws -> [Account] {
        try sql.query("SELECT * FROM account ORDER BY id").map(Self.account)
    }

    /// The members of a family, oldest account first.
    func accounts(inFamily family: FamilyName) throws -> [Account] {
        try sql.query("SELECT * FROM account WHERE family = ?1 ORDER BY id", [.text(family.rawValue)]).map(Self.account)
    }

    /// An account, followed by the other members of its family, and by those who have its seats.
    func family(of account: Account) throws -> [Account] {
        let family = try account.family.map { try accounts(inFamily: $0) } ?? []
        var ids: Set<Int64> = [account.id]
        return [account] + (family + (try seatHolders(of: account.id))).filter { ids.insert($0.id).inserted }
    }

    /// Adds an account. Its events are later than every renewal condition that was set before.
    func add(account name: AccountName, appTransactionID: String, at now: Date) throws {
        try sql.execute(
            """
            INSERT INTO account (name, app_transaction, created_at, last_at)
            VALUES (?1, ?2, ?3, coalesce((SELECT max(at) FROM condition), 0))
            """,
            [.text(name.rawValue), .text(appTransactionID), .integer(now.microseconds)])
    }

    /// Saves the properties of an account that a tester can set.
    func save(_ account: Account) throws {
        try sql.execute(
            """
            UPDATE account SET family = ?2, storefront = ?3, can_pay = ?4, asks_to_buy = ?5, is_interrupted = ?6
            WHERE id = ?1
            """,
            [
                .integer(account.id), SQLValue(account.family?.rawValue), SQLValue(account.storefront),
                SQLValue(account.canMakePayments), SQLValue(account.asksToBuy), SQLValue(account.isInterrupted),
            ])
    }

    func set(lastEvent: Date, of accounts: [Int64]) throws {
        for account in accounts {
            try sql.execute(
                "UPDATE account SET last_at = ?2 WHERE id = ?1", [.integer(account), .integer(lastEvent.microseconds)])
        }
    }

    /// Sets the latest event of every account, after a change that affects the whole store.
    func setLastEvent(ofAll date: Date) throws {
        try sql.execute("UPDATE account SET last_at = ?1", [.integer(date.microseconds)])
    }

    /// The instant of the latest event of any account.
    func lastEvent() throws -> Date {
        let row = try sql.first("SELECT max(last_at) AS last FROM account")
        let last: Int64? = try row?["last"]
        return last.map { Date(microseconds: $0) } ?? .distantPast
    }

    private static func account(_ row: SQLRow) throws -> Account {
        let family: String? = try row["family"]
        return Account(
            id: try row["id"], name: AccountName(unchecked: try row["name"]),
            appTransactionID: try row["app_transaction"], createdAt: try row.date("created_at"),
            lastEvent: try row.date("last_at"), family: family.map { FamilyName(unchecked: $0) },
            storefront: try row["storefront"], canMakePayments: try row["can_pay"], asksToBuy: try row["asks_to_buy"],
            isInterrupted: try row["is_interrupted"])
    }

    func device(_ id: DeviceID) throws -> Device? {
        try sql.first(
            """
            SELECT account.*, seen, (SELECT seed FROM store) AS seed
            FROM device JOIN account ON account.id = device.account WHERE device.id = ?1
            """, [.text(id.rawValue)]
        ).map {
            Device(
                id: id, account: try Self.account($0), deliveredUntil: try $0.date("seen"),
                binding: DeviceBinding(id, seed: UInt64(bitPattern: try $0["seed"])))
        }
    }

    /// Adds a device. Its updates begin with unfinished transactions and with changes after `now`.
    func add(device id: DeviceID, number: Int64, account: Int64, at now: Date) throws {
        try sql.execute(
            "INSERT INTO device (id, number, account, seen) VALUES (?1, ?2, ?3, ?4)",
            [.text(id.rawValue), .integer(number), .integer(account), .integer(now.microseconds)])
    }

    /// Moves a device to another account. Its updates begin with unfinished transactions and with changes after `now`.
    func move(_ device: DeviceID, to account: Int64, at now: Date) throws {
        try sql.execute(
            "UPDATE device SET account = ?2, seen = ?3 WHERE id = ?1",
            [.text(device.rawValue), .integer(account), .integer(now.microseconds)])
    }

    func set(deliveredUntil: Date, of device: DeviceID) throws {
        try sql.execute(
            "UPDATE device SET seen = ?2 WHERE id = ?1 AND seen < ?2",
            [.text(device.rawValue), .integer(deliveredUntil.microseconds)])
    }

    /// Marks a transaction as finished. Returns `false` if the account has no such transaction by `now`.
    func finish(_ id: Int64, of account: Int64, at now: Date) throws -> Bool {
        if try sql.execute(
            "UPDATE purchase SET is_finished = 1 WHERE id = ?1 AND account = ?2", [.integer(id), .integer(account)]) > 0
        {
            return true
        }
        guard let record = try subscription(having: id), record.accountID == account,
            SubscriptionState(of: record, under: try conditions(), at: now).transaction(id) != nil
        else { return false }
        try sql.execute(
            "INSERT OR IGNORE INTO finished (original, id) VALUES (?1, ?2)",
            [.integer(record.originalID), .integer(id)])
        return true
    }

    /// Marks a transaction as unfinished, so that it is delivered again.
    func unfinish(_ id: Int64) throws {
        try sql.execute("UPDATE purchase SET is_finished = 0 WHERE id = ?1", [.integer(id)])
        guard let record = try subscription(having: id) else { return }
        try sql.execute(
            "DELETE FROM finished WHERE original = ?1 AND id = ?2", [.integer(record.originalID), .integer(id)])
    }

    func finished(of original: Int64) throws -> Set<Int64> {
        Set(try sql.query("SELECT id FROM finished WHERE original = ?1", [.integer(original)]).map { try $0["id"] })
    }

    // MARK: - Transactions

    /// The subscription of a transaction; `nil` for a purchase that is not a subscription, and for an unknown id.
    func subscription(having id: Int64) throws -> SubscriptionRecord? {
        let base = TransactionNumber.base(of: id)
        if let record = try subscription(base) { return record }
        let row = try sql.first("SELECT original FROM run WHERE base = ?1 LIMIT 1", [.integer(base)])
        return try row.flatMap { try subscription($0["original"]) }
    }

    /// The original transaction of a transaction.
    func original(of id: Int64) throws -> Int64 { try subscription(having: id)?.originalID ?? id }

    // MARK: - Sale numbers and time

    func numbers() throws -> SaleNumbers {
        guard let row = try sql.first("SELECT next_sale FROM store") else { throw Self.empty }
        return SaleNumbers(sale: try row.number("next_sale", in: ColumnRange.readableSale))
    }

    func save(_ numbers: SaleNumbers) throws {
        try sql.execute("UPDATE store SET next_sale = ?1", [.integer(numbers.sale)])
    }

    /// Returns a new, unique number for a device.
    func nextDevice() throws -> Int64 {
        try sql.execute("UPDATE store SET next_device = next_device + 1")
        guard let row = try sql.first("SELECT next_device FROM store") else { throw Self.empty }
        return try row["next_device"]
    }

    func seed() throws -> UInt64 {
        guard let row = try sql.first("SELECT seed FROM store") else { throw Self.empty }
        return UInt64(bitPattern: try row["seed"])
    }

    func clock() throws -> ClockAnchor {
        guard let row = try sql.first("SELECT clock_base, clock_reading, clock_rate, clock_revision FROM store") else {
            throw Self.empty
        }
        let rate: Double = try row["clock_rate"]
        guard (0...1e9).contains(rate) else {
            throw SQLError(.unexpectedValue, "The simulator database has an invalid time rate: \(rate).")
        }
        return ClockAnchor(
            base: try row.date("clock_base"), reading: try row.date("clock_reading"), rate: rate,
            revision: try row.number("clock_revision", in: ColumnRange.readable))
    }

    func save(_ clock: ClockAnchor) throws {
        try sql.execute(
            "UPDATE store SET clock_base = ?1, clock_reading = ?2, clock_rate = ?3, clock_revision = ?4",
            [
                .integer(clock.base.microseconds), .integer(clock.reading.microseconds), .real(clock.rate),
                .integer(clock.revision),
            ])
    }

    static let empty = SQLError(.unexpectedValue, "The simulator database is empty; use another data folder.")

    /// The virtual time according to the stored clock. If the stored clock has the revision of `clock`, the result is
    /// not earlier than an instant that `clock` returned.
    func now(_ clock: AnchoredClock) throws -> Date {
        let anchor = try self.clock()
        let now = anchor.reading(at: clock.base.now())
        return (anchor.revision == clock.anchor.revision ? max(now, clock.now()) : now).wholeMilliseconds
    }
}

import Foundation
import SQLStorage
import StoreKitAdapter
import StoreModel

/// The store's books within one read or write of the database: rows in, records out.
struct Books {
    let sql: any SQLConnection

    init(_ sql: any SQLConnection) { self.sql = sql }

    struct Account: Sendable, Hashable {
        var id: Int64
        var name: AccountName
        var appTransactionID: String
    }

    struct Device: Sendable, Hashable {
        var id: DeviceID
        var account: Account
        /// The newest update that the device has said to have.
        var seen: Int64
    }

    // MARK: - Accounts and devices

    func account(_ name: AccountName) throws -> Account? {
        try sql.first("SELECT id, name, app_transaction FROM account WHERE name = ?1", [.text(name.rawValue)])
            .map(Self.account)
    }

    func accounts() throws -> [Account] {
        try sql.query("SELECT id, name, app_transaction FROM account ORDER BY id").map(Self.account)
    }

    func add(account name: AccountName, appTransactionID: String) throws {
        try sql.execute(
            "INSERT INTO account (name, app_transaction) VALUES (?1, ?2)",
            [.text(name.rawValue), .text(appTransactionID)])
    }

    private static func account(_ row: SQLRow) throws -> Account {
        Account(
            id: try row["id"], name: AccountName(unchecked: try row["name"]),
            appTransactionID: try row["app_transaction"])
    }

    func device(_ id: DeviceID) throws -> Device? {
        let row = try sql.first(
            """
            SELECT account.id, name, app_transaction, seen FROM device JOIN account ON account.id = device.account
            WHERE device.id = ?1
            """, [.text(id.rawValue)])
        return try row.map { Device(id: id, account: try Self.account($0), seen: try $0["seen"]) }
    }

    /// A device starts with what is unfinished and with what happens from now on.
    func add(device id: DeviceID, account: Int64) throws {
        try sql.execute(
            "INSERT INTO device (id, account, seen) VALUES (?1, ?2, ?3)",
            [.text(id.rawValue), .integer(account), .integer(try newestCursor())])
    }

    func set(seen: Int64, of device: DeviceID) throws {
        try sql.execute(
            "UPDATE device SET seen = ?2 WHERE id = ?1 AND seen < ?2", [.text(device.rawValue), .integer(seen)])
    }

    // MARK: - Numbers and time

    func numbers() throws -> Numbers {
        guard let row = try sql.first("SELECT next_transaction, next_order FROM store") else { throw Self.empty }
        return Numbers(transaction: try row["next_transaction"], order: try row["next_order"])
    }

    func save(_ numbers: Numbers) throws {
        try sql.execute(
            "UPDATE store SET next_transaction = ?1, next_order = ?2",
            [.integer(numbers.transaction), .integer(numbers.order)])
    }

    /// A number for a new device, given out once.
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
        return ClockAnchor(
            base: Date(milliseconds: try row["clock_base"]), reading: Date(milliseconds: try row["clock_reading"]),
            rate: try row["clock_rate"], revision: try row["clock_revision"])
    }

    func save(_ clock: ClockAnchor) throws {
        try sql.execute(
            "UPDATE store SET clock_base = ?1, clock_reading = ?2, clock_rate = ?3, clock_revision = ?4",
            [
                .integer(clock.base.milliseconds), .integer(clock.reading.milliseconds), .real(clock.rate),
                .integer(clock.revision),
            ])
    }

    static let empty = SQLError(.unexpectedValue, "The store's books are empty; use another data folder.")

    // MARK: - Facts

    /// Writes what happened at `now` and returns the accounts that have news.
    ///
    /// What has changed is signed with a later date than anything signed of it before, also when no virtual time has
    /// passed: of two signatures the one with the later date holds.
    func save(_ facts: [Fact], at now: Date) throws -> Set<Int64> {
        var accounts: Set<Int64> = []
        for fact in facts {
            switch fact {
            case .transaction(let record): try insert(record)
            case .upgraded(let id):
                try sql.execute(
                    "UPDATE purchase SET is_upgraded = 1, signed_from = max(signed_from, ?2) + 1 WHERE id = ?1",
                    [.integer(id), .integer(now.milliseconds)])
            case .subscription(let record): try upsert(record, at: now)
            case .update(let update):
                try insert(update)
                accounts.insert(update.accountID)
            }
        }
        return accounts
    }
}

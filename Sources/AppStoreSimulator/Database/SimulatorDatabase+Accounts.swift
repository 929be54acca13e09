import Foundation
import Primitives
import SQLStorage
import StoreModel

/// The storefronts, families and devices of accounts.
extension SimulatorDatabase {
    /// The country of an account's storefront; `nil` means that of the catalogue.
    func country(of account: Account) throws -> String? { account.country(try settings()) }

    struct Family: Sendable, Hashable {
        var name: FamilyName
        var organizer: Int64
    }

    func family(_ name: FamilyName) throws -> Family? {
        try sql.first("SELECT * FROM family WHERE name = ?1", [.text(name.rawValue)]).map(Self.family)
    }

    func families() throws -> [Family] { try sql.query("SELECT * FROM family ORDER BY name").map(Self.family) }

    func add(_ family: Family) throws {
        try sql.execute(
            "INSERT INTO family (name, organizer) VALUES (?1, ?2)",
            [.text(family.name.rawValue), .integer(family.organizer)])
    }

    func remove(family name: FamilyName) throws {
        try sql.execute("DELETE FROM family WHERE name = ?1", [.text(name.rawValue)])
    }

    private static func family(_ row: SQLRow) throws -> Family {
        Family(name: FamilyName(unchecked: try row["name"]), organizer: try row["organizer"])
    }

    /// The non-consumables that an account bought itself and that are not revoked.
    func shareablePurchases(of account: Int64, at now: Date) throws -> [TransactionRecord] {
        try sql.query(
            "SELECT * FROM purchase WHERE account = ?1 AND kind = ?2 AND share_owner IS NULL ORDER BY id",
            [.integer(account), .text(ProductType.nonConsumable.rawValue)]
        ).map { try purchase($0, at: now) }.filter { $0.revocation == nil }
    }

    /// The purchases that others share with an account and that are not revoked, with their owners.
    func sharedPurchases(with account: Int64, at now: Date) throws -> [(TransactionRecord, owner: Int64)] {
        try sql.query(
            """
            SELECT purchase.*, owners.account AS owner FROM purchase JOIN purchase owners
            ON owners.id = purchase.share_owner WHERE purchase.account = ?1 ORDER BY purchase.id
            """, [.integer(account)]
        ).map { (try purchase($0, at: now), try $0["owner"]) }.filter { $0.0.revocation == nil }
    }

    func endShare(ofPurchase id: Int64, at now: Date) throws {
        try sql.execute(
            "UPDATE purchase SET share_until = ?2 WHERE id = ?1", [.integer(id), .integer(now.microseconds)])
    }

    /// The devices of an account, oldest first.
    func devices(of account: Int64) throws -> [DeviceID] {
        try sql.query("SELECT id FROM device WHERE account = ?1 ORDER BY number", [.integer(account)])
            .map { DeviceID(unchecked: try $0["id"]) }
    }

    func remove(_ device: DeviceID) throws {
        try sql.execute("DELETE FROM device WHERE id = ?1", [.text(device.rawValue)])
    }

    /// Records the nonce of an accepted signature. Returns `false` if it was used before.
    func take(nonce: UUID) throws -> Bool {
        try sql.execute("INSERT OR IGNORE INTO nonce (id) VALUES (?1)", [.text(nonce.uuidString.lowercased())]) > 0
    }
}

import Foundation
import StoreKitAdapter
import StoreModel

/// The devices that are signed in.
extension SimulatedAppStore {
    /// The devices that are signed in to an account, oldest first. Throws `unknownAccount`.
    public func deviceIDs(of account: AccountName) throws -> [DeviceID] {
        try devices(of: account).map { DeviceID(unchecked: $0.deviceID) }
    }

    package func devices(of account: AccountName) throws -> [StoreWire.Device] {
        try database.read { sql in
            let db = SimulatorDatabase(sql)
            let account = try db.known(account)
            return try db.devices(of: account.id).map { try db.describe($0, account, catalogues) }
        }
    }

    /// From now on the device is unknown; its app has to sign in anew. Throws `unknownDevice`.
    public func signOut(_ device: DeviceID) async throws {
        let account = try await database.write { sql in
            let db = SimulatorDatabase(sql)
            let account = try db.known(device).account
            try db.remove(device)
            return account.id
        }
        signal.raise([account])
    }

    /// The device belongs to another account from now on: it hears of that account's purchases, and shows its storefront.
    /// Throws `unknownDevice`, `unknownAccount`.
    public func switchAccount(of device: DeviceID, to account: AccountName) async throws {
        let (before, after) = try await database.write { [virtualClock] sql in
            let db = SimulatorDatabase(sql)
            let before = try db.known(device).account
            let after = try db.known(account)
            if before.id != after.id {
                try db.move(device, to: after.id, at: try db.beginning(for: after, virtualClock))
            }
            return (before.id, after.id)
        }
        signal.raise([before, after])
    }
}

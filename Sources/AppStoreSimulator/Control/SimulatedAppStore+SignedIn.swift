import Foundation
import StoreKitAdapter
import StoreModel

/// The devices that are signed in.
extension SimulatedAppStore {
    /// Returns the devices that are signed in to an account, oldest first.
    ///
    /// - Parameter account: The account.
    /// - Returns: The ids of the devices.
    /// - Throws: `SimulatorError` (`unknownAccount`).
    public func deviceIDs(of account: AccountName) throws -> [DeviceID] {
        try devices(of: account).map { DeviceID(unchecked: $0.deviceID) }
    }

    package func devices(of account: AccountName) throws -> [StoreWire.Device] {
        try database.read { sql in
            let db = SimulatorDatabase(sql)
            let account = try db.existingAccount(account)
            return try db.devices(of: account.id).map { try db.describe($0, account, catalogues) }
        }
    }

    /// Signs a device out. It is then unknown, and its app has to sign in again.
    ///
    /// - Parameter device: The device.
    /// - Throws: `SimulatorError` (`unknownDevice`).
    public func signOut(_ device: DeviceID) async throws {
        let account = try await database.write { sql in
            let db = SimulatorDatabase(sql)
            let account = try db.existingDevice(device).account
            try db.remove(device)
            return account.id
        }
        signal.raise([account])
    }

    /// Moves a device to another account. The device gets the updates and the storefront of that account from now on.
    ///
    /// - Parameters:
    ///   - device: The device.
    ///   - account: The new account.
    /// - Throws: `SimulatorError` (`unknownDevice`, `unknownAccount`).
    public func switchAccount(of device: DeviceID, to account: AccountName) async throws {
        let (before, after) = try await database.write { [virtualClock] sql in
            let db = SimulatorDatabase(sql)
            let before = try db.existingDevice(device).account
            let after = try db.existingAccount(account)
            if before.id != after.id {
                try db.move(device, to: after.id, at: try db.startOfUpdates(for: after, virtualClock))
            }
            return (before.id, after.id)
        }
        signal.raise([before, after])
    }
}

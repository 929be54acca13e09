import Foundation
import Primitives
import StoreModel

/// A storage that can move a damaged value aside for inspection.
package protocol RepairableStorage: SecureStorage {
    /// Moves a value aside, durably. Keeps the last one that was set aside for each key. Returns its new location, or
    /// `nil` when there was no value.
    func setAside(_ key: String) throws -> String?
}

extension FileSecureStorage: RepairableStorage {
    /// Renames the file by adding `.damaged`.
    ///
    /// - Parameter key: The key of the value.
    /// - Returns: The path of the renamed file, or `nil` if there is none.
    /// - Throws: `PurchaseError` with the code `storageFailed`.
    public func setAside(_ key: String) throws -> String? {
        let path = try path(for: key)
        let aside = path + ".damaged"
        guard rename(path, aside) == 0 else {
            if errno == ENOENT { return nil }
            throw Self.failure("set aside", key, errno)
        }
        try Self.convertingErrors(key) { () throws(FileFailure) in try DurableFile.flush(directory) }
        return aside
    }
}

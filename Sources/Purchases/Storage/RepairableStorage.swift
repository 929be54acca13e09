import Foundation
import Primitives
import StoreModel

/// A storage that can keep a damaged value beside its place, for whoever wants to look at it, and have the place free.
package protocol RepairableStorage: SecureStorage {
    /// Durable when it returns; of values set aside under one key the last is kept. Returns where it is now, `nil` when
    /// there was none.
    func setAside(_ key: String) throws -> String?
}

extension FileSecureStorage: RepairableStorage {
    /// The file is renamed: `.damaged` is added. Throws `PurchaseError.storageFailed`.
    public func setAside(_ key: String) throws -> String? {
        let path = try path(for: key)
        let aside = path + ".damaged"
        guard rename(path, aside) == 0 else {
            if errno == ENOENT { return nil }
            throw Self.failure("set aside", key, errno)
        }
        try Self.explaining(key) { () throws(FileFailure) in try DurableFile.flush(directory) }
        return aside
    }
}

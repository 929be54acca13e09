import Foundation
import Primitives

/// A lock of the system on a file of its own, which ends with the process that has it.
final class FolderClaim: StorageClaim {
    private let file: Locked<Int32?>

    /// `nil` when another claim on the folder stands.
    init?(directory: String) throws {
        guard let file = try StorageFile.lock("\(directory)/.claim") else { return nil }
        self.file = Locked(file)
    }

    deinit { release() }

    func release() {
        let held = file.withLock { file in
            defer { file = nil }
            return file
        }
        if let held { close(held) }
    }
}

extension FileSecureStorage: ClaimableStorage {
    /// Throws `PurchaseError.storageFailed` when the folder cannot be locked.
    public func claim() throws -> (any StorageClaim)? { try FolderClaim(directory: directory) }
}

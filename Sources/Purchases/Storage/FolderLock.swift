import Foundation
import Primitives

/// A lock of the system on a file of its own, which ends with the process that has it.
final class FolderLock: StorageClaim {
    private let file: Locked<Int32?>

    /// `nil` when another claim on the folder stands.
    init?(directory: String) throws {
        guard let file = try Self.lock("\(directory)/.claim") else { return nil }
        self.file = Locked(file)
    }

    deinit { release() }

    /// The open and locked file, made when missing; `nil` while somebody else holds the lock. Closing it gives it back.
    private static func lock(_ path: String) throws -> Int32? {
        let file = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0o600)
        guard file >= 0 else { throw FileSecureStorage.failure("claim the folder of", path, errno) }
        guard DurableFile.retrying({ Int(flock(file, LOCK_EX | LOCK_NB)) }) == 0 else {
            let reason = errno
            close(file)
            if reason == EWOULDBLOCK { return nil }
            throw FileSecureStorage.failure("claim the folder of", path, reason)
        }
        return file
    }

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
    package func claim() throws -> (any StorageClaim)? { try FolderLock(directory: directory) }
}

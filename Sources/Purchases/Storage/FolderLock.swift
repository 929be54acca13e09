import Foundation
import Primitives

/// A lock on a folder: a system lock on a file in it. It ends with its process.
final class FolderLock: StorageLock {
    private let file: Locked<Int32?>

    /// Locks the folder. Returns `nil` when another lock exists.
    init?(directory: String) throws {
        guard let file = try Self.lock("\(directory)/.claim") else { return nil }
        self.file = Locked(file)
    }

    deinit { release() }

    /// Opens and locks the file, which is created if it is missing. Returns `nil` while another lock exists. Closing
    /// the file unlocks it.
    private static func lock(_ path: String) throws -> Int32? {
        let file = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0o600)
        guard file >= 0 else { throw FileSecureStorage.failure("lock the folder of", path, errno) }
        guard DurableFile.retrying({ Int(flock(file, LOCK_EX | LOCK_NB)) }) == 0 else {
            let reason = errno
            close(file)
            if reason == EWOULDBLOCK { return nil }
            throw FileSecureStorage.failure("lock the folder of", path, reason)
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

extension FileSecureStorage: LockableStorage {
    /// Locks the folder.
    ///
    /// - Throws: `PurchaseError` with the code `storageFailed` when the folder cannot be locked.
    package func lock() throws -> (any StorageLock)? { try FolderLock(directory: directory) }
}

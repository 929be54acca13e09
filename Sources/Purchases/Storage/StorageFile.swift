import Foundation

/// The system calls under `FileSecureStorage`: everything that must be said to the kernel for a value to survive.
enum StorageFile {
    static func makePrivateDirectory(_ path: String) throws {
        do {
            try FileManager.default.createDirectory(
                atPath: path, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        } catch {
            throw PurchaseError(
                .storageFailed, "The folder \(path) cannot be made; choose one this user may write to.",
                underlying: error)
        }
        var status = stat()
        guard stat(path, &status) == 0 else { throw failure("open the folder", path, errno) }
        guard status.st_mode & 0o077 != 0 else { return }
        guard chmod(path, 0o700) == 0 else { throw failure("protect the folder", path, errno) }
    }

    /// The whole file, `nil` when there is none.
    static func read(_ path: String, upTo limit: Int, key: String) throws -> [UInt8]? {
        let file = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC)
        if file < 0, errno == ENOENT { return nil }
        guard file >= 0 else { throw failure("read", key, errno) }
        defer { close(file) }
        var content: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 64 << 10)
        while true {
            let count = retrying { Foundation.read(file, &buffer, buffer.count) }
            guard count >= 0 else { throw failure("read", key, errno) }
            if count == 0 { return content }
            content += buffer[..<count]
            guard content.count <= limit else {
                throw PurchaseError(
                    .storageCorrupt,
                    "The stored value of \"\(key)\" is longer than any that was written; remove \(path).")
            }
        }
    }

    /// Writes to `temporary`, flushes it, and gives it the name `path`. On failure nothing is left behind.
    static func write(_ content: [UInt8], to path: String, by temporary: String, key: String) throws {
        // A file of this name can only be what a process of the same number left behind when it was killed.
        unlink(temporary)
        let file = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
        guard file >= 0 else { throw failure("write", key, errno) }
        do {
            defer { close(file) }
            try writeAll(content, to: file, key: key)
            guard retrying({ Int(fsync(file)) }) == 0 else { throw failure("write", key, errno) }
        } catch {
            unlink(temporary)
            throw error
        }
        guard rename(temporary, path) == 0 else {
            let reason = errno
            unlink(temporary)
            throw failure("write", key, reason)
        }
    }

    /// The open and locked file, made when missing; `nil` while somebody else holds the lock. Closing it gives it back.
    static func lock(_ path: String) throws -> Int32? {
        let file = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0o600)
        guard file >= 0 else { throw failure("claim the folder of", path, errno) }
        guard retrying({ Int(flock(file, LOCK_EX | LOCK_NB)) }) == 0 else {
            let reason = errno
            close(file)
            if reason == EWOULDBLOCK { return nil }
            throw failure("claim the folder of", path, reason)
        }
        return file
    }

    /// Removing what is not there is no error.
    static func remove(_ path: String, key: String) throws {
        guard unlink(path) == 0 || errno == ENOENT else { throw failure("remove", key, errno) }
    }

    /// Makes the names in the folder durable.
    static func flushDirectory(_ path: String, key: String) throws {
        let folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard folder >= 0 else { throw failure("write", key, errno) }
        defer { close(folder) }
        guard retrying({ Int(fsync(folder)) }) == 0 else { throw failure("write", key, errno) }
    }

    private static func writeAll(_ content: [UInt8], to file: Int32, key: String) throws {
        try content.withUnsafeBytes { bytes in
            var written = 0
            while written < bytes.count {
                let rest = UnsafeRawBufferPointer(rebasing: bytes[written...])
                let count = retrying { Foundation.write(file, rest.baseAddress, rest.count) }
                guard count > 0 else { throw failure("write", key, errno) }
                written += count
            }
        }
    }

    /// Repeats a call that a signal interrupted.
    private static func retrying(_ call: () -> Int) -> Int {
        while true {
            let result = call()
            if result >= 0 || errno != EINTR { return result }
        }
    }

    private static func failure(_ action: String, _ subject: String, _ number: Int32) -> PurchaseError {
        PurchaseError(
            .storageFailed,
            "The secure storage cannot \(action) \"\(subject)\" (\(String(cString: strerror(number)))); "
                + "check permissions and free space.",
            underlying: POSIXError(POSIXErrorCode(rawValue: number) ?? .EIO))
    }
}

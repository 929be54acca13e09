import Foundation
import Primitives

/// A `SecureStorage` in a folder, for systems without a keychain. Each key has a file that only the user of the process
/// can read (folder 0700, files 0600).
///
/// A value is written to a temporary file, flushed to the disk and renamed, and the folder is flushed. After a crash, a
/// key has its old value or its new value. Reading verifies the SHA-256 of the value.
///
/// The storage throws `PurchaseError`: `storageFailed` with the system's reason, or `storageCorrupt` for a damaged
/// value. Errors contain the key, never the value. Any number of threads and processes can use a folder; a process that
/// needs exclusive access locks it.
public final class FileSecureStorage: SecureStorage {
    package struct Configuration: Sendable {
        /// The folder. It and its parents are created with mode 0700; a folder that other users can access gets mode
        /// 0700.
        package var directory: String
        /// The greatest length of a value, in bytes.
        package var maximumBytes: Int

        package init(directory: String, maximumBytes: Int = 4 << 20) {
            self.directory = directory
            self.maximumBytes = maximumBytes
        }
    }

    private let configuration: Configuration
    private let writes = Locked(0)

    package init(configuration: Configuration) throws {
        self.configuration = configuration
        try Self.makePrivateDirectory(configuration.directory)
    }

    /// Creates a storage.
    ///
    /// - Parameters:
    ///   - directory: The folder. It and its parents are created with mode 0700 if they are missing.
    ///   - maximumBytes: The greatest length of a value, in bytes.
    /// - Throws: `PurchaseError` with the code `storageFailed` when the folder cannot be created or protected.
    public convenience init(directory: String, maximumBytes: Int = 4 << 20) throws {
        try self.init(configuration: Configuration(directory: directory, maximumBytes: maximumBytes))
    }

    /// Reads a value.
    ///
    /// - Parameter key: The key.
    /// - Returns: The value, or `nil` if there is none.
    /// - Throws: `PurchaseError` with the code `storageFailed` or `storageCorrupt`.
    public func data(for key: String) throws -> [UInt8]? {
        let path = try path(for: key)
        let limit = configuration.maximumBytes + Envelope.overhead
        guard
            let content = try Self.convertingErrors(
                key, { () throws(FileFailure) in try DurableFile.read(path, upTo: limit) })
        else { return nil }
        guard let value = Envelope.open(content) else {
            throw PurchaseError(
                .storageCorrupt, "The stored value of \"\(key)\" is damaged; remove the file \(path).")
        }
        return value
    }

    /// Writes or removes a value durably.
    ///
    /// - Parameters:
    ///   - data: The value, or `nil` to remove it.
    ///   - key: The key.
    /// - Throws: `PurchaseError` with the code `storageFailed`.
    public func set(_ data: [UInt8]?, for key: String) throws {
        let path = try path(for: key)
        if let data {
            guard data.count <= configuration.maximumBytes else {
                throw PurchaseError(
                    .storageFailed,
                    "The value of \"\(key)\" has \(data.count) bytes; the limit is \(configuration.maximumBytes).")
            }
            let number = writes.withLock { count in
                count += 1
                return count
            }
            let temporary = "\(configuration.directory)/.new-\(getpid())-\(number)"
            try Self.convertingErrors(key) { () throws(FileFailure) in
                try DurableFile.write(Envelope.seal(data), to: path, by: temporary)
            }
        } else {
            guard unlink(path) == 0 || errno == ENOENT else { throw Self.failure("remove", key, errno) }
        }
        try Self.convertingErrors(key) { () throws(FileFailure) in try DurableFile.flush(configuration.directory) }
    }

    var directory: String { configuration.directory }

    func path(for key: String) throws -> String {
        let name = Self.fileName(for: key)
        guard !key.isEmpty, name.utf8.count <= 255 else {
            throw PurchaseError(
                .storageFailed, "A key of the secure storage has 1 to about 80 characters; choose a shorter one.")
        }
        return "\(configuration.directory)/\(name)"
    }

    /// Percent-encodes every byte except ASCII letters, digits, `-` and `_`, so that a name never leads out of the
    /// folder, never conflicts with a temporary file, and belongs to one key.
    private static func fileName(for key: String) -> String {
        let name = key.utf8.map { byte in
            let scalar = Unicode.Scalar(byte)
            let isPlain = scalar.isASCII && (scalar.properties.isAlphabetic || scalar.properties.numericType != nil)
            return isPlain || scalar == "-" || scalar == "_"
                ? String(Character(scalar)) : "%" + Hex.encode([byte])
        }
        return name.joined() + ".value"
    }

    private static func makePrivateDirectory(_ path: String) throws {
        do {
            try FileManager.default.createDirectory(
                atPath: path, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        } catch {
            throw PurchaseError(
                .storageFailed, "Cannot create the folder \(path); choose a folder that this user can write to.",
                underlying: error)
        }
        var status = stat()
        guard stat(path, &status) == 0 else { throw failure("open the folder", path, errno) }
        guard status.st_mode & 0o077 != 0 else { return }
        guard chmod(path, 0o700) == 0 else { throw failure("protect the folder", path, errno) }
    }

    /// Converts a file error to an error that names the key of the value.
    static func convertingErrors<Result>(
        _ key: String, _ body: () throws(FileFailure) -> Result
    ) throws(PurchaseError) -> Result {
        do {
            return try body()
        } catch  where error.action == "read" && error.errorNumber == EFBIG {
            throw PurchaseError(
                .storageCorrupt,
                "The stored value of \"\(key)\" is damaged: it is longer than the limit; remove \(error.path).")
        } catch {
            throw failure(error.action, key, error.errorNumber)
        }
    }

    static func failure(_ action: String, _ subject: String, _ errorNumber: Int32) -> PurchaseError {
        PurchaseError(
            .storageFailed,
            "The secure storage cannot \(action) \"\(subject)\" (\(String(cString: strerror(errorNumber)))); "
                + "check permissions and free space.",
            underlying: POSIXError(POSIXErrorCode(rawValue: errorNumber) ?? .EIO))
    }

    /// The format of a file: a marker with the version of the format, the SHA-256 of the value, and the value.
    private enum Envelope {
        static let mark = Array("souk1\n".utf8)
        static let overhead = mark.count + 32

        static func seal(_ value: [UInt8]) -> [UInt8] { mark + SHA256.hash(value) + value }

        static func open(_ content: [UInt8]) -> [UInt8]? {
            guard content.count >= overhead, content.starts(with: mark) else { return nil }
            let value = Array(content[overhead...])
            return SHA256.hash(value).elementsEqual(content[mark.count..<overhead]) ? value : nil
        }
    }
}

/// Storage for small values that other programs should not read: the Keychain on Apple platforms, files of mode 0600
/// elsewhere.
///
/// A read returns only a value that was written completely, even after a crash.
public protocol SecureStorage: Sendable {
    /// Reads a value.
    ///
    /// - Parameter key: The key of the value.
    /// - Returns: The bytes, or `nil` if there are none.
    /// - Throws: An error if the storage cannot be read.
    func data(for key: String) throws -> [UInt8]?
    /// Writes a value durably, or removes it.
    ///
    /// - Parameters:
    ///   - data: The bytes, or `nil` to remove the value.
    ///   - key: The key of the value.
    /// - Throws: An error if the storage cannot be written.
    func set(_ data: [UInt8]?, for key: String) throws
}

/// A storage that only one owner at a time can lock, in this process or in another.
package protocol LockableStorage: SecureStorage {
    /// Locks the storage. Returns `nil` if another owner has locked it.
    func lock() throws -> (any StorageLock)?
}

/// A lock on a storage. It lasts until it is released, is no longer referenced, or the process ends.
package protocol StorageLock: AnyObject, Sendable {
    func release()
}

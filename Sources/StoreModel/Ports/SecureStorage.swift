/// A small place for state that others should not read: the Keychain on Apple platforms, files of mode 0600 elsewhere.
///
/// A value is either the one before or the one written, also after a crash.
public protocol SecureStorage: Sendable {
    /// The bytes under `key`, `nil` when there are none.
    func data(for key: String) throws -> [UInt8]?
    /// Writes durably; `nil` removes.
    func set(_ data: [UInt8]?, for key: String) throws
}

/// A storage that can tell whether somebody uses it already, in this process or in another.
package protocol LockableStorage: SecureStorage {
    /// The right to be its one user; `nil` while somebody else has it.
    func lock() throws -> (any StorageLock)?
}

/// Held until it is released, is no longer referenced, or the process ends.
package protocol StorageLock: AnyObject, Sendable {
    func release()
}

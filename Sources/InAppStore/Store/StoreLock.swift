import Primitives
import StoreModel

/// The exclusive lock of a store on its storage, held while the store exists. It locks the name of the store in this
/// process, and the storage itself if the storage supports locks.
final class StoreLock: Sendable {
    private static let names = Locked<Set<ExactString>>([])
    private let name: String
    private let isHeld = Locked(true)
    private let storageLock: (any StorageLock)?

    /// Takes the lock. Throws `alreadyInUse`, or `storageFailed` if the storage cannot be locked.
    init(_ name: String, storage: any SecureStorage) throws {
        guard Self.names.withLock({ $0.insert(ExactString(name)).inserted }) else {
            throw PurchaseError(
                .alreadyInUse, "A store named \"\(name)\" already exists. Share it, or use another name for this one.")
        }
        self.name = name
        do {
            storageLock = try Self.lock(storage)
        } catch {
            Self.names.withLock { _ = $0.remove(ExactString(name)) }
            throw error
        }
    }

    deinit { release() }

    func release() {
        let wasHeld = isHeld.withLock { held in
            defer { held = false }
            return held
        }
        guard wasHeld else { return }
        storageLock?.release()
        Self.names.withLock { _ = $0.remove(ExactString(name)) }
    }

    private static func lock(_ storage: any SecureStorage) throws -> (any StorageLock)? {
        guard let storage = storage as? any LockableStorage else { return nil }
        let lock: (any StorageLock)?
        do {
            lock = try storage.lock()
        } catch {
            throw PurchaseError(.storageFailed, "Cannot lock the store's storage: \(error)", underlying: error)
        }
        guard let lock else {
            throw PurchaseError(
                .alreadyInUse,
                "Another store uses this storage, possibly in another process. Share that store, or close it.")
        }
        return lock
    }
}

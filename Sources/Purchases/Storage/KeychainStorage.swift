import Primitives
import StoreModel

/// A `SecureStorage` in Apple's Keychain, with a generic password for each key. With an access group, the apps of one
/// team share the values.
///
///     let storage = KeychainStorage(
///         service: "com.example.darkroom", accessGroup: "ABCDE12345.com.example.shared")
///
/// It can be created only on Apple platforms. After a crash, a key has its old value or its new value. Any number of
/// threads and processes can use a service. Values stay when the app is removed from the device.
///
/// The storage throws `PurchaseError`: `storageLocked` if the device must be unlocked first, `storageCorrupt` for a value that
/// cannot be decoded, otherwise `storageFailed` with the system's reason. Errors contain the key, never the value.
public struct KeychainStorage: SecureStorage {
    package struct Configuration: Sendable, Equatable {
        /// The name that separates these values from others in the app and in the access group.
        package var service: String
        /// The access group from the app's entitlements, with the prefix of the team. `nil` is the first group in the
        /// entitlements, which without the capability "Keychain Sharing" is the app's own.
        package var accessGroup: String?
        package var accessibility: Accessibility
        /// The greatest length of a value, in bytes.
        package var maximumBytes: Int

        package init(
            service: String, accessGroup: String? = nil, accessibility: Accessibility = .afterFirstUnlock,
            maximumBytes: Int = 4 << 20
        ) {
            self.service = service
            self.accessGroup = accessGroup
            self.accessibility = accessibility
            self.maximumBytes = maximumBytes
        }
    }

    /// When values can be read. Values cannot be moved to another device, not even with a backup.
    public typealias Accessibility = OpenEnum<KeychainStorage>

    private static let longestKey = 255
    private let configuration: Configuration
    private let keychain: any Keychain

    package init(configuration: Configuration, keychain: any Keychain) {
        self.configuration = configuration
        self.keychain = keychain
    }

    /// Reads a value.
    ///
    /// - Parameter key: The key, of at most 255 bytes.
    /// - Returns: The value, or `nil` if there is none.
    /// - Throws: `PurchaseError` with the code `storageFailed`, `storageLocked` or `storageCorrupt`.
    public func data(for key: String) throws -> [UInt8]? {
        let item = try item(key)
        let (status, value) = keychain.value(of: item)
        switch status {
        case .success: return value ?? []
        case .itemNotFound: return nil
        default: throw status.error("read", item)
        }
    }

    /// Writes or removes a value.
    ///
    /// - Parameters:
    ///   - data: The value, or `nil` to remove it.
    ///   - key: The key, of at most 255 bytes.
    /// - Throws: `PurchaseError` with the code `storageFailed` or `storageLocked`.
    public func set(_ data: [UInt8]?, for key: String) throws {
        let item = try item(key)
        guard let data else {
            let status = keychain.remove(item)
            guard [.success, .itemNotFound].contains(status) else { throw status.error("remove", item) }
            return
        }
        guard data.count <= configuration.maximumBytes else {
            throw PurchaseError(
                .storageFailed,
                "The value of \"\(key)\" has \(data.count) bytes; the limit is \(configuration.maximumBytes).")
        }
        try write(data, to: item)
    }

    /// Updates or adds the item. Repeats both if another process creates the item between the two calls.
    private func write(_ value: [UInt8], to item: KeychainItem) throws {
        var status = KeychainStatus.itemNotFound
        for _ in 0..<10 {
            status = keychain.update(item, value: value)
            if status == .itemNotFound { status = keychain.add(item, value: value) }
            if status != .duplicateItem { break }
        }
        guard status == .success else { throw status.error("write", item) }
    }

    private func item(_ key: String) throws -> KeychainItem {
        guard (1...Self.longestKey).contains(key.utf8.count) else {
            throw PurchaseError(
                .storageFailed, "A key of the Keychain has 1 to \(Self.longestKey) bytes; choose another one.")
        }
        return KeychainItem(
            service: configuration.service, account: key, accessGroup: configuration.accessGroup,
            accessibility: configuration.accessibility)
    }
}

extension KeychainStorage.Accessibility {
    /// After the device was unlocked once since its start. Purchases that arrive while it is locked can be stored.
    public static var afterFirstUnlock: Self { Self(rawValue: "afterFirstUnlock") }
    /// While the device is unlocked.
    public static var whenUnlocked: Self { Self(rawValue: "whenUnlocked") }
}

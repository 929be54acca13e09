import Primitives
import StoreModel

/// `SecureStorage` in Apple's Keychain: one generic password per key. With an access group, apps of one team read and
/// write the same values.
///
///     let storage = KeychainStorage(
///         service: "com.example.darkroom", accessGroup: "ABCDE12345.com.example.shared")
///
/// It is made on Apple's platforms alone. A value is the one before or the one written, also after a crash; any number of
/// threads and processes may use one service. Values stay when the app is removed from the device.
///
/// Throws `PurchaseError`: `storageLocked` while the device is locked, `storageCorrupt` for a value that cannot be
/// decoded, else `storageFailed` with the system's reason. Errors name the key, never the value.
public struct KeychainStorage: SecureStorage {
    package struct Configuration: Sendable, Equatable {
        /// Keeps values apart from those of others, within the app and within the access group.
        package var service: String
        /// Whose apps read the values: a group of the app's entitlements, the team's prefix included. `nil` is the first
        /// one they name, which without the capability "Keychain Sharing" is the app's own.
        package var accessGroup: String?
        package var accessibility: Accessibility
        /// The longest value, in bytes.
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

    /// When values may be read. They never leave the device, in no backup either.
    public typealias Accessibility = OpenEnum<KeychainStorage>

    private static let longestKey = 255
    private let configuration: Configuration
    private let keychain: any Keychain

    package init(configuration: Configuration, keychain: any Keychain) {
        self.configuration = configuration
        self.keychain = keychain
    }

    public func data(for key: String) throws -> [UInt8]? {
        let item = try item(key)
        let (status, value) = keychain.value(of: item)
        switch status {
        case .success: return value ?? []
        case .itemNotFound: return nil
        default: throw status.error("read", item)
        }
    }

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
                "The value of \"\(key)\" has \(data.count) bytes; at most \(configuration.maximumBytes) are kept.")
        }
        try write(data, to: item)
    }

    /// Another process may make or remove the item between the two calls, which then are each other's way out.
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
    /// From the first unlocking after the device was started: purchases that arrive while it is locked are kept.
    public static var afterFirstUnlock: Self { Self(rawValue: "afterFirstUnlock") }
    /// While the device is unlocked.
    public static var whenUnlocked: Self { Self(rawValue: "whenUnlocked") }
}

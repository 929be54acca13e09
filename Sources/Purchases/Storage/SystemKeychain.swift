#if canImport(Security)
    import Foundation
    import Security
    import StoreModel

    /// The Keychain of the device. On a Mac it is the data protection keychain, because the file-based keychain
    /// supports neither access groups nor accessibility.
    struct SystemKeychain: Keychain {
        func value(of item: KeychainItem) -> (status: KeychainStatus, value: [UInt8]?) {
            var query = query(for: item)
            query[kSecMatchLimit as String] = kSecMatchLimitOne
            query[kSecReturnData as String] = true
            var found: CFTypeRef?
            let status = SecItemCopyMatching(query as CFDictionary, &found)
            return (KeychainStatus(rawValue: status), (found as? NSData).map { Array(Data(referencing: $0)) })
        }

        func add(_ item: KeychainItem, value: [UInt8]) -> KeychainStatus {
            let attributes = query(for: item).merging(content(value, of: item)) { $1 }
            return KeychainStatus(rawValue: SecItemAdd(attributes as CFDictionary, nil))
        }

        func update(_ item: KeychainItem, value: [UInt8]) -> KeychainStatus {
            let content = content(value, of: item)
            return KeychainStatus(rawValue: SecItemUpdate(query(for: item) as CFDictionary, content as CFDictionary))
        }

        func remove(_ item: KeychainItem) -> KeychainStatus {
            KeychainStatus(rawValue: SecItemDelete(query(for: item) as CFDictionary))
        }

        private func query(for item: KeychainItem) -> [String: Any] {
            var query: [String: Any] = [
                kSecClass as String: kSecClassGenericPassword,
                kSecUseDataProtectionKeychain as String: true,
                kSecAttrService as String: item.service,
                kSecAttrAccount as String: item.account,
            ]
            query[kSecAttrAccessGroup as String] = item.accessGroup
            return query
        }

        private func content(_ value: [UInt8], of item: KeychainItem) -> [String: Any] {
            let accessible =
                item.accessibility == .whenUnlocked
                ? kSecAttrAccessibleWhenUnlockedThisDeviceOnly : kSecAttrAccessibleAfterFirstUnlockThisDeviceOnly
            return [kSecValueData as String: Data(value), kSecAttrAccessible as String: accessible]
        }
    }

    extension KeychainStorage {
        /// Creates a storage in the Keychain of the device.
        ///
        /// - Parameters:
        ///   - service: The name that separates these values from others in the app and in the access group.
        ///   - accessGroup: The access group from the app's entitlements, with the prefix of the team. `nil` is the
        ///     first group in the entitlements.
        ///   - accessibility: When values can be read: while the device is unlocked, or after its first unlock.
        ///   - maximumBytes: The greatest length of a value, in bytes.
        public init(
            service: String, accessGroup: String? = nil, accessibility: Accessibility = .afterFirstUnlock,
            maximumBytes: Int = 4 << 20
        ) {
            self.init(
                configuration: Configuration(
                    service: service, accessGroup: accessGroup, accessibility: accessibility,
                    maximumBytes: maximumBytes),
                keychain: SystemKeychain())
        }
    }
#endif

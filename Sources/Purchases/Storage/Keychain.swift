/// The four operations of Apple's Keychain on one item.
package protocol Keychain: Sendable {
    /// Returns the value of the item when the status is `success`.
    func value(of item: KeychainItem) -> (status: KeychainStatus, value: [UInt8]?)
    func add(_ item: KeychainItem, value: [UInt8]) -> KeychainStatus
    func update(_ item: KeychainItem, value: [UInt8]) -> KeychainStatus
    func remove(_ item: KeychainItem) -> KeychainStatus
}

/// A generic password of the Keychain: its attributes, and when it can be read.
package struct KeychainItem: Hashable, Sendable {
    package var service: String
    package var account: String
    /// The access group; `nil` is the app's own, the first one in its entitlements.
    package var accessGroup: String?
    package var accessibility: KeychainStorage.Accessibility
}

/// An `OSStatus` of the Keychain (Apple's "Security Framework Result Codes").
package struct KeychainStatus: RawRepresentable, Hashable, Sendable {
    package let rawValue: Int32
    package init(rawValue: Int32) { self.rawValue = rawValue }

    package static let success = KeychainStatus(rawValue: 0)
    package static let diskFull = KeychainStatus(rawValue: -34)
    package static let notAvailable = KeychainStatus(rawValue: -25291)
    package static let duplicateItem = KeychainStatus(rawValue: -25299)
    package static let itemNotFound = KeychainStatus(rawValue: -25300)
    /// The device is locked, or was not unlocked since it was started.
    package static let interactionNotAllowed = KeychainStatus(rawValue: -25308)
    package static let undecodable = KeychainStatus(rawValue: -26275)
    package static let missingEntitlement = KeychainStatus(rawValue: -34018)

    /// Returns the error for a status that reports a failure. The text does not contain the value of `item`.
    package func error(_ action: String, _ item: KeychainItem) -> PurchaseError {
        let itemName = "\"\(item.account)\" in the Keychain"
        switch self {
        case .interactionNotAllowed:
            return PurchaseError(
                .storageLocked, "The Keychain cannot \(action) \"\(item.account)\" while the device is locked.")
        case .missingEntitlement:
            let group = item.accessGroup.map { "the access group \($0)" } ?? "an access group"
            return PurchaseError(
                .storageFailed,
                "The app may not \(action) \(itemName): its entitlements (keychain-access-groups) do not contain \(group)."
            )
        case .undecodable:
            return PurchaseError(.storageCorrupt, "The value of \(itemName) is damaged; remove it.")
        case .diskFull:
            return PurchaseError(.storageFailed, "The disk is full; the app cannot \(action) \(itemName).")
        case .notAvailable:
            return PurchaseError(.storageFailed, "There is no Keychain; the app cannot \(action) \(itemName).")
        default:
            return PurchaseError(.storageFailed, "The app cannot \(action) \(itemName) (OSStatus \(rawValue)).")
        }
    }
}

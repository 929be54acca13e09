import Foundation
import Primitives
import Purchases
import StoreModel

/// Reads what sibling apps have told of their subscriptions, without a store and without asking anybody.
///
///     let reader = SharedUserInfoReader(accessGroup: "ABCDE12345.com.example.shared")
///     if reader.isSubscriber(ofApp: "com.example.darkroom") { … }
///
/// A sibling tells when its `StoreConfiguration.sharedStorage` is the same storage. What it has told gives access until
/// the subscription ends, with the sibling's grace, and ends then by the clock though the sibling never runs again.
public struct SharedUserInfoReader: Sendable {
    let storage: any SecureStorage
    private let clock: any WallClock

    public init(storage: any SecureStorage, clock: any WallClock = SystemClock()) {
        self.storage = storage
        self.clock = clock
    }

    /// Whether the app has told of a subscription that gives access now. What it has not told, and what cannot be read, is
    /// a no; `userInfo(ofApp:)` says why.
    public func isSubscriber(ofApp application: BundleID) -> Bool {
        ((try? userInfo(ofApp: application)) ?? nil)?.isSubscriber(at: clock.now()) ?? false
    }

    /// What the app has told, `nil` when nothing: it has never asked its server on this device, or its customer has left.
    ///
    /// Throws `PurchaseError`: `sharedUserInfoDamaged`, `sharedUserInfoOfOtherVersion`, and `storageFailed` when the storage
    /// cannot be read, because the device is locked for example.
    public func userInfo(ofApp application: BundleID) throws(PurchaseError) -> SharedUserInfo? {
        let bytes: [UInt8]?
        do {
            bytes = try storage.data(for: Self.key(application))
        } catch let error as PurchaseError where error.code == .storageCorrupt {
            throw PurchaseError(
                .sharedUserInfoDamaged, "What \(application) has told of its subscriptions is damaged. \(error.reason)",
                underlying: error)
        } catch {
            throw PurchaseError(
                .storageFailed, "What \(application) has told of its subscriptions cannot be read: \(error)",
                underlying: error)
        }
        guard let bytes else { return nil }
        return try SharedUserInfo(bytes, of: application)
    }

    /// Where an app tells.
    static func key(_ application: BundleID) -> String { "subscriptions.\(application)" }
}

#if canImport(Security)
    extension KeychainStorage {
        /// Where the apps of an access group tell each other of their subscriptions: for
        /// `StoreConfiguration.sharedStorage`. The group is one of the app's entitlements (capability "Keychain Sharing"),
        /// the team's prefix included.
        public static func shared(accessGroup: String) -> KeychainStorage {
            KeychainStorage(service: "souk.shared", accessGroup: accessGroup)
        }
    }

    extension SharedUserInfoReader {
        public init(accessGroup: String) { self.init(storage: KeychainStorage.shared(accessGroup: accessGroup)) }
    }
#endif

import Foundation
import Primitives
import Purchases
import StoreModel

/// Reads the subscriptions that sibling apps share, without a store and without a request.
///
///     let reader = SharedUserInfoReader(accessGroup: "ABCDE12345.com.example.shared")
///     if reader.isSubscriber(ofApp: "com.example.darkroom") { … }
///
/// A sibling app shares them if its `StoreConfiguration.sharedStorage` is the same storage. A shared subscription gives
/// access until it ends, plus the sibling's grace period. Access ends by the clock, even if the sibling never runs
/// again.
public struct SharedUserInfoReader: Sendable {
    let storage: any SecureStorage
    private let clock: any WallClock

    /// Creates a reader.
    ///
    /// - Parameters:
    ///   - storage: The storage that the apps share.
    ///   - clock: The clock that decides whether access has ended.
    public init(storage: any SecureStorage, clock: any WallClock = SystemClock()) {
        self.storage = storage
        self.clock = clock
    }

    /// Returns whether the app `application` shares a subscription that gives access now. Returns `false` if it shares
    /// nothing or its data cannot be read; `userInfo(ofApp:)` throws the reason.
    public func isSubscriber(ofApp application: BundleID) -> Bool {
        ((try? userInfo(ofApp: application)) ?? nil)?.isSubscriber(at: clock.now()) ?? false
    }

    /// Returns the information that an app shares.
    ///
    /// - Parameter application: The app that shares.
    /// - Returns: The information; `nil` if the app has received no answer of its server about its current customer on
    ///   this device.
    /// - Throws: `PurchaseError`: `sharedUserInfoDamaged`, `sharedUserInfoOfOtherVersion`, and `storageFailed` if the
    ///   storage cannot be read, for example because the device is locked.
    public func userInfo(ofApp application: BundleID) throws(PurchaseError) -> SharedUserInfo? {
        let bytes: [UInt8]?
        do {
            bytes = try storage.data(for: Self.key(application))
        } catch let error as PurchaseError where error.code == .storageCorrupt {
            throw PurchaseError(
                .sharedUserInfoDamaged, "The shared subscriptions of \(application) are damaged. \(error.reason)",
                underlying: error)
        } catch {
            throw PurchaseError(
                .storageFailed, "The shared subscriptions of \(application) cannot be read: \(error)",
                underlying: error)
        }
        guard let bytes else { return nil }
        return try SharedUserInfo(bytes, of: application)
    }

    /// Returns the storage key of an app.
    static func key(_ application: BundleID) -> String { "subscriptions.\(application)" }
}

#if canImport(Security)
    extension KeychainStorage {
        /// Returns the Keychain storage in which the apps of an access group share their subscriptions, for
        /// `StoreConfiguration.sharedStorage`.
        ///
        /// - Parameter accessGroup: One of the app's Keychain access groups (capability "Keychain Sharing"), including
        ///   the team's prefix.
        /// - Returns: The storage.
        public static func shared(accessGroup: String) -> KeychainStorage {
            KeychainStorage(service: "souk.shared", accessGroup: accessGroup)
        }
    }

    extension SharedUserInfoReader {
        /// Creates a reader of the Keychain storage that the apps of `accessGroup` share.
        public init(accessGroup: String) { self.init(storage: KeychainStorage.shared(accessGroup: accessGroup)) }
    }
#endif

import Foundation
import Primitives
import StoreModel

/// The payload of a signed app transaction: how an account got the app itself.
public typealias AppTransaction = AppStorePayload<AppTransactionFields>

/// The members of ``AppTransaction`` that Apple documents.
public final class AppTransactionFields: AppStorePayloadFields {
    public static let layout = PayloadLayout(AppTransactionFields())

    /// The environment of the store that signed.
    public let receiptType = PayloadField<AppStoreEnvironment>("receiptType")
    /// The App Store's number of the app. Absent outside production.
    public let appAppleId = PayloadField<Int>("appAppleId")
    /// The bundle identifier of the app.
    public let bundleId = PayloadField<String>("bundleId")
    /// The version of the app that runs.
    public let applicationVersion = PayloadField<String>("applicationVersion")
    /// The App Store's number of that version.
    public let versionExternalIdentifier = PayloadField<Int>("versionExternalIdentifier")
    /// The date on which the store signed the payload.
    public let receiptCreationDate = PayloadField<Date>("receiptCreationDate")
    /// The date on which the account first got the app.
    public let originalPurchaseDate = PayloadField<Date>("originalPurchaseDate")
    /// The version of the app that the account got first.
    public let originalApplicationVersion = PayloadField<String>("originalApplicationVersion")
    /// A Base64 value that binds the app transaction to its device.
    public let deviceVerification = PayloadField<String>("deviceVerification")
    /// The nonce of `deviceVerification`.
    public let deviceVerificationNonce = PayloadField<String>("deviceVerificationNonce")
    /// The date on which the app was ordered before its release.
    public let preorderDate = PayloadField<Date>("preorderDate")
    /// The identifier of the app transaction, which is this account's download of the app.
    public let appTransactionId = PayloadField<String>("appTransactionId")
    /// The platform on which the account first got the app.
    public let originalPlatform = PayloadField<AppStoreServerAPI.PurchasePlatform>("originalPlatform")
}

extension AppStoreServerAPI {
    /// The platform on which an account first got an app.
    public typealias PurchasePlatform = OpenEnum<AppTransactionFields>
}

extension AppStoreServerAPI.PurchasePlatform {
    public static var iOS: Self { Self(rawValue: "iOS") }
    public static var macOS: Self { Self(rawValue: "macOS") }
    public static var tvOS: Self { Self(rawValue: "tvOS") }
    public static var visionOS: Self { Self(rawValue: "visionOS") }
}

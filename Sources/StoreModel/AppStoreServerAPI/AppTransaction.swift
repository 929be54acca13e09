import Foundation
import Primitives

/// What a signed app transaction says about how an account got the app itself.
public struct AppTransaction: AppStorePayload {
    public var fields: JSONMembers
    public init(unchecked fields: JSONMembers) { self.fields = fields }

    /// Every argument left out is absent from the JSON.
    public init(
        receiptType: AppStoreEnvironment? = nil,
        appAppleId: Int? = nil,
        bundleId: String? = nil,
        applicationVersion: String? = nil,
        versionExternalIdentifier: Int? = nil,
        receiptCreationDate: Date? = nil,
        originalPurchaseDate: Date? = nil,
        originalApplicationVersion: String? = nil,
        deviceVerification: String? = nil,
        deviceVerificationNonce: String? = nil,
        preorderDate: Date? = nil,
        appTransactionId: String? = nil,
        originalPlatform: AppStoreServerAPI.PurchasePlatform? = nil
    ) {
        fields = [:]
        self.receiptType = receiptType
        self.appAppleId = appAppleId
        self.bundleId = bundleId
        self.applicationVersion = applicationVersion
        self.versionExternalIdentifier = versionExternalIdentifier
        self.receiptCreationDate = receiptCreationDate
        self.originalPurchaseDate = originalPurchaseDate
        self.originalApplicationVersion = originalApplicationVersion
        self.deviceVerification = deviceVerification
        self.deviceVerificationNonce = deviceVerificationNonce
        self.preorderDate = preorderDate
        self.appTransactionId = appTransactionId
        self.originalPlatform = originalPlatform
    }

    /// The store that signed.
    public var receiptType: AppStoreEnvironment? {
        get { self["receiptType"] }
        set { self["receiptType"] = newValue }
    }

    /// The App Store's number of the app; absent outside production.
    public var appAppleId: Int? {
        get { self["appAppleId"] }
        set { self["appAppleId"] = newValue }
    }

    /// The app.
    public var bundleId: String? {
        get { self["bundleId"] }
        set { self["bundleId"] = newValue }
    }

    /// The version that runs.
    public var applicationVersion: String? {
        get { self["applicationVersion"] }
        set { self["applicationVersion"] = newValue }
    }

    /// The App Store's number of that version.
    public var versionExternalIdentifier: Int? {
        get { self["versionExternalIdentifier"] }
        set { self["versionExternalIdentifier"] = newValue }
    }

    /// When the store signed this.
    public var receiptCreationDate: Date? {
        get { self["receiptCreationDate"] }
        set { self["receiptCreationDate"] = newValue }
    }

    /// When the account first got the app.
    public var originalPurchaseDate: Date? {
        get { self["originalPurchaseDate"] }
        set { self["originalPurchaseDate"] = newValue }
    }

    /// The version it got then.
    public var originalApplicationVersion: String? {
        get { self["originalApplicationVersion"] }
        set { self["originalApplicationVersion"] = newValue }
    }

    /// Binds it to its device, base64.
    public var deviceVerification: String? {
        get { self["deviceVerification"] }
        set { self["deviceVerification"] = newValue }
    }

    /// The nonce of `deviceVerification`.
    public var deviceVerificationNonce: String? {
        get { self["deviceVerificationNonce"] }
        set { self["deviceVerificationNonce"] = newValue }
    }

    /// When the app was ordered before its release.
    public var preorderDate: Date? {
        get { self["preorderDate"] }
        set { self["preorderDate"] = newValue }
    }

    /// The identifier of the app's download by this account.
    public var appTransactionId: String? {
        get { self["appTransactionId"] }
        set { self["appTransactionId"] = newValue }
    }

    /// The platform it was first got on.
    public var originalPlatform: AppStoreServerAPI.PurchasePlatform? {
        get { self["originalPlatform"] }
        set { self["originalPlatform"] = newValue }
    }

    public static let schema = PayloadSchema([
        "receiptType": .text,
        "appAppleId": .integer,
        "bundleId": .text,
        "applicationVersion": .text,
        "versionExternalIdentifier": .integer,
        "receiptCreationDate": .date,
        "originalPurchaseDate": .date,
        "originalApplicationVersion": .text,
        "deviceVerification": .text,
        "deviceVerificationNonce": .text,
        "preorderDate": .date,
        "appTransactionId": .text,
        "originalPlatform": .text,
    ])
}

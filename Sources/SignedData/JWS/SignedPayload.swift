import AppStorePayloads
import Foundation
import Primitives
import StoreModel

/// What a payload says about whom it is for.
struct Audience {
    var bundleID: String?
    var appAppleID: Int?
    var environment: AppStoreEnvironment?
}

/// When a kind of document gives the App Store's number of the app.
enum AppAppleIDRule {
    case never
    /// Apple leaves it out in the sandbox.
    case inProduction
    case always
}

/// The members of a payload that comes signed by itself.
protocol SignedPayloadFields: AppStorePayloadFields {
    /// In words, for refusals.
    static var title: String { get }
    /// The members that name the instant of signing, the first present one counting.
    static var dateFields: [String] { get }
    /// Members that only the other kinds have. Apple signs all kinds with one key, so a document of one kind presented as
    /// another has a valid signature; these tell them apart.
    static var foreignFields: [String] { get }
    /// Members that this kind always has, by which it is told from kinds yet unknown.
    static var requiredFields: [String] { get }
    /// `false` for kinds that name no bundle.
    static var namesBundle: Bool { get }
    /// Where this kind gives the App Store's number of the app.
    static var appAppleIDRule: AppAppleIDRule { get }

    /// Returns `nil` when the part that would say so is missing.
    static func audience(of payload: AppStorePayload<Self>) -> Audience?
}

extension SignedPayloadFields {
    static var requiredFields: [String] { [] }
}

extension AppStorePayload where Fields: SignedPayloadFields {
    /// Returns what the payload says about whom it is for, or `nil` when the part that would say so is missing.
    var audience: Audience? { Fields.audience(of: self) }
}

extension JWSTransactionDecodedPayloadFields: SignedPayloadFields {
    static let title = "transaction"
    static let dateFields = ["signedDate"]
    static let foreignFields = ["notificationType", "notificationUUID", "autoRenewStatus", "receiptType", "userLocale"]
    static let namesBundle = true
    static let appAppleIDRule = AppAppleIDRule.never
    static func audience(of payload: JWSTransactionDecodedPayload) -> Audience? {
        Audience(bundleID: payload.bundleId, environment: payload.environment)
    }
}

extension JWSRenewalInfoDecodedPayloadFields: SignedPayloadFields {
    static let title = "renewal info"
    static let dateFields = ["signedDate"]
    static let foreignFields = ["notificationType", "notificationUUID", "transactionId", "receiptType", "userLocale"]
    static let namesBundle = false
    static let appAppleIDRule = AppAppleIDRule.never
    static func audience(of payload: JWSRenewalInfoDecodedPayload) -> Audience? {
        Audience(environment: payload.environment)
    }
}

extension AppTransactionFields: SignedPayloadFields {
    static let title = "app transaction"
    static let dateFields = ["signedDate", "receiptCreationDate"]
    static let foreignFields = ["notificationType", "notificationUUID", "transactionId", "originalTransactionId"]
    static let namesBundle = true
    static let appAppleIDRule = AppAppleIDRule.inProduction
    static func audience(of payload: AppTransaction) -> Audience? {
        Audience(bundleID: payload.bundleId, appAppleID: payload.appAppleId, environment: payload.receiptType)
    }
}

extension DecodedRealtimeRequestBodyFields: SignedPayloadFields {
    static let title = "realtime request"
    static let dateFields = ["signedDate"]
    static let foreignFields = [
        "notificationType", "notificationUUID", "transactionId", "autoRenewStatus", "autoRenewProductId", "receiptType",
    ]
    // Apple documents all members of this kind as required; these two no other kind has.
    static let requiredFields = ["requestIdentifier", "userLocale"]
    static let namesBundle = false
    static let appAppleIDRule = AppAppleIDRule.always
    static func audience(of payload: DecodedRealtimeRequestBody) -> Audience? {
        Audience(appAppleID: payload.appAppleId, environment: payload.environment)
    }
}

extension ResponseBodyV2DecodedPayloadFields: SignedPayloadFields {
    static let title = "notification"
    static let dateFields = ["signedDate"]
    static let foreignFields = ["transactionId", "originalTransactionId", "receiptType"]
    static let namesBundle = true
    static let appAppleIDRule = AppAppleIDRule.inProduction

    static func audience(of payload: ResponseBodyV2DecodedPayload) -> Audience? {
        if let data = payload.data {
            return Audience(bundleID: data.bundleId, appAppleID: data.appAppleId, environment: data.environment)
        }
        if let summary = payload.summary {
            return Audience(
                bundleID: summary.bundleId, appAppleID: summary.appAppleId, environment: summary.environment)
        }
        if let appData = payload.appData {
            return Audience(
                bundleID: appData.bundleId, appAppleID: appData.appAppleId, environment: appData.environment)
        }
        guard let token = payload.externalPurchaseToken else { return nil }
        // The only part without an environment of its own: the identifier says so (Apple: externalPurchaseId).
        let isSandbox = token.externalPurchaseId?.hasPrefix("SANDBOX") == true
        return Audience(
            bundleID: token.bundleId, appAppleID: token.appAppleId, environment: isSandbox ? .sandbox : .production)
    }
}

import AppStorePayloads
import Foundation
import Primitives
import StoreModel

/// The app and environment that a payload is for.
struct Audience: Sendable {
    var bundleID: String?
    var appAppleID: Int?
    var environment: AppStoreEnvironment?
}

/// The rule for the App Store's number of the app in a kind of document.
enum AppAppleIDRule {
    case never
    /// In production only. Apple leaves the number out in the sandbox.
    case inProduction
    case always
}

/// The members of a payload that is signed on its own.
protocol SignedPayloadFields: AppStorePayloadFields {
    /// The kind of document, for error messages.
    static var title: String { get }
    /// The members with the signing date. The first one that is present is used.
    static var dateFields: [String] { get }
    /// Members that only other kinds have. A document with one of them is refused: Apple signs all kinds with one key,
    /// so a document of another kind has a valid signature.
    static var foreignFields: [String] { get }
    /// Members that this kind always has. They distinguish it from kinds that Apple may add.
    static var requiredFields: [String] { get }
    /// Whether this kind has a bundle id.
    static var namesBundle: Bool { get }
    /// The rule for the App Store's number of the app.
    static var appAppleIDRule: AppAppleIDRule { get }

    /// Returns the app and environment, or `nil` if their part of the payload is missing.
    static func audience(of payload: AppStorePayload<Self>) -> Audience?
}

extension SignedPayloadFields {
    static var requiredFields: [String] { [] }
}

extension AppStorePayload where Fields: SignedPayloadFields {
    /// The app and environment that the payload is for, or `nil` if their part of the payload is missing.
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
    // Apple documents all members as required. Only this kind has these two.
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
        // This part has no environment; its identifier shows it (Apple: externalPurchaseId).
        let isSandbox = token.externalPurchaseId?.hasPrefix("SANDBOX") == true
        return Audience(
            bundleID: token.bundleId, appAppleID: token.appAppleId, environment: isSandbox ? .sandbox : .production)
    }
}

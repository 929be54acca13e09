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

/// A payload that comes signed by itself.
protocol SignedPayload: AppStorePayload {
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

    /// `nil` when the part that would say so is missing.
    var audience: Audience? { get }
}

extension SignedPayload {
    static var requiredFields: [String] { [] }
}

extension JWSTransactionDecodedPayload: SignedPayload {
    static let title = "transaction"
    static let dateFields = ["signedDate"]
    static let foreignFields = ["notificationType", "notificationUUID", "autoRenewStatus", "receiptType", "userLocale"]
    static let namesBundle = true
    static let appAppleIDRule = AppAppleIDRule.never
    var audience: Audience? { Audience(bundleID: self.bundleId, environment: self.environment) }
}

extension JWSRenewalInfoDecodedPayload: SignedPayload {
    static let title = "renewal info"
    static let dateFields = ["signedDate"]
    static let foreignFields = ["notificationType", "notificationUUID", "transactionId", "receiptType", "userLocale"]
    static let namesBundle = false
    static let appAppleIDRule = AppAppleIDRule.never
    var audience: Audience? { Audience(environment: self.environment) }
}

extension AppTransaction: SignedPayload {
    static let title = "app transaction"
    static let dateFields = ["signedDate", "receiptCreationDate"]
    static let foreignFields = ["notificationType", "notificationUUID", "transactionId", "originalTransactionId"]
    static let namesBundle = true
    static let appAppleIDRule = AppAppleIDRule.inProduction
    var audience: Audience? {
        Audience(bundleID: self.bundleId, appAppleID: self.appAppleId, environment: self.receiptType)
    }
}

extension DecodedRealtimeRequestBody: SignedPayload {
    static let title = "realtime request"
    static let dateFields = ["signedDate"]
    static let foreignFields = [
        "notificationType", "notificationUUID", "transactionId", "autoRenewStatus", "autoRenewProductId", "receiptType",
    ]
    // Apple documents all members of this kind as required; these two no other kind has.
    static let requiredFields = ["requestIdentifier", "userLocale"]
    static let namesBundle = false
    static let appAppleIDRule = AppAppleIDRule.always
    var audience: Audience? { Audience(appAppleID: self.appAppleId, environment: self.environment) }
}

extension ResponseBodyV2DecodedPayload: SignedPayload {
    static let title = "notification"
    static let dateFields = ["signedDate"]
    static let foreignFields = ["transactionId", "originalTransactionId", "receiptType"]
    static let namesBundle = true
    static let appAppleIDRule = AppAppleIDRule.inProduction

    var audience: Audience? {
        if let data = self.data {
            return Audience(bundleID: data.bundleId, appAppleID: data.appAppleId, environment: data.environment)
        }
        if let summary = self.summary {
            return Audience(
                bundleID: summary.bundleId, appAppleID: summary.appAppleId, environment: summary.environment)
        }
        if let appData = self.appData {
            return Audience(
                bundleID: appData.bundleId, appAppleID: appData.appAppleId, environment: appData.environment)
        }
        guard let token = self.externalPurchaseToken else { return nil }
        // The only part without an environment of its own: the identifier says so (Apple: externalPurchaseId).
        let isSandbox = token.externalPurchaseId?.hasPrefix("SANDBOX") == true
        return Audience(
            bundleID: token.bundleId, appAppleID: token.appAppleId, environment: isSandbox ? .sandbox : .production)
    }
}

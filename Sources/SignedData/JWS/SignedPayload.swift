import Foundation
import Primitives
import StoreModel

/// What a payload says about whom it is for.
struct Audience {
    var bundleID: String?
    var appAppleID: Int?
    var environment: AppStoreEnvironment?
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
    /// `nil` for kinds that name no bundle.
    static var namesBundle: Bool { get }
    /// `true` for kinds that give the App Store's number of the app in production.
    static var namesAppAppleID: Bool { get }

    /// `nil` when the part that would say so is missing.
    var audience: Audience? { get }
}

extension JWSTransactionDecodedPayload: SignedPayload {
    static let title = "transaction"
    static let dateFields = ["signedDate"]
    static let foreignFields = ["notificationType", "notificationUUID", "autoRenewStatus", "receiptType"]
    static let namesBundle = true
    static let namesAppAppleID = false
    var audience: Audience? { Audience(bundleID: bundleId, environment: environment) }
}

extension JWSRenewalInfoDecodedPayload: SignedPayload {
    static let title = "renewal info"
    static let dateFields = ["signedDate"]
    static let foreignFields = ["notificationType", "notificationUUID", "transactionId", "receiptType"]
    static let namesBundle = false
    static let namesAppAppleID = false
    var audience: Audience? { Audience(environment: environment) }
}

extension AppTransaction: SignedPayload {
    static let title = "app transaction"
    static let dateFields = ["signedDate", "receiptCreationDate"]
    static let foreignFields = ["notificationType", "notificationUUID", "transactionId", "originalTransactionId"]
    static let namesBundle = true
    static let namesAppAppleID = true
    var audience: Audience? { Audience(bundleID: bundleId, appAppleID: appAppleId, environment: receiptType) }
}

extension ResponseBodyV2DecodedPayload: SignedPayload {
    static let title = "notification"
    static let dateFields = ["signedDate"]
    static let foreignFields = ["transactionId", "originalTransactionId", "receiptType"]
    static let namesBundle = true
    static let namesAppAppleID = true

    var audience: Audience? {
        if let data {
            return Audience(bundleID: data.bundleId, appAppleID: data.appAppleId, environment: data.environment)
        }
        if let summary {
            return Audience(
                bundleID: summary.bundleId, appAppleID: summary.appAppleId, environment: summary.environment)
        }
        if let appData {
            return Audience(
                bundleID: appData.bundleId, appAppleID: appData.appAppleId, environment: appData.environment)
        }
        guard let token = externalPurchaseToken else { return nil }
        // The only part without an environment of its own: the identifier says so (Apple: externalPurchaseId).
        let isSandbox = token.externalPurchaseId?.hasPrefix("SANDBOX") == true
        return Audience(
            bundleID: token.bundleId, appAppleID: token.appAppleId, environment: isSandbox ? .sandbox : .production)
    }
}

import Foundation
import Primitives
import SignedData
import StoreModel

extension SimulatedAppStore {
    /// Returns the response to a body that was sent to `/verifyReceipt`. The contents of a receipt are read after its
    /// signature was verified.
    ///
    /// - Parameter address: The environment of the address; `nil` means the one of the setting
    ///   `verifyReceiptEnvironment`.
    func verifyReceipt(_ body: [UInt8], at address: AppStoreEnvironment?) -> VerifyReceiptAnswer {
        var environment = address ?? .sandbox
        do {
            let settings = try database.read { try SimulatorDatabase($0).settings() }
            let isProduction = settings[StoreSetting.verifyReceiptEnvironment.name] == "production"
            if address == nil, isProduction { environment = .production }
            let status = settings[StoreSetting.verifyReceiptErrors.name]?.stringValue.flatMap { Int($0) }
            let injected = status.flatMap(ReceiptStatus.init)
            // With `subscriptionExpired`, Apple decodes the receipt as well.
            if let injected, injected != .subscriptionExpired { throw injected }
            let request = try VerifyReceiptRequest(parsing: body)
            return try answer(request, in: environment, settings, injected ?? .valid)
        } catch let status as ReceiptStatus {
            return VerifyReceiptAnswer(status, in: environment)
        } catch let error as SimulatorError {
            return VerifyReceiptAnswer(error, in: environment)
        } catch {
            return VerifyReceiptAnswer(.internalError, in: environment)
        }
    }

    /// Verifies the receipt and creates the response. The latest receipt is bound to the same device as the
    /// sent receipt.
    private func answer(
        _ request: VerifyReceiptRequest, in environment: AppStoreEnvironment, _ settings: [String: JSONValue],
        _ status: ReceiptStatus
    ) throws -> VerifyReceiptAnswer {
        let receipt: AppReceipt
        do {
            receipt = try receiptVerifier.verify(request.receipt).receipt
        } catch {
            throw ReceiptStatus(error)
        }
        switch receipt.environment {
        case environment: break
        case .sandbox: throw ReceiptStatus.sandboxReceipt
        case .production: throw ReceiptStatus.productionReceipt
        default: throw ReceiptStatus.notAuthenticated
        }
        guard request.isAuthorized(for: receipt, settings) else { throw ReceiptStatus.wrongSecret }
        let content = try read({ db in
            guard let id = receipt.appTransactionID, let account = try db.account(appTransactionID: id) else {
                throw ReceiptStatus.unknownAccount
            }
            return account
        }) { try ReceiptContent($0, $1, at: $2) }
        var latest = content.receipt(of: configuration)
        (latest.opaqueValue, latest.sha1Hash) = (receipt.opaqueValue, receipt.sha1Hash)
        return VerifyReceiptAnswer(
            status, in: environment, receipt, content, latestReceipt: try receiptSigner.sign(latest),
            excludesOld: request.excludesOldTransactions, configuration.catalogue)
    }
}

extension VerifyReceiptRequest {
    /// Whether the password is the store's shared secret, if one is set. Apple requires it for receipts with
    /// subscriptions.
    fileprivate func isAuthorized(for receipt: AppReceipt, _ settings: [String: JSONValue]) -> Bool {
        let kept = settings[StoreSetting.sharedSecret.name]
        guard let kept, kept != StoreSetting.sharedSecret.defaultValue,
            let secret = kept.stringValue.flatMap(SharedSecret.init)
        else { return true }
        if let password { return secret.matches(password) }
        return !receipt.inAppPurchases.contains { $0.productType == .autoRenewableSubscription }
    }
}

extension ReceiptVerifier.Configuration {
    /// Returns the configuration of a store that verifies its own receipts, in both environments.
    static func ofStore(selling app: BundleID, root: Certificate) -> ReceiptVerifier.Configuration {
        var configuration = ReceiptVerifier.Configuration(
            bundleIDs: [app], environments: [.sandbox, .production], trustAnchors: [TrustAnchor(root)])
        // Enough for about thirty thousand purchases.
        configuration.maximumLength = 12 << 20
        configuration.maximumAttributes = 400_000
        return configuration
    }
}

import Foundation
import Primitives
import SignedData
import StoreModel

extension SimulatedAppStore {
    /// The answer to a body that was sent to `/verifyReceipt`, whatever it is. Nothing in a receipt is read before its
    /// signature was found to be this store's.
    ///
    /// - Parameter address: Whose address it was sent to; `nil`: as the setting `verifyReceiptEnvironment` has it.
    func verifyReceipt(_ body: [UInt8], at address: AppStoreEnvironment?) -> VerifyReceiptAnswer {
        var environment = address ?? .sandbox
        do {
            let settings = try database.read { try SimulatorDatabase($0).settings() }
            let isProduction = settings[StoreSetting.verifyReceiptEnvironment.name] == "production"
            if address == nil, isProduction { environment = .production }
            let asked = settings[StoreSetting.verifyReceiptErrors.name]?.stringValue.flatMap { Int($0) }
            let injected = asked.flatMap(ReceiptStatus.init)
            // Apple decodes the receipt all the same where a subscription has expired.
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
        guard request.mayBeAnswered(about: receipt, settings) else { throw ReceiptStatus.wrongSecret }
        let content = try read({ db in
            guard let id = receipt.appTransactionID, let account = try db.account(appTransactionID: id) else {
                throw ReceiptStatus.unknownAccount
            }
            return account
        }) { try ReceiptContent($0, $1, at: $2) }
        var latest = content.receipt(of: configuration)
        // For the same device: what binds a receipt to it does not depend on what was bought.
        (latest.opaqueValue, latest.sha1Hash) = (receipt.opaqueValue, receipt.sha1Hash)
        return VerifyReceiptAnswer(
            status, in: environment, receipt, content, latestReceipt: try receiptSigner.sign(latest),
            excludesOld: request.excludesOldTransactions, configuration.catalogue)
    }
}

extension VerifyReceiptRequest {
    /// Whether its password is the store's shared secret, where there is one. Apple demands it for receipts with
    /// subscriptions.
    fileprivate func mayBeAnswered(about receipt: AppReceipt, _ settings: [String: JSONValue]) -> Bool {
        let kept = settings[StoreSetting.sharedSecret.name]
        guard let kept, kept != StoreSetting.sharedSecret.off, let secret = kept.stringValue.flatMap(SharedSecret.init)
        else { return true }
        if let password { return secret.isSame(as: password) }
        return !receipt.inAppPurchases.contains { $0.productType == .autoRenewableSubscription }
    }
}

extension ReceiptVerifier.Configuration {
    /// Of a store that judges what it made itself, for whichever environment it plays.
    static func ofStore(selling app: BundleID, root: Certificate) -> ReceiptVerifier.Configuration {
        var configuration = ReceiptVerifier.Configuration(
            bundleIDs: [app], environments: [.sandbox, .production], trustAnchors: [TrustAnchor(root)])
        // Of some thirty thousand purchases.
        configuration.maximumLength = 12 << 20
        configuration.maximumAttributes = 400_000
        return configuration
    }
}

import AppStorePayloads
import Foundation
import Primitives
import SignedData
import StoreModel

/// Verifies the data that the store signed for one app, and converts it to facts. All facts come from here, except
/// those of web shops.
///
/// Throws `SignedDataError`, whose codes Documentation/FactsIn.md lists.
struct StoreReader: Sendable {
    let app: BundleID
    private let documents: SignedDataVerifier
    private let receipts: ReceiptVerifier

    init(_ app: EntitlementService.Configuration.App, _ configuration: EntitlementService.Configuration) {
        let environments = Set(configuration.environments.map { AppStoreEnvironment(rawValue: $0.appleText) })
        self.app = app.bundleID
        documents = SignedDataVerifier(
            configuration: .init(
                bundleIDs: [app.bundleID], environments: environments, appAppleID: app.appAppleID,
                trustAnchors: configuration.trustAnchors))
        receipts = ReceiptVerifier(
            configuration: .init(
                bundleIDs: [app.bundleID], environments: environments, trustAnchors: configuration.trustAnchors))
    }

    /// - Parameter index: The position in the request, for `RejectedTransaction`.
    func transaction(_ signed: String, at index: Int = 0) throws(SignedDataError) -> PresentedFact {
        let verified = try Self.mappingEnvironmentErrors { () throws(SignedDataError) in
            try documents.transaction(signed)
        }
        return try Self.fact(verified, signed, at: index)
    }

    func renewal(_ signed: String, at index: Int = 0) throws(SignedDataError) -> PresentedFact {
        let verified = try Self.mappingEnvironmentErrors { () throws(SignedDataError) in
            try documents.renewalInfo(signed)
        }
        return try Self.fact(verified, signed, at: index)
    }

    /// Verifies a notification, and returns it with the facts in it and what it says about a refund.
    func notification(
        _ signed: String
    ) throws(SignedDataError) -> (document: PresentedDocument, facts: [PresentedFact], refund: RefundNotification?) {
        let verified = try Self.mappingEnvironmentErrors { () throws(SignedDataError) in
            try documents.notification(signed)
        }
        guard let id = verified.payload.notificationUUID, !id.isEmpty, id.utf8.count <= 255 else {
            throw SignedDataError(.payloadMalformed, "In the notification, /notificationUUID should be a string.")
        }
        let environment = Self.environment(verified.environment)
        var facts: [PresentedFact] = []
        if let transaction = verified.transaction, let text = verified.payload.data?.signedTransactionInfo {
            facts.append(try Self.fact(transaction, text, at: 0))
        }
        if let renewal = verified.renewalInfo, let text = verified.payload.data?.signedRenewalInfo {
            facts.append(try Self.fact(renewal, text, at: 0))
        }
        let kind = [verified.payload.notificationType?.rawValue, verified.payload.subtype?.rawValue]
        let document = PresentedDocument(
            kind: .notification, identity: id, about: kind.compactMap(\.self).joined(separator: "."),
            environment: environment, signedAt: verified.notification.signedDate, source: Array(signed.utf8))
        return (document, facts, RefundNotification(verified, facts, in: environment))
    }

    /// Maps `wrongEnvironment` to `environmentNotAccepted`. The verifiers use the former code if they accept only one
    /// environment.
    private static func mappingEnvironmentErrors<Document>(
        _ verify: () throws(SignedDataError) -> Document
    ) throws(SignedDataError) -> Document {
        do { return try verify() } catch {
            guard error.code == .wrongEnvironment else { throw error }
            throw SignedDataError(.environmentNotAccepted, error.reason, underlying: error)
        }
    }

    /// Returns the environment of verified data. The argument is never `nil`: the verifier accepts only configured
    /// environments.
    private static func environment(_ environment: AppStoreEnvironment?) -> StoreEnvironment {
        StoreEnvironment(apple: environment?.rawValue ?? "")
    }

    private static func fact(
        _ verified: Verified<JWSTransactionDecodedPayload>, _ signed: String, at index: Int
    ) throws(SignedDataError) -> PresentedFact {
        do {
            return PresentedFact(
                content: .transaction(try TransactionFact(verified.payload, digest: verified.payloadDigest)),
                environment: environment(verified.payload.environment), source: Array(signed.utf8),
                orderID: verified.payload.webOrderLineItemId, index: index)
        } catch {
            throw SignedDataError(.payloadMalformed, "In the transaction, \(error).", underlying: error)
        }
    }

    private static func fact(
        _ verified: Verified<JWSRenewalInfoDecodedPayload>, _ signed: String, at index: Int
    ) throws(SignedDataError) -> PresentedFact {
        do {
            return PresentedFact(
                content: .renewal(try RenewalFact(verified.payload, digest: verified.payloadDigest)),
                environment: environment(verified.payload.environment), source: Array(signed.utf8), index: index)
        } catch {
            throw SignedDataError(.payloadMalformed, "In the renewal info, \(error).", underlying: error)
        }
    }
}

/// A verified receipt and its facts.
struct PresentedReceipt: Sendable {
    let receipt: AppReceipt
    let environment: StoreEnvironment
    let document: PresentedDocument
    /// The facts of the purchases that can be read.
    let facts: [PresentedFact]
    /// The purchases with missing or invalid fields, by their position in the receipt.
    let rejected: [RejectedTransaction]
}

extension StoreReader {
    /// - Parameter device: The device that the receipt must belong to; `nil` accepts a receipt of any device.
    func receipt(
        _ bytes: [UInt8], for device: DeviceIdentifier? = nil
    ) throws(SignedDataError) -> PresentedReceipt {
        let verified = try Self.mappingEnvironmentErrors { () throws(SignedDataError) in
            try receipts.verify(bytes, for: device)
        }
        let environment = Self.environment(verified.receipt.environment)
        let digest = verified.payloadDigest
        var facts: [PresentedFact] = []
        var rejected: [RejectedTransaction] = []
        for (index, purchase) in verified.receipt.inAppPurchases.enumerated() {
            do {
                // Purchases have no signatures of their own, so each is identified by the receipt and its position.
                let purchaseDigest = SHA256.hash(digest + Array("/\(index)".utf8))
                facts.append(
                    PresentedFact(
                        content: .transaction(
                            try TransactionFact(purchase, creationDate: verified.creationDate, digest: purchaseDigest)),
                        environment: environment, format: .receipt, source: purchase.json.encoded(),
                        orderID: purchase.webOrderLineItemID, index: index))
            } catch {
                rejected.append(
                    RejectedTransaction(
                        index: index, code: SignedDataError.Code.payloadMalformed.rawValue,
                        detail: "In purchase \(index) of the receipt, \(error).", retryable: false))
            }
        }
        let document = PresentedDocument(
            kind: .receipt, identity: Hex.encode(digest), about: verified.receipt.receiptType ?? "",
            environment: environment, signedAt: verified.creationDate, source: bytes)
        return PresentedReceipt(
            receipt: verified.receipt, environment: environment, document: document, facts: facts, rejected: rejected)
    }
}

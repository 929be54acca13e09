import AppStorePayloads
import Foundation
import Primitives
import SignedData
import StoreModel

/// Believes what the store signed for one app, and makes facts of it. Nothing becomes a fact in another way but what a web
/// shop signed.
///
/// Throws `SignedDataError` for what is not true, with a code of WIRE's list.
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

    /// - Parameter index: Its place in the request, which `rejected` names.
    func transaction(_ signed: String, at index: Int = 0) throws(SignedDataError) -> PresentedFact {
        let verified = try Self.believing { () throws(SignedDataError) in try documents.transaction(signed) }
        return try Self.fact(verified, signed, at: index)
    }

    func renewal(_ signed: String, at index: Int = 0) throws(SignedDataError) -> PresentedFact {
        let verified = try Self.believing { () throws(SignedDataError) in try documents.renewalInfo(signed) }
        return try Self.fact(verified, signed, at: index)
    }

    /// A notification, and what it says about a purchase.
    func notification(
        _ signed: String
    ) throws(SignedDataError) -> (document: PresentedDocument, facts: [PresentedFact]) {
        let verified = try Self.believing { () throws(SignedDataError) in try documents.notification(signed) }
        guard let id = verified.payload.notificationUUID, !id.isEmpty, id.utf8.count <= 255 else {
            throw SignedDataError(.payloadMalformed, "In the notification, /notificationUUID should be a text.")
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
        return (document, facts)
    }

    // MARK: - Documents to facts

    /// One server has one word for an environment it was not configured for, however many it has.
    private static func believing<Document>(
        _ verify: () throws(SignedDataError) -> Document
    ) throws(SignedDataError) -> Document {
        do { return try verify() } catch {
            guard error.code == .wrongEnvironment else { throw error }
            throw SignedDataError(.environmentNotAccepted, error.reason, underlying: error)
        }
    }

    /// The verifier accepts configured environments only, so there is one.
    private static func environment(_ said: AppStoreEnvironment?) -> StoreEnvironment {
        StoreEnvironment(apple: said?.rawValue ?? "")
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

// MARK: - Receipts

/// A receipt that is true, and what it says.
struct PresentedReceipt: Sendable {
    let receipt: AppReceipt
    let environment: StoreEnvironment
    let document: PresentedDocument
    /// One for each purchase that can be read.
    let facts: [PresentedFact]
    /// The purchases that lack what is needed, by their place in the receipt.
    let rejected: [RejectedTransaction]
}

extension StoreReader {
    /// - Parameter device: The device it must have been made for; `nil` does not check it.
    func receipt(
        _ bytes: [UInt8], for device: DeviceIdentifier? = nil
    ) throws(SignedDataError) -> PresentedReceipt {
        let verified = try Self.believing { () throws(SignedDataError) in try receipts.verify(bytes, for: device) }
        let environment = Self.environment(verified.receipt.environment)
        let digest = verified.payloadDigest
        var facts: [PresentedFact] = []
        var rejected: [RejectedTransaction] = []
        for (index, purchase) in verified.receipt.inAppPurchases.enumerated() {
            do {
                // A purchase has no signature of its own: it is this one of this receipt.
                let place = SHA256.hash(digest + Array("/\(index)".utf8))
                facts.append(
                    PresentedFact(
                        content: .transaction(
                            try TransactionFact(purchase, creationDate: verified.creationDate, digest: place)),
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

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
    /// The App Store's number of the app.
    let appAppleID: Int?
    private let documents: SignedDataVerifier
    /// Verifies documents whose revocation status is not known; `nil` if such documents are refused.
    private let lenientDocuments: SignedDataVerifier?
    private let receipts: ReceiptVerifier
    private let checker: RevocationChecker?

    /// - Parameter checker: The checker of revoked certificates; `nil` for no check.
    init(
        _ app: EntitlementService.Configuration.App, _ configuration: EntitlementService.Configuration,
        _ checker: RevocationChecker?
    ) {
        let environments = Set(configuration.environments.map { AppStoreEnvironment(rawValue: $0.appleText) })
        self.app = app.bundleID
        appAppleID = app.appAppleID
        var rules = SignedDataVerifier.Configuration(
            bundleIDs: [app.bundleID], environments: environments, appAppleID: app.appAppleID,
            trustAnchors: configuration.trustAnchors)
        let acceptsUnknown = checker != nil && configuration.revocation?.isRequired == false
        lenientDocuments = acceptsUnknown ? SignedDataVerifier(configuration: rules) : nil
        rules.revocation = checker
        documents = SignedDataVerifier(configuration: rules)
        self.checker = checker
        receipts = ReceiptVerifier(
            configuration: .init(
                bundleIDs: [app.bundleID], environments: environments, trustAnchors: configuration.trustAnchors))
    }

    /// - Parameter index: The position in the request, for `RejectedTransaction`.
    func transaction(_ signed: String, at index: Int = 0) async throws(SignedDataError) -> PresentedFact {
        let verified = try await verify { documents throws(SignedDataError) in try documents.transaction(signed) }
        return try Self.fact(verified, signed, at: index)
    }

    func renewal(_ signed: String, at index: Int = 0) async throws(SignedDataError) -> PresentedFact {
        let verified = try await verify { documents throws(SignedDataError) in try documents.renewalInfo(signed) }
        return try Self.fact(verified, signed, at: index)
    }

    /// Verifies a notification, and returns it with the facts in it and what it says about a refund.
    func notification(
        _ signed: String
    ) async throws(SignedDataError) -> (
        document: PresentedDocument, facts: [PresentedFact], refund: RefundNotification?
    ) {
        let verified = try await verify { documents throws(SignedDataError) in try documents.notification(signed) }
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

    /// Verifies a document of the App Store, and asks for the status of its certificates if the server checks it.
    private func verify<Document: Sendable>(
        _ verify: @Sendable (SignedDataVerifier) throws(SignedDataError) -> Document
    ) async throws(SignedDataError) -> Document {
        let failure: SignedDataError
        do throws(SignedDataError) { return try await documents.online(verify) } catch { failure = error }
        // An invalid chain is refused again; a certificate without a responder cannot be asked about.
        guard let lenientDocuments, [.onlineCheckFailed, .chainInvalid].contains(failure.code) else {
            throw Self.mapped(failure)
        }
        do throws(SignedDataError) { return try verify(lenientDocuments) } catch { throw Self.mapped(error) }
    }

    /// Maps `wrongEnvironment` to `environmentNotAccepted`. The verifiers use the former code if they accept only one
    /// environment.
    private static func mapped(_ error: SignedDataError) -> SignedDataError {
        guard error.code == .wrongEnvironment else { return error }
        return SignedDataError(.environmentNotAccepted, error.reason, underlying: error)
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

extension StoreReader {
    /// The greatest difference between the signing date of a realtime request and the clock: the lifetime of an offer's
    /// signature. The App Store waits for less than a second, but a simulator's virtual day can take a second. An older
    /// request, should it leak, cannot be exchanged for new signatures.
    private static let realtimeTolerance = OfferSignature.lifetime

    /// Verifies a realtime request (Retention Messaging API) that was signed at about `now`.
    func retentionRequest(_ signed: String, at now: Date) async throws(SignedDataError) -> RetentionRequest {
        let verified = try await verify { documents throws(SignedDataError) in try documents.realtimeRequest(signed) }
        // The verifier of an app without a number accepts any.
        guard let appAppleID, verified.payload.appAppleId == appAppleID else {
            throw SignedDataError(.wrongAppID, "The realtime request is not for an app of this server.")
        }
        guard abs(verified.signedDate.timeIntervalSince(now)) <= Self.realtimeTolerance else {
            throw SignedDataError(
                .notCurrent, "The realtime request was signed more than a day ago, or its date is in the future.")
        }
        guard let transaction = verified.payload.originalTransactionId.flatMap(TransactionID.init(rawValue:)),
            let product = verified.payload.productId.flatMap(ProductID.init(rawValue:)),
            let locale = verified.payload.userLocale
        else {
            throw SignedDataError(
                .payloadMalformed,
                "In the realtime request, /originalTransactionId, /productId or /userLocale is missing or invalid.")
        }
        return RetentionRequest(
            originalTransactionID: transaction, productID: product, locale: locale,
            environment: Self.environment(verified.payload.environment))
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
    ) async throws(SignedDataError) -> PresentedReceipt {
        let verified: VerifiedReceipt
        do throws(SignedDataError) { verified = try receipts.verify(bytes, for: device) } catch {
            throw Self.mapped(error)
        }
        try await checkRevocation(of: verified.chain)
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

    /// Asks for the status of a receipt's certificates if the server checks it. Receipts outlive their certificates, and
    /// a responder does not answer about expired ones, so an expired chain is not asked about.
    private func checkRevocation(of chain: CertificateChain) async throws(SignedDataError) {
        guard let checker, (try? chain.check(at: checker.configuration.clock.now())) != nil else { return }
        do throws(SignedDataError) { try await checker.check(chain) } catch {
            guard lenientDocuments != nil, [.onlineCheckFailed, .chainInvalid].contains(error.code) else { throw error }
        }
    }
}

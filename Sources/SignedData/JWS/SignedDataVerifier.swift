import AppStorePayloads
import Foundation
import Primitives
import StoreModel

/// Verifies documents that the App Store signed: transactions, renewal infos, notifications, app transactions and
/// realtime requests.
///
/// The verifier checks, in this order, the size and form, the chain of three certificates up to a trusted root, the
/// signature, and the signing date, at which the chain must have been valid. Then it checks the other members of the
/// payload, that its app and environment are accepted, and, if requested, that the chain was not revoked. The first
/// failure is thrown as a `SignedDataError`.
///
/// The rules are those of RFC 7515 (JWS), RFC 7518 section 3.4 (ES256), RFC 5280 section 6 (chains), RFC 8259 (JSON,
/// without duplicate names) and of Apple's pages on `JWSTransaction`, `responseBodyV2DecodedPayload` and
/// `DecodedRealtimeRequestBody`.
///
/// All threads can share one verifier. It caches accepted chains and documents. It checks dates each time, and never
/// caches a failure.
///
///     let verifier = SignedDataVerifier(
///         configuration: .init(bundleIDs: ["com.example"], environments: [.production, .sandbox], appAppleID: 1_234))
///     let verified = try verifier.transaction(signedTransaction)
///     verified.payload.productId
public final class SignedDataVerifier: Sendable {
    /// The trusted roots and accepted documents.
    public let configuration: Configuration
    /// The accepted chains by the encoded headers that contain them.
    private let chains: Locked<BoundedCache<ByteKey, KnownHeader>>
    private let documents: Locked<BoundedCache<DocumentKey, VerifiedDocument>>

    /// A header of a verified document. Documents of one signer have the same header, which is several times as long as
    /// the rest of a transaction, so its digest is kept too.
    private struct KnownHeader: Sendable {
        let chain: CertificateChain
        let digest: DigestPrefix
    }

    private struct DocumentKey: Hashable {
        /// The SHA-256 of all bytes of the document.
        let digest: DigestKey
        let kind: ObjectIdentifier
    }

    /// Creates a verifier.
    ///
    /// - Parameter configuration: The trusted roots and accepted documents.
    public init(configuration: Configuration) {
        self.configuration = configuration
        chains = Locked(BoundedCache(capacity: configuration.chainCacheCapacity))
        documents = Locked(BoundedCache(capacity: configuration.documentCacheCapacity))
    }

    /// Verifies a signed transaction (JWSTransaction), with its bundle and environment.
    ///
    /// - Parameter jws: The transaction as a compact JWS.
    /// - Returns: The verified payload.
    /// - Throws: `SignedDataError` for the first check that fails.
    public func transaction(_ jws: String) throws(SignedDataError) -> Verified<JWSTransactionDecodedPayload> {
        try verify(jws)
    }

    /// Verifies a signed renewal info (JWSRenewalInfo), with its environment. A renewal info has no bundle: its app
    /// follows from a transaction with the same original transaction id.
    ///
    /// - Parameter jws: The renewal info as a compact JWS.
    /// - Returns: The verified payload.
    /// - Throws: `SignedDataError` for the first check that fails.
    public func renewalInfo(_ jws: String) throws(SignedDataError) -> Verified<JWSRenewalInfoDecodedPayload> {
        try verify(jws)
    }

    /// Verifies a signed app transaction, with its bundle, environment and, in production, the App Store's number of
    /// the app.
    ///
    /// - Parameter jws: The app transaction as a compact JWS.
    /// - Returns: The verified payload.
    /// - Throws: `SignedDataError` for the first check that fails.
    public func appTransaction(_ jws: String) throws(SignedDataError) -> Verified<AppTransaction> {
        try verify(jws)
    }

    /// Verifies a realtime request of the App Store (Retention Messaging API, `signedPayload` of
    /// `RealtimeRequestBody`), with its environment and the App Store's number of the app. It has no bundle.
    ///
    /// - Parameter jws: The request as a compact JWS.
    /// - Returns: The verified payload.
    /// - Throws: `SignedDataError` for the first check that fails.
    public func realtimeRequest(_ jws: String) throws(SignedDataError) -> Verified<DecodedRealtimeRequestBody> {
        try verify(jws)
    }

    /// Verifies a notification of version 2 (signedPayload), with the checks of an app transaction, and the signed
    /// documents inside it. These must be for the same bundle and environment.
    ///
    /// - Parameter jws: The notification as a compact JWS.
    /// - Returns: The verified notification with its verified documents.
    /// - Throws: `SignedDataError` for the first check that fails.
    public func notification(_ jws: String) throws(SignedDataError) -> VerifiedNotification {
        let outer: Verified<ResponseBodyV2DecodedPayload> = try verify(jws)
        let data = outer.payload.data
        var transaction: Verified<JWSTransactionDecodedPayload>?
        var renewalInfo: Verified<JWSRenewalInfoDecodedPayload>?
        var appTransaction: Verified<AppTransaction>?
        if let signed = data?.signedTransactionInfo { transaction = try inner(signed, of: outer.payload) }
        if let signed = data?.signedRenewalInfo { renewalInfo = try inner(signed, of: outer.payload) }
        if let signed = outer.payload.appData?.signedAppTransactionInfo {
            appTransaction = try inner(signed, of: outer.payload)
        }
        return VerifiedNotification(
            notification: outer, transaction: transaction, renewalInfo: renewalInfo, appTransaction: appTransaction)
    }

    /// Runs `verify`. If it fails because the revocation status of a chain is not known, requests the status from the
    /// OCSP responders and runs `verify` again, for up to four chains.
    ///
    /// Without `revocation` in the configuration, and while answers are cached, nothing is requested.
    ///
    ///     let verified = try await verifier.online { verifier throws(SignedDataError) in
    ///         try verifier.notification(signedPayload)
    ///     }
    ///
    /// - Parameter verify: Verifies documents with the given verifier.
    /// - Returns: The result of `verify`.
    /// - Throws: The error of `verify`, `revoked` or `onlineCheckFailed`.
    public func online<Result: Sendable>(
        _ verify: @Sendable (SignedDataVerifier) throws(SignedDataError) -> Result
    ) async throws(SignedDataError) -> Result {
        // A notification and its three documents can have four different chains.
        for _ in 0..<4 {
            do { return try verify(self) } catch {
                guard let unknown = error.underlying as? RevocationUnknown, let checker = configuration.revocation
                else { throw error }
                try await checker.check(unknown.chain)
            }
        }
        return try verify(self)
    }

    /// Verifies a document. Revocation comes last and is checked each time, because only a document that is otherwise
    /// valid is worth a request to the responder.
    private func verify<Fields: SignedPayloadFields>(
        _ jws: String
    ) throws(SignedDataError) -> Verified<AppStorePayload<Fields>> {
        let document = try document(jws, of: Fields.self)
        try configuration.check(document.audience, of: Fields.self)
        try document.chain.check(signing: document.audience?.environment)
        try configuration.revocation?.require(document.chain)
        return Verified(AppStorePayload<Fields>(unchecked: document.members), document)
    }

    private func inner<Fields: SignedPayloadFields>(
        _ jws: String, of notification: ResponseBodyV2DecodedPayload
    ) throws(SignedDataError) -> Verified<AppStorePayload<Fields>> {
        let verified: Verified<AppStorePayload<Fields>> = try verify(jws)
        let outer = notification.audience
        let inner = verified.payload.audience
        if let bundleID = outer?.bundleID, Fields.namesBundle, inner?.bundleID != bundleID {
            throw SignedDataError(.wrongBundle, "The \(Fields.title) inside the notification is for another bundle.")
        }
        if let environment = outer?.environment, inner?.environment != environment {
            throw SignedDataError(
                .wrongEnvironment, "The \(Fields.title) inside the notification is of another environment.")
        }
        return verified
    }

    private func document<Fields: SignedPayloadFields>(
        _ jws: String, of kind: Fields.Type
    ) throws(SignedDataError) -> VerifiedDocument {
        guard jws.utf8.count <= configuration.maximumLength else {
            throw SignedDataError(
                .tooLarge, "The JWS has \(jws.utf8.count) bytes; at most \(configuration.maximumLength) are accepted.")
        }
        let parts = try CompactJWS(Array(jws.utf8))
        let header = chains.withLock { $0.value(for: ByteKey(parts.headerSegment)) }
        let key = DocumentKey(
            digest: DigestKey(digest: parts.digest(continuing: header?.digest)), kind: ObjectIdentifier(kind))
        if let known = documents.withLock({ $0.value(for: key) }) {
            try known.chain.check(at: configuration.chainDate ?? known.signedDate)
            return known
        }
        let document = try verifyDocument(parts, header, as: kind)
        if document.payloadBytes.count <= 16 * 1024 { documents.withLock { $0.insert(document, for: key) } }
        return document
    }

    /// Verifies a document that is not cached.
    ///
    /// - Parameter header: The header of the document if it is cached.
    private func verifyDocument<Fields: SignedPayloadFields>(
        _ jws: CompactJWS, _ header: KnownHeader?, as kind: Fields.Type
    ) throws(SignedDataError) -> VerifiedDocument {
        let chain = if let header { header.chain } else { try chain(of: jws) }
        let signature = try jws.signature()
        let digest = jws.signingDigest(continuing: header?.digest)
        guard chain.leafKey?.isValid(signature: signature, ofDigest: digest) ?? false else {
            throw SignedDataError(
                .signatureInvalid, "The signature does not match the content and the leaf certificate.")
        }
        let payloadBytes = try jws.payload()
        let members = try Fields.members(of: payloadBytes)
        let signedDate = try Fields.signedDate(in: members)
        try chain.check(at: configuration.chainDate ?? signedDate)
        if header == nil { remember(chain, of: jws) }
        try Fields.check(members)
        return VerifiedDocument(
            members: members, audience: AppStorePayload<Fields>(unchecked: members).audience,
            payloadBytes: payloadBytes, signedDate: signedDate, chain: chain)
    }

    private func remember(_ chain: CertificateChain, of jws: CompactJWS) {
        let header = Array(jws.headerSegment)
        let known = KnownHeader(chain: chain, digest: header.withUnsafeBytes { DigestPrefix($0) })
        chains.withLock { $0.insert(known, for: ByteKey(header[...])) }
    }

    /// Returns the chain of a header that is not cached.
    private func chain(of jws: CompactJWS) throws(SignedDataError) -> CertificateChain {
        let count = jws.headerSegment.count
        guard count <= configuration.maximumHeaderLength else {
            throw SignedDataError(
                .tooLarge,
                "The header has \(count) bytes; at most \(configuration.maximumHeaderLength) are accepted.")
        }
        let header = try JWSHeader(jws.header())
        return try CertificateChain(
            header.certificates, trusting: configuration.trustAnchors, acceptsLocal: configuration.acceptsLocalChains)
    }
}

extension SignedPayloadFields {
    fileprivate static func members(of payload: [UInt8]) throws(SignedDataError) -> JSONMembers {
        do {
            if case .object(let members) = try JSONValue(parsing: payload, depth: 32) { return members }
        } catch {
            throw SignedDataError(
                .payloadMalformed, "The payload is not JSON: \(Excerpt(error.description)).", underlying: error)
        }
        throw SignedDataError(.payloadMalformed, "The payload is not a JSON object.")
    }

    fileprivate static func signedDate(in members: JSONMembers) throws(SignedDataError) -> Date {
        for name in dateFields {
            guard let value = members[name], !value.isNull else { continue }
            guard let date = Date(payloadValue: value) else { break }
            return date
        }
        throw SignedDataError(
            .payloadMalformed,
            "The \(title) lacks \(dateFields[dateFields.count - 1]), a number of milliseconds since 1970.")
    }

    fileprivate static func check(_ members: JSONMembers) throws(SignedDataError) {
        if let foreign = foreignFields.first(where: { members[$0] != nil }) {
            throw SignedDataError(.payloadMalformed, "The payload is not a \(title): it has the member \(foreign).")
        }
        if let missing = requiredFields.first(where: { members[$0]?.isNull ?? true }) {
            throw SignedDataError(.payloadMalformed, "The payload is not a \(title): it lacks the member \(missing).")
        }
        do { _ = try AppStorePayload<Self>(json: .object(members)) } catch {
            throw SignedDataError(.payloadMalformed, "In the \(title), \(error).", underlying: error)
        }
    }
}

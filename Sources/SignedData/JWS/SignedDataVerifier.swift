import AppStorePayloads
import Foundation
import Primitives
import StoreModel

/// Verifies what the App Store signed: transactions, renewal infos, notifications, app transactions and realtime requests.
///
/// In this order: the size and form; the chain of three certificates up to a trusted root; the signature; the instant of
/// signing, at which the chain must have been valid; only then the payload's other members, first whom it is for. The
/// first thing that does not hold is thrown as a `SignedDataError`; its code is one of WIRE's list. The rules are those of
/// RFC 7515 (JWS), RFC 7518 section 3.4 (ES256), RFC 5280 section 6 (chains), RFC 8259 (JSON, names never twice) and of
/// Apple's pages on `JWSTransaction`, `responseBodyV2DecodedPayload` and `DecodedRealtimeRequestBody`.
///
/// One verifier serves any number of threads. Chains it accepted are kept by their bytes, and so are whole documents;
/// what depends on time is judged again each time, and a failure is never kept.
///
///     let verifier = SignedDataVerifier(
///         configuration: .init(bundleIDs: ["com.example"], environments: [.production, .sandbox], appAppleID: 1_234))
///     let verified = try verifier.transaction(signedTransaction)
///     verified.payload.productId
public final class SignedDataVerifier: Sendable {
    public let configuration: Configuration
    private let chains: Locked<BoundedCache<ByteKey, CertificateChain>>
    private let documents: Locked<BoundedCache<DocumentKey, VerifiedDocument>>

    private struct DocumentKey: Hashable {
        let digest: DigestKey
        let kind: ObjectIdentifier
    }

    public init(configuration: Configuration) {
        self.configuration = configuration
        chains = Locked(BoundedCache(capacity: configuration.rememberedChains))
        documents = Locked(BoundedCache(capacity: configuration.rememberedDocuments))
    }

    /// A signed transaction (JWSTransaction), judged by bundle and environment.
    public func transaction(_ jws: String) throws(SignedDataError) -> Verified<JWSTransactionDecodedPayload> {
        try verify(jws)
    }

    /// A signed renewal info (JWSRenewalInfo), judged by environment; it names no bundle, so what it belongs to must be
    /// known from a transaction of the same original transaction id.
    public func renewalInfo(_ jws: String) throws(SignedDataError) -> Verified<JWSRenewalInfoDecodedPayload> {
        try verify(jws)
    }

    /// A signed app transaction, judged by bundle, environment and, in production, the App Store's number of the app.
    public func appTransaction(_ jws: String) throws(SignedDataError) -> Verified<AppTransaction> {
        try verify(jws)
    }

    /// What the App Store asks in real time (Retention Messaging API, `signedPayload` of `RealtimeRequestBody`), judged by
    /// environment and by the App Store's number of the app; it names no bundle.
    public func realtimeRequest(_ jws: String) throws(SignedDataError) -> Verified<DecodedRealtimeRequestBody> {
        try verify(jws)
    }

    /// A notification of version 2 (signedPayload), judged like an app transaction, and what is signed inside it, which
    /// must be for the same bundle and environment.
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

    /// Runs `verify` and, where it is refused because it is not known whether a chain was revoked, asks and runs it again.
    ///
    /// Without `revocation` in the configuration, and while answers are remembered, nothing is asked. Throws what `verify`
    /// throws, `revoked`, or `onlineCheckFailed`.
    ///
    ///     let verified = try await verifier.online { verifier throws(SignedDataError) in
    ///         try verifier.notification(signedPayload)
    ///     }
    public func online<Result: Sendable>(
        _ verify: @Sendable (SignedDataVerifier) throws(SignedDataError) -> Result
    ) async throws(SignedDataError) -> Result {
        // A notification and the three documents it may carry can be under four chains.
        for _ in 0..<4 {
            do { return try verify(self) } catch {
                guard let unknown = error.underlying as? RevocationUnknown, let checker = configuration.revocation
                else { throw error }
                try await checker.check(unknown.chain)
            }
        }
        return try verify(self)
    }

    // MARK: - The way of one document

    private func verify<Fields: SignedPayloadFields>(
        _ jws: String
    ) throws(SignedDataError) -> Verified<AppStorePayload<Fields>> {
        let document = try document(jws, of: Fields.self)
        let payload = AppStorePayload<Fields>(unchecked: document.members)
        try configuration.check(payload)
        try document.chain.check(signing: payload.audience?.environment)
        // Last, and each time anew: only what holds in everything else is worth a question.
        try configuration.revocation?.require(document.chain)
        return Verified(payload, document)
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
        let bytes = Array(jws.utf8)
        let key = DocumentKey(digest: DigestKey(sha256Of: bytes), kind: ObjectIdentifier(kind))
        if let known = documents.withLock({ $0.value(for: key) }) {
            try known.chain.check(at: configuration.chainDate ?? known.signedDate)
            return known
        }
        let document = try judge(CompactJWS(bytes), as: kind)
        if document.payloadBytes.count <= 16 * 1024 { documents.withLock { $0.insert(document, for: key) } }
        return document
    }

    private func judge<Fields: SignedPayloadFields>(
        _ jws: CompactJWS, as kind: Fields.Type
    ) throws(SignedDataError) -> VerifiedDocument {
        let (chain, isNew) = try chain(of: jws)
        let signature = try jws.signature()
        let holds = jws.bytes.withUnsafeBytes { bytes in
            let input = UnsafeRawBufferPointer(rebasing: bytes[jws.signingInput])
            return chain.leafKey?.isValid(signature: signature, of: input) ?? false
        }
        guard holds else {
            throw SignedDataError(.signatureInvalid, "The signature is not the leaf certificate's over this content.")
        }
        let payloadBytes = try jws.payload()
        let members = try Fields.members(of: payloadBytes)
        let signedDate = try Fields.signedDate(in: members)
        try chain.check(at: configuration.chainDate ?? signedDate)
        if isNew { chains.withLock { $0.insert(chain, for: ByteKey(Array(jws.headerSegment)[...])) } }
        try Fields.check(members)
        return VerifiedDocument(members: members, payloadBytes: payloadBytes, signedDate: signedDate, chain: chain)
    }

    /// The chain of the header, and whether it was judged just now.
    private func chain(of jws: CompactJWS) throws(SignedDataError) -> (CertificateChain, isNew: Bool) {
        let segment = jws.headerSegment
        if let known = chains.withLock({ $0.value(for: ByteKey(segment)) }) { return (known, false) }
        guard segment.count <= configuration.maximumHeaderLength else {
            throw SignedDataError(
                .tooLarge,
                "The header has \(segment.count) bytes; at most \(configuration.maximumHeaderLength) are accepted.")
        }
        let header = try JWSHeader(jws.header())
        let chain = try CertificateChain(
            header.certificates, trusting: configuration.trustAnchors, acceptsLocal: configuration.acceptsLocalChains)
        return (chain, true)
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
            throw SignedDataError(.payloadMalformed, "This is no \(title): it has the member \(foreign).")
        }
        if let missing = requiredFields.first(where: { members[$0]?.isNull ?? true }) {
            throw SignedDataError(.payloadMalformed, "This is no \(title): it lacks the member \(missing).")
        }
        do { _ = try AppStorePayload<Self>(json: .object(members)) } catch {
            throw SignedDataError(.payloadMalformed, "In the \(title), \(error).", underlying: error)
        }
    }
}

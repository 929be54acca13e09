import COpenSSL
import Foundation
import Primitives
import StoreModel

/// The certificates from a signer up to a trusted root. Only a verifier creates a chain.
///
/// A chain of the App Store has three certificates: leaf, intermediate and root. A chain of StoreKit Testing in Xcode
/// has one, which signs itself. The initialiser checks everything except the dates and the environment, which
/// `check(at:)` and `check(signing:)` check for each document.
package final class CertificateChain: Sendable {
    /// The certificates, the leaf first: three or one.
    package let certificates: [Certificate]
    /// The trusted certificate at the end of the chain: the last certificate of the chain, or a trusted certificate
    /// with the same subject and key.
    package let anchor: Certificate
    /// The time from the first to the last second at which the anchor and all certificates except the last are valid.
    package let validity: ClosedRange<Date>

    /// The certificate of the signer.
    package var leaf: Certificate { certificates[0] }
    /// The certificate of the leaf's issuer, or `nil` in a chain of one.
    package var intermediate: Certificate? { isLocal ? nil : certificates[1] }
    /// The last certificate.
    package var root: Certificate { certificates[certificates.count - 1] }
    /// Whether the chain is local, from a development machine: one certificate that signs itself.
    package var isLocal: Bool { certificates.count == 1 }

    /// The key of the leaf if it can verify ES256. `nil` only in chains of receipts, which can have other keys.
    let leafKey: VerificationKey?
    /// The SHA-256 of the fingerprints of all certificates and the anchor.
    let identity: DigestKey
    /// The trust anchors that match the chain.
    private let anchors: [TrustAnchor]

    /// Apple's extension of leaf certificates that sign purchases (Apple: WWDR certification practice statement).
    package static let leafMarker = "1.2.840.113635.100.6.11.1"
    /// Apple's extension of the intermediate certificates that issue such leaves (Worldwide Developer Relations).
    package static let intermediateMarker = "1.2.840.113635.100.6.2.1"

    /// The documents that the leaf signs.
    enum Use {
        /// JWS documents with ES256, under current certificates.
        case jws
        /// App receipts since 2011. Certificates that were signed with SHA-1 are accepted.
        case receipts
    }

    /// Verifies certificates in DER, the leaf first: three, or one if `acceptsLocal`.
    init(
        _ encoded: [[UInt8]], trusting anchors: [TrustAnchor], acceptsLocal: Bool = false, use: Use = .jws
    ) throws(SignedDataError) {
        switch encoded.count {
        case 3: (certificates, anchor, self.anchors) = try Self.storeChain(encoded, trusting: anchors, use: use)
        case 1 where acceptsLocal: (certificates, anchor, self.anchors) = try Self.localChain(encoded[0], anchors)
        case 1:
            throw SignedDataError(
                .chainLength,
                "The chain has one certificate, as in Xcode; add xcode to the accepted environments to accept it.")
        default:
            throw SignedDataError(.chainLength, "The chain has \(encoded.count) certificates; it must have three.")
        }
        leafKey = certificates[0].verificationKey()
        guard leafKey != nil || use == .receipts else {
            throw SignedDataError(.unsupportedAlgorithm, "The leaf's key is not for P-256, so ES256 cannot use it.")
        }
        identity = DigestKey(sha256Of: (certificates + [anchor]).flatMap(\.fingerprint))
        let periods = certificates.dropLast().map(\.validity) + [anchor.validity]
        let start = periods.map(\.lowerBound).max() ?? .distantFuture
        let end = periods.map(\.upperBound).min() ?? .distantPast
        guard start <= end else {
            throw SignedDataError(.certificateExpired, "The certificates are never valid at the same time.")
        }
        validity = start...end
    }

    private typealias Parts = (certificates: [Certificate], anchor: Certificate, anchors: [TrustAnchor])

    private static func storeChain(
        _ encoded: [[UInt8]], trusting anchors: [TrustAnchor], use: Use
    ) throws(SignedDataError) -> Parts {
        // Checks the root first, so that an untrusted chain costs little. A root of the anchors is not parsed again.
        let knownRoot = anchors.lazy.compactMap { $0.certificate(encodedAs: encoded[2]) }.first
        let root = if let knownRoot { knownRoot } else { try Certificate(der: encoded[2]) }
        let trusting = anchors.filter { $0.anchor(for: root) != nil }
        guard let anchor = trusting.first?.anchor(for: root) else {
            throw SignedDataError(
                .untrustedRoot, "The chain ends at a root that is not trusted: \(Excerpt(root.subject)).")
        }
        // A receipt contains the root itself. Another root with the same key shows that the receipt was changed.
        guard use == .jws || root == anchor else {
            throw SignedDataError(.untrustedRoot, "The receipt's root is not the trusted one byte for byte.")
        }
        let leaf = try Certificate(der: encoded[0])
        let intermediate = try Certificate(der: encoded[1])
        try checkConstraints(leaf: leaf, intermediate: intermediate, anchor: anchor)
        try checkMarkers(leaf: leaf, intermediate: intermediate)
        try checkSignatures(leaf: leaf, intermediate: intermediate, anchor: anchor, use: use)
        return ([leaf, intermediate, root], anchor, trusting)
    }

    private static func localChain(_ encoded: [UInt8], _ anchors: [TrustAnchor]) throws(SignedDataError) -> Parts {
        let only = try Certificate(der: encoded)
        let trusting = anchors.filter { $0.localAnchor(for: only) != nil }
        guard let anchor = trusting.first?.localAnchor(for: only) else {
            throw SignedDataError(
                .untrustedRoot, "The only certificate of the chain is not trusted: \(Excerpt(only.subject)).")
        }
        guard only.isSelfSigned else {
            throw SignedDataError(.chainInvalid, "The only certificate of the chain is not self-signed.")
        }
        return ([only], anchor, trusting)
    }

    /// Throws `certificateExpired` unless `validity` without its last second contains the second of `instant`.
    ///
    /// RFC 5280 section 4.1.2.5 includes the last second, but OpenSSL counts it as expired. A chain that OpenSSL
    /// refuses is not accepted.
    package func check(at instant: Date) throws(SignedDataError) {
        let second = Date(timeIntervalSince1970: instant.timeIntervalSince1970.rounded(.down))
        if validity.contains(second), second < validity.upperBound { return }
        let when = RFC3339.string(from: instant)
        let span = "\(RFC3339.string(from: validity.lowerBound)) to \(RFC3339.string(from: validity.upperBound))"
        throw SignedDataError(.certificateExpired, "The chain is valid from \(span), and was verified at \(when).")
    }

    /// Throws `untrustedRoot` unless an anchor of this chain may sign for `environment`; `nil` means a document without
    /// an environment. A chain of one certificate may only sign for local environments: its signer could state any
    /// environment in the document.
    func check(signing environment: AppStoreEnvironment?) throws(SignedDataError) {
        let isFitting = !isLocal || environment.map { AppStoreEnvironment.local.contains($0) } ?? false
        if isFitting, anchors.contains(where: { $0.covers(environment) }) { return }
        let what = environment.map { "the environment \(Excerpt($0.rawValue))" } ?? "a document without environment"
        throw SignedDataError(.untrustedRoot, "The root \(Excerpt(anchor.subject)) is not trusted for \(what).")
    }

    private static func checkConstraints(
        leaf: Certificate, intermediate: Certificate, anchor: Certificate
    ) throws(SignedDataError) {
        guard anchor.isCertificateAuthority || anchor.isRootOfVersion1 else {
            throw SignedDataError(.notACertificateAuthority, "The root is not a certificate authority.")
        }
        guard intermediate.isCertificateAuthority else {
            throw SignedDataError(.notACertificateAuthority, "The intermediate is not a certificate authority.")
        }
        guard X509_check_ca(leaf.pointer) == 0 else {
            throw SignedDataError(.chainInvalid, "The leaf is a certificate authority, which a signer must not be.")
        }
    }

    private static func checkMarkers(leaf: Certificate, intermediate: Certificate) throws(SignedDataError) {
        guard leaf.hasExtension(leafMarker) else {
            throw SignedDataError(.missingMarkerOID, "The leaf lacks the extension \(leafMarker).")
        }
        guard intermediate.hasExtension(intermediateMarker) else {
            throw SignedDataError(.missingMarkerOID, "The intermediate lacks the extension \(intermediateMarker).")
        }
    }

    /// Runs OpenSSL's path validation (RFC 5280 section 6) without dates, and checks that the path has exactly these
    /// three certificates.
    private static func checkSignatures(
        leaf: Certificate, intermediate: Certificate, anchor: Certificate, use: Use
    ) throws(SignedDataError) {
        var trusted: [OpaquePointer?] = [anchor.pointer]
        var others: [OpaquePointer?] = [intermediate.pointer]
        guard let store = X509_STORE_new(), let context = X509_STORE_CTX_new(),
            let trustedStack = souk_x509_stack(&trusted, 1), let otherStack = souk_x509_stack(&others, 1)
        else { throw OpenSSL.failed("prepare the validation of a chain") }
        defer {
            X509_STORE_CTX_free(context)
            X509_STORE_free(store)
            souk_x509_stack_free(trustedStack)
            souk_x509_stack_free(otherStack)
            OpenSSL.clearErrors()
        }
        guard X509_STORE_CTX_init(context, store, leaf.pointer, otherStack) == 1,
            let parameters = X509_STORE_CTX_get0_param(context)
        else { throw OpenSSL.failed("prepare the validation of a chain") }
        X509_STORE_CTX_set0_trusted_stack(context, trustedStack)
        X509_VERIFY_PARAM_set_flags(parameters, UInt(X509_V_FLAG_NO_CHECK_TIME | X509_V_FLAG_TRUSTED_FIRST))
        X509_VERIFY_PARAM_set_depth(parameters, 2)
        // Level 2 is 112 bits: no SHA-1 below the root, no RSA under 2048 bits. `ReceiptSignerChain` checks receipts.
        X509_VERIFY_PARAM_set_auth_level(parameters, use == .jws ? 2 : 0)
        guard X509_verify_cert(context) == 1 else {
            let error = X509_STORE_CTX_get_error(context)
            let words = X509_verify_cert_error_string(Int(error)).map { String(cString: $0) } ?? "error \(error)"
            let isConstraint = error == X509_V_ERR_INVALID_CA || error == X509_V_ERR_PATH_LENGTH_EXCEEDED
            throw SignedDataError(
                isConstraint ? .notACertificateAuthority : .chainInvalid, "The chain is not valid: \(words).")
        }
        let path = X509_STORE_CTX_get0_chain(context)
        let expected = [leaf, intermediate, anchor]
        guard souk_x509_stack_count(path) == 3,
            expected.enumerated().allSatisfy({
                X509_cmp(souk_x509_stack_element(path, Int32($0.offset)), $0.element.pointer) == 0
            })
        else { throw SignedDataError(.chainInvalid, "The leaf does not lead to the root through the intermediate.") }
    }
}

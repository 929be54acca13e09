import COpenSSL
import Foundation
import Primitives

/// Three certificates that end at a trusted root: leaf, intermediate, root. Only the verifier makes one.
///
/// Everything that does not depend on time was judged when it was made; `check(at:)` judges the rest, each time anew.
public final class CertificateChain: Sendable {
    public let leaf: Certificate
    public let intermediate: Certificate
    /// The certificate that stood last in the chain.
    public let root: Certificate
    /// The trusted certificate the chain was judged with: `root` itself, or the given one of the same subject and key.
    public let anchor: Certificate
    /// When all three are valid; empty chains are never made.
    public let validity: ClosedRange<Date>

    let leafKey: VerificationKey

    /// Apple's mark of leaf certificates that sign purchases.
    public static let leafMarker = "1.2.840.113635.100.6.11.1"
    /// Apple's mark of the intermediate certificates above them (Worldwide Developer Relations).
    public static let intermediateMarker = "1.2.840.113635.100.6.2.1"

    init(_ encoded: [[UInt8]], trusting anchors: [TrustAnchor]) throws(SignedDataError) {
        guard encoded.count == 3 else {
            throw SignedDataError(.chainLength, "The chain has \(encoded.count) certificates; it must have three.")
        }
        root = try Certificate(der: encoded[2])
        guard let anchor = anchors.lazy.compactMap({ [root] in $0.anchor(for: root) }).first else {
            throw SignedDataError(
                .untrustedRoot, "The chain ends at a root that is not trusted: \(Excerpt(root.subject)).")
        }
        self.anchor = anchor
        leaf = try Certificate(der: encoded[0])
        intermediate = try Certificate(der: encoded[1])
        try Self.checkConstraints(leaf: leaf, intermediate: intermediate, anchor: anchor)
        try Self.checkMarkers(leaf: leaf, intermediate: intermediate)
        try Self.checkSignatures(leaf: leaf, intermediate: intermediate, anchor: anchor)
        guard let leafKey = leaf.verificationKey() else {
            throw SignedDataError(.unsupportedAlgorithm, "The leaf's key is not for P-256, so ES256 cannot use it.")
        }
        self.leafKey = leafKey
        let periods = [leaf.validity, intermediate.validity, anchor.validity]
        let start = periods.map(\.lowerBound).max() ?? .distantFuture
        let end = periods.map(\.upperBound).min() ?? .distantPast
        guard start <= end else {
            throw SignedDataError(.certificateExpired, "There is no instant at which all three certificates are valid.")
        }
        validity = start...end
    }

    /// Throws `certificateExpired` unless all three certificates are valid at the second `instant` lies in.
    func check(at instant: Date) throws(SignedDataError) {
        let second = Date(timeIntervalSince1970: instant.timeIntervalSince1970.rounded(.down))
        if validity.contains(second) { return }
        let when = RFC3339.string(from: instant)
        let span = "\(RFC3339.string(from: validity.lowerBound)) to \(RFC3339.string(from: validity.upperBound))"
        throw SignedDataError(.certificateExpired, "The chain is valid from \(span), and it was judged at \(when).")
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

    /// OpenSSL's own path validation (RFC 5280 section 6) without time, and that the path is these three and no other.
    private static func checkSignatures(
        leaf: Certificate, intermediate: Certificate, anchor: Certificate
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
        // 112 bits: no SHA-1 signatures below the root, no RSA under 2048 bits.
        X509_VERIFY_PARAM_set_auth_level(parameters, 2)
        guard X509_verify_cert(context) == 1 else {
            let error = X509_STORE_CTX_get_error(context)
            let words = X509_verify_cert_error_string(Int(error)).map { String(cString: $0) } ?? "error \(error)"
            let isConstraint = error == X509_V_ERR_INVALID_CA || error == X509_V_ERR_PATH_LENGTH_EXCEEDED
            throw SignedDataError(
                isConstraint ? .notACertificateAuthority : .chainInvalid, "The chain does not hold: \(words).")
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

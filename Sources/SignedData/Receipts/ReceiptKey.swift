import COpenSSL
import Primitives

/// The public key of a receipt's signer, RSA or of an elliptic curve. All threads can share one.
///
/// It is `Sendable` because OpenSSL counts references atomically and does not change a key. Each verification has a
/// `Context` of its own.
final class ReceiptKey: @unchecked Sendable {
    private let pointer: OpaquePointer
    private let isRSA: Bool
    private let idle = Locked<[ReceiptDigest: [Context]]>([:])

    /// Creates a key from a certificate. Throws `unsupportedAlgorithm` if the key is neither RSA nor of an elliptic
    /// curve, or is weaker than RSA of 2048 bits.
    init(of certificate: Certificate) throws(SignedDataError) {
        guard let key = X509_get_pubkey(certificate.pointer) else {
            OpenSSL.clearErrors()
            throw SignedDataError(.certificateMalformed, "The key of a certificate cannot be read.")
        }
        let kind = EVP_PKEY_get_base_id(key)
        guard kind == EVP_PKEY_RSA || kind == EVP_PKEY_EC, EVP_PKEY_get_security_bits(key) >= 112 else {
            EVP_PKEY_free(key)
            OpenSSL.clearErrors()
            throw SignedDataError(
                .unsupportedAlgorithm,
                "The key of a certificate is neither RSA of at least 2048 bits nor of an equally strong curve.")
        }
        pointer = key
        isRSA = kind == EVP_PKEY_RSA
    }

    deinit { EVP_PKEY_free(pointer) }

    /// Returns whether `signature` matches a digest: RSA of PKCS #1 version 1.5 (RFC 8017 section 8.2), or ECDSA as two
    /// integers in DER.
    func isValid(
        signature: UnsafeRawBufferPointer, ofDigest digest: [UInt8], by algorithm: ReceiptAlgorithm
    ) throws(SignedDataError) -> Bool {
        guard algorithm.isRSA == isRSA else {
            throw SignedDataError(
                .unsupportedAlgorithm, "The receipt's signature is of another kind than its signer's key.")
        }
        let context = try takeContext(for: algorithm.digest)
        let octets = signature.bindMemory(to: UInt8.self)
        let answer = EVP_PKEY_verify(context.pointer, octets.baseAddress, octets.count, digest, digest.count)
        if answer != 1 { OpenSSL.clearErrors() }
        putBack(context, for: algorithm.digest)
        return answer == 1
    }

    /// Returns whether this key made `signature` for any digest of this kind. If so, the content was changed but the
    /// signature was not. Always `false` for ECDSA, whose signatures do not contain the digest.
    func isValid(signature: UnsafeRawBufferPointer, ofAnyDigest digest: ReceiptDigest) -> Bool {
        defer { OpenSSL.clearErrors() }
        guard isRSA, let context = EVP_PKEY_CTX_new_from_pkey(nil, pointer, nil) else { return false }
        defer { EVP_PKEY_CTX_free(context) }
        var count = 1024
        var recovered = [UInt8](repeating: 0, count: count)
        let octets = signature.bindMemory(to: UInt8.self)
        return EVP_PKEY_verify_recover_init(context) == 1
            && EVP_PKEY_CTX_set_rsa_padding(context, RSA_PKCS1_PADDING) == 1
            && EVP_PKEY_CTX_set_signature_md(context, digest.algorithm) == 1
            && EVP_PKEY_verify_recover(context, &recovered, &count, octets.baseAddress, octets.count) == 1
            && count == digest.count
    }

    private func takeContext(for digest: ReceiptDigest) throws(SignedDataError) -> Context {
        if let context = idle.withLock({ $0[digest]?.popLast() }) { return context }
        guard let context = Context(key: pointer, digest: digest, isRSA: isRSA) else {
            throw OpenSSL.failed("prepare the verification of a signature")
        }
        return context
    }

    private func putBack(_ context: Context, for digest: ReceiptDigest) {
        idle.withLock { idle in
            if idle[digest, default: []].count < 64 { idle[digest, default: []].append(context) }
        }
    }

    /// The state of a verification in OpenSSL, which is reused. It is `Sendable` because one thread at a time uses it.
    private final class Context: @unchecked Sendable {
        let pointer: OpaquePointer

        init?(key: OpaquePointer, digest: ReceiptDigest, isRSA: Bool) {
            guard let pointer = EVP_PKEY_CTX_new_from_pkey(nil, key, nil) else { return nil }
            self.pointer = pointer
            guard EVP_PKEY_verify_init(pointer) == 1,
                !isRSA || EVP_PKEY_CTX_set_rsa_padding(pointer, RSA_PKCS1_PADDING) == 1,
                EVP_PKEY_CTX_set_signature_md(pointer, digest.algorithm) == 1
            else { return nil }
        }

        deinit { EVP_PKEY_CTX_free(pointer) }
    }
}

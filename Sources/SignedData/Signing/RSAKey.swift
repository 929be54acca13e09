import COpenSSL
import Primitives

/// The digest under an RSA signature with PKCS#1 v1.5 (RFC 8017 section 8.2).
package enum RSADigest: Sendable {
    /// The digest of Google Play's signed purchase data.
    case sha1
    /// The digest of RS256 (RFC 7518 section 3.3).
    case sha256

    fileprivate var algorithm: OpaquePointer? { self == .sha1 ? EVP_sha1() : EVP_sha256() }
}

/// An RSA key pair, with which Google Play and its services sign. All threads can share one. Its description does not
/// contain the key.
///
/// It is `Sendable` because OpenSSL counts references atomically and does not change a key after its creation.
package final class RSASigningKey: @unchecked Sendable {
    private let pointer: OpaquePointer

    /// Creates a key from a reference and takes ownership of it.
    private init(owning pointer: OpaquePointer) { self.pointer = pointer }

    deinit { EVP_PKEY_free(pointer) }

    /// Returns a new key of 2048 bits. Throws `cryptographyFailed`.
    package static func generate() throws(SignedDataError) -> RSASigningKey {
        guard let key = souk_generate_rsa_key(2048) else { throw OpenSSL.failed("generate an RSA key") }
        return RSASigningKey(owning: key)
    }

    /// Creates a key from PEM or DER, without a passphrase: PKCS#8 or PKCS#1. Throws `keyMalformed`.
    package convenience init(_ encoded: [UInt8]) throws(SignedDataError) {
        let key = try PrivateKeyFile.read(encoded)
        guard RSAVerificationKey.isAccepted(key) else {
            let kind = PrivateKeyFile.kind(of: key)
            EVP_PKEY_free(key)
            throw SignedDataError(
                .keyMalformed, "This private key is of \(kind); it should be of RSA, with 2048 to 8192 bits.")
        }
        self.init(owning: key)
    }

    /// The key as PKCS#8 in PEM, without a passphrase.
    package var pem: String {
        let text = OpenSSL.written { PEM_write_bio_PKCS8PrivateKey($0, self.pointer, nil, nil, 0, nil, nil) }
        return String(decoding: text ?? [], as: UTF8.self)
    }

    /// The public key.
    package var verificationKey: RSAVerificationKey {
        EVP_PKEY_up_ref(pointer)
        return RSAVerificationKey(owning: pointer)
    }

    /// Returns the signature of a message. Throws `cryptographyFailed`.
    package func signature(of message: [UInt8], _ digest: RSADigest) throws(SignedDataError) -> [UInt8] {
        guard let context = EVP_MD_CTX_new() else { throw OpenSSL.failed("sign") }
        defer { EVP_MD_CTX_free(context) }
        var length = Int(EVP_PKEY_get_size(pointer))
        var signature = [UInt8](repeating: 0, count: length)
        guard EVP_DigestSignInit(context, nil, digest.algorithm, nil, pointer) == 1,
            EVP_DigestSign(context, &signature, &length, message, message.count) == 1
        else { throw OpenSSL.failed("sign") }
        return Array(signature.prefix(length))
    }
}

/// The public key of an RSA key pair. All threads can share one.
///
/// It is `Sendable` because OpenSSL counts references atomically and does not change a key.
package final class RSAVerificationKey: @unchecked Sendable {
    private let pointer: OpaquePointer

    /// Creates a key from a reference and takes ownership of it.
    fileprivate init(owning pointer: OpaquePointer) { self.pointer = pointer }

    deinit { EVP_PKEY_free(pointer) }

    /// Creates a key from a SubjectPublicKeyInfo in DER (RFC 5280) or PEM. Throws `keyMalformed`.
    package convenience init(_ encoded: [UInt8]) throws(SignedDataError) {
        guard let key = VerificationKey.publicKey(encoded) else {
            throw SignedDataError(.keyMalformed, "The public key is neither a SubjectPublicKeyInfo in DER nor in PEM.")
        }
        guard Self.isAccepted(key) else {
            EVP_PKEY_free(key)
            throw SignedDataError(.keyMalformed, "The public key is not an RSA key with 2048 to 8192 bits.")
        }
        self.init(owning: key)
    }

    /// Creates a key from its numbers in big-endian order, as a JWK has them (RFC 7518 section 6.3.1). Throws
    /// `keyMalformed`.
    package convenience init(modulus: [UInt8], exponent: [UInt8]) throws(SignedDataError) {
        let algorithm = DERWriter.sequence(DERWriter.objectIdentifier(Self.rsaEncryption), DERWriter.null)
        let numbers = DERWriter.sequence(Self.integer(modulus), Self.integer(exponent))
        try self.init(DERWriter.sequence(algorithm, DERWriter.element(BERTag.bitString, [0] + numbers)))
    }

    /// The key as a SubjectPublicKeyInfo in DER.
    package var der: [UInt8] { OpenSSL.der { i2d_PUBKEY(self.pointer, $0) } ?? [] }

    /// The modulus, in big-endian order.
    package var modulus: [UInt8] { number(OSSL_PKEY_PARAM_RSA_N) }
    /// The public exponent, in big-endian order.
    package var exponent: [UInt8] { number(OSSL_PKEY_PARAM_RSA_E) }

    /// Returns whether a signature matches a message.
    package func isValid(signature: [UInt8], of message: [UInt8], _ digest: RSADigest) -> Bool {
        guard signature.count == Int(EVP_PKEY_get_size(pointer)), let context = EVP_MD_CTX_new() else { return false }
        defer { EVP_MD_CTX_free(context) }
        let isValid =
            EVP_DigestVerifyInit(context, nil, digest.algorithm, nil, pointer) == 1
            && EVP_DigestVerify(context, signature, signature.count, message, message.count) == 1
        if !isValid { OpenSSL.clearErrors() }
        return isValid
    }

    /// The limits on the size keep a verification fast.
    fileprivate static func isAccepted(_ key: OpaquePointer) -> Bool {
        EVP_PKEY_get_base_id(key) == EVP_PKEY_RSA && (2048...8192).contains(EVP_PKEY_get_bits(key))
    }

    /// 1.2.840.113549.1.1.1 (RFC 8017 appendix C).
    private static let rsaEncryption: [UInt8] = [0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x01, 0x01]

    private static func integer(_ bytes: [UInt8]) -> [UInt8] {
        let value = bytes.drop { $0 == 0 }
        let sign: [UInt8] = value.first.map { $0 & 0x80 == 0 } ?? false ? [] : [0]
        return DERWriter.element(BERTag.integer, sign + value)
    }

    private func number(_ name: String) -> [UInt8] {
        var number: OpaquePointer?
        guard EVP_PKEY_get_bn_param(pointer, name, &number) == 1, let number else { return [] }
        defer { BN_free(number) }
        var bytes = [UInt8](repeating: 0, count: Int(BN_num_bits(number) + 7) / 8)
        BN_bn2bin(number, &bytes)
        return bytes
    }
}

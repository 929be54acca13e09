import COpenSSL

/// A P-256 key pair that signs ES256. Any number of threads may share one. It never describes itself.
public final class SigningKey: @unchecked Sendable {
    // Sendable: OpenSSL counts references to a key atomically and does not change it after it is made.
    let pointer: OpaquePointer

    /// Takes over a reference to the key.
    init(owning pointer: OpaquePointer) { self.pointer = pointer }

    deinit { EVP_PKEY_free(pointer) }

    /// A new key from OpenSSL's random source. Throws `cryptographyFailed`.
    public static func generate() throws(SignedDataError) -> SigningKey { try generate(onCurve: "P-256") }

    static func generate(onCurve curve: String) throws(SignedDataError) -> SigningKey {
        guard let key = souk_generate_key(curve) else { throw OpenSSL.failed("generate a \(curve) key") }
        return SigningKey(owning: key)
    }

    /// From PEM or DER: PKCS#8 (RFC 5958, Apple's `.p8`) or SEC 1 (RFC 5915), without a passphrase. Throws `keyMalformed`,
    /// saying what it is instead where that can be told.
    public convenience init(_ encoded: [UInt8]) throws(SignedDataError) {
        let key = try PrivateKeyFile.read(encoded)
        guard VerificationKey.isP256(key) else {
            let kind = PrivateKeyFile.kind(of: key)
            EVP_PKEY_free(key)
            throw SignedDataError(
                .keyMalformed, "This is a private key of \(kind), not of P-256, the curve of ES256; give the .p8 file.")
        }
        self.init(owning: key)
    }

    /// PKCS#8 in PEM, without a passphrase: keep it in a file of mode 0600.
    public var pem: String {
        let text = OpenSSL.written { PEM_write_bio_PKCS8PrivateKey($0, self.pointer, nil, nil, 0, nil, nil) }
        return String(decoding: text ?? [], as: UTF8.self)
    }

    /// The public half.
    public var verificationKey: VerificationKey {
        EVP_PKEY_up_ref(pointer)
        // A signing key is always P-256: both ways to make one see to it.
        return VerificationKey(owning: pointer)!
    }

    /// 64 bytes r‖s over the SHA-256 of `message` (RFC 7518 section 3.4). Throws `cryptographyFailed`.
    public func signature(of message: [UInt8]) throws(SignedDataError) -> [UInt8] {
        let digest = MessageDigest.sha256(message)
        guard let context = EVP_PKEY_CTX_new_from_pkey(nil, pointer, nil) else { throw OpenSSL.failed("sign") }
        defer { EVP_PKEY_CTX_free(context) }
        var length = 80
        var encoded = [UInt8](repeating: 0, count: length)
        guard EVP_PKEY_sign_init(context) == 1,
            EVP_PKEY_sign(context, &encoded, &length, digest, digest.count) == 1,
            let raw = ECDSASignature.raw(fromDER: Array(encoded.prefix(length)))
        else { throw OpenSSL.failed("sign") }
        return raw
    }
}

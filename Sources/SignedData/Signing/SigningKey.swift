import COpenSSL

/// A P-256 key pair that signs with ES256. All threads can share one. Its description does not contain the key.
///
/// It is `Sendable` because OpenSSL counts references atomically and does not change a key after its creation.
public final class SigningKey: @unchecked Sendable {
    let pointer: OpaquePointer

    /// Creates a key from a reference and takes ownership of it.
    init(owning pointer: OpaquePointer) { self.pointer = pointer }

    deinit { EVP_PKEY_free(pointer) }

    /// Returns a new key from OpenSSL's random source.
    ///
    /// - Returns: The key.
    /// - Throws: `SignedDataError` with `cryptographyFailed`.
    public static func generate() throws(SignedDataError) -> SigningKey { try generate(onCurve: "P-256") }

    static func generate(onCurve curve: String) throws(SignedDataError) -> SigningKey {
        guard let key = souk_generate_key(curve) else { throw OpenSSL.failed("generate a \(curve) key") }
        return SigningKey(owning: key)
    }

    /// Creates a key from PEM or DER, without a passphrase: PKCS#8 (RFC 5958, Apple's `.p8`) or SEC 1 (RFC 5915).
    ///
    /// - Parameter encoded: The bytes of the file.
    /// - Throws: `SignedDataError` with `keyMalformed`, which names the actual kind of the file if it is known.
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

    /// The key as PKCS#8 in PEM, without a passphrase. Store it in a file of mode 0600.
    public var pem: String {
        let text = OpenSSL.written { PEM_write_bio_PKCS8PrivateKey($0, self.pointer, nil, nil, 0, nil, nil) }
        return String(decoding: text ?? [], as: UTF8.self)
    }

    /// The public key.
    public var verificationKey: VerificationKey {
        EVP_PKEY_up_ref(pointer)
        // All callers that create a signing key, except tests, ensure that it is a P-256 key.
        return VerificationKey(owning: pointer)!
    }

    /// Signs the SHA-256 of a message (RFC 7518 section 3.4).
    ///
    /// - Parameter message: The message.
    /// - Returns: The 64 bytes of the signature, r‖s.
    /// - Throws: `SignedDataError` with `cryptographyFailed`.
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

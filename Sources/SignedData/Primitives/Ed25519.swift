import COpenSSL
import Primitives
import StoreModel

/// The signature algorithm Ed25519 (RFC 8032). Keys and signatures are short, and the same message always has the same
/// signature.
///
///     let key = try Ed25519.PrivateKey.generate()
///     let signature = try key.signature(of: message)                 // 64 bytes
///     key.publicKey.isValid(signature: signature, of: message)
public enum Ed25519 {
    /// A private key, which signs. All threads can share one. Its description does not contain the key.
    ///
    /// It is `Sendable` because OpenSSL counts references atomically and does not change a key after its creation.
    public final class PrivateKey: @unchecked Sendable {
        private let pointer: OpaquePointer

        private init(owning pointer: OpaquePointer) { self.pointer = pointer }

        deinit { EVP_PKEY_free(pointer) }

        /// Returns a new key from OpenSSL's random source.
        ///
        /// - Returns: The key.
        /// - Throws: `SignedDataError` with `cryptographyFailed`.
        public static func generate() throws(SignedDataError) -> PrivateKey {
            guard let pointer = souk_generate_ed25519_key() else { throw OpenSSL.failed("generate an Ed25519 key") }
            return PrivateKey(owning: pointer)
        }

        /// Creates a key from its 32 bytes (RFC 8032 section 5.1.5).
        ///
        /// - Parameter raw: The bytes.
        /// - Throws: `SignedDataError` with `keyMalformed` for another length.
        public convenience init(raw: [UInt8]) throws(SignedDataError) {
            guard raw.count == 32, let pointer = EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, nil, raw, raw.count)
            else {
                OpenSSL.clearErrors()
                throw SignedDataError(
                    .keyMalformed, "A private key of Ed25519 has 32 bytes; this one has \(raw.count).")
            }
            self.init(owning: pointer)
        }

        /// Creates a key from PKCS#8 in PEM or DER (RFC 8410), without a passphrase.
        ///
        /// - Parameter encoded: The bytes of the file.
        /// - Throws: `SignedDataError` with `keyMalformed`, which names the actual kind of the file.
        public convenience init(_ encoded: [UInt8]) throws(SignedDataError) {
            let pointer = try PrivateKeyFile.read(encoded)
            guard EVP_PKEY_get_base_id(pointer) == EVP_PKEY_ED25519 else {
                let kind = PrivateKeyFile.kind(of: pointer)
                EVP_PKEY_free(pointer)
                throw SignedDataError(.keyMalformed, "This is a private key of \(kind), not of Ed25519.")
            }
            self.init(owning: pointer)
        }

        /// The 32 bytes of the key. Anyone who has them can sign, so store them as you store a password.
        public var raw: [UInt8] { Ed25519.rawBytes { EVP_PKEY_get_raw_private_key(self.pointer, $0, $1) } }

        /// The key as PKCS#8 in PEM, without a passphrase. Store it in a file of mode 0600.
        public var pem: String {
            let text = OpenSSL.written { PEM_write_bio_PKCS8PrivateKey($0, self.pointer, nil, nil, 0, nil, nil) }
            return String(decoding: text ?? [], as: UTF8.self)
        }

        /// The public key.
        public var publicKey: PublicKey {
            EVP_PKEY_up_ref(pointer)
            return PublicKey(owning: pointer)
        }

        /// Signs a message.
        ///
        /// - Parameter message: The message.
        /// - Returns: The 64 bytes of the signature.
        /// - Throws: `SignedDataError` with `cryptographyFailed`.
        public func signature(of message: [UInt8]) throws(SignedDataError) -> [UInt8] {
            guard let context = EVP_MD_CTX_new() else { throw OpenSSL.failed("sign") }
            defer { EVP_MD_CTX_free(context) }
            var length = 64
            var signature = [UInt8](repeating: 0, count: length)
            guard EVP_DigestSignInit(context, nil, nil, nil, pointer) == 1,
                EVP_DigestSign(context, &signature, &length, message, message.count) == 1, length == 64
            else { throw OpenSSL.failed("sign") }
            return signature
        }
    }

    /// A public key, which verifies signatures. All threads can share one.
    ///
    /// It is `Sendable` because OpenSSL counts references atomically and does not change a key after its creation.
    public final class PublicKey: @unchecked Sendable, Hashable {
        private let pointer: OpaquePointer

        /// Creates a key from a reference to a public or private Ed25519 key, and takes ownership of the reference.
        fileprivate init(owning pointer: OpaquePointer) { self.pointer = pointer }

        deinit { EVP_PKEY_free(pointer) }

        /// Creates a key from its 32 bytes (RFC 8032 section 5.1.5).
        ///
        /// - Parameter raw: The bytes.
        /// - Throws: `SignedDataError` with `keyMalformed` for another length.
        public convenience init(raw: [UInt8]) throws(SignedDataError) {
            guard raw.count == 32, let pointer = EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, nil, raw, raw.count)
            else {
                OpenSSL.clearErrors()
                throw SignedDataError(.keyMalformed, "A public key of Ed25519 has 32 bytes; this one has \(raw.count).")
            }
            self.init(owning: pointer)
        }

        /// Creates a key from a SubjectPublicKeyInfo in PEM or DER (RFC 8410).
        ///
        /// - Parameter encoded: The bytes of the file.
        /// - Throws: `SignedDataError` with `keyMalformed`.
        public convenience init(_ encoded: [UInt8]) throws(SignedDataError) {
            guard let pointer = VerificationKey.publicKey(encoded) else {
                throw SignedDataError(
                    .keyMalformed, "The public key is neither a SubjectPublicKeyInfo in DER nor in PEM.")
            }
            guard EVP_PKEY_get_base_id(pointer) == EVP_PKEY_ED25519 else {
                let kind = PrivateKeyFile.kind(of: pointer)
                EVP_PKEY_free(pointer)
                throw SignedDataError(.keyMalformed, "This is a public key of \(kind), not of Ed25519.")
            }
            self.init(owning: pointer)
        }

        /// The 32 bytes of the key.
        public var raw: [UInt8] { Ed25519.rawBytes { EVP_PKEY_get_raw_public_key(self.pointer, $0, $1) } }

        /// The key as a SubjectPublicKeyInfo in PEM.
        public var pem: String {
            String(decoding: OpenSSL.written { PEM_write_bio_PUBKEY($0, self.pointer) } ?? [], as: UTF8.self)
        }

        /// Returns whether a signature was made with the private key.
        ///
        /// - Parameters:
        ///   - signature: The 64 bytes of the signature.
        ///   - message: The signed message.
        /// - Returns: Whether the signature is valid.
        public func isValid(signature: [UInt8], of message: [UInt8]) -> Bool {
            guard signature.count == 64, let context = EVP_MD_CTX_new() else { return false }
            defer { EVP_MD_CTX_free(context) }
            let isValid =
                EVP_DigestVerifyInit(context, nil, nil, nil, pointer) == 1
                && EVP_DigestVerify(context, signature, signature.count, message, message.count) == 1
            if !isValid { OpenSSL.clearErrors() }
            return isValid
        }

        /// Returns whether two keys have the same bytes.
        public static func == (left: PublicKey, right: PublicKey) -> Bool { left.raw == right.raw }
        public func hash(into hasher: inout Hasher) { hasher.combine(raw) }
    }

    fileprivate static func rawBytes(_ read: (UnsafeMutablePointer<UInt8>, UnsafeMutablePointer<Int>) -> Int32)
        -> [UInt8]
    {
        [UInt8](unsafeUninitializedCapacity: 32) { bytes, count in
            bytes.initialize(repeating: 0)
            var length = 32
            let isRead = bytes.baseAddress.map { read($0, &length) } == 1
            precondition(isRead && length == 32, "a key of Ed25519 always gives its 32 bytes")
            count = 32
        }
    }
}

/// Verifies signed answers of a server with the public keys that the app contains.
///
///     let verifier = Ed25519AnswerVerifier(keys: ["2026-11": try .init(pem), "2027-02": try .init(nextPEM)])
///
/// With several keys, a server can change to a new key while apps still have both.
public struct Ed25519AnswerVerifier: AnswerVerifier {
    private let keys: [String: Ed25519.PublicKey]

    /// Creates a verifier.
    ///
    /// - Parameter keys: The public keys by the server's ids.
    public init(keys: [String: Ed25519.PublicKey]) { self.keys = keys }

    /// Verifies a signature.
    ///
    /// - Parameters:
    ///   - signature: The 64 bytes of the signature.
    ///   - message: The signed bytes.
    ///   - keyID: The server's id of the key.
    /// - Throws: `SignedDataError` with `unknownKey` or `signatureInvalid`.
    public func verify(_ signature: [UInt8], of message: [UInt8], keyID: String) throws {
        guard let key = keys[exactly: keyID] else {
            throw SignedDataError(
                .unknownKey, "The answer is signed with the key \(Excerpt(keyID)), which is not among those trusted.")
        }
        guard key.isValid(signature: signature, of: message) else {
            throw SignedDataError(.signatureInvalid, "The answer's signature is not that of the key \(Excerpt(keyID)).")
        }
    }
}

extension Ed25519.PrivateKey: CustomReflectable {
    /// An empty mirror, without the address of the key.
    public var customMirror: Mirror { Mirror(self, children: []) }
}

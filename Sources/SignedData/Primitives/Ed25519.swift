import COpenSSL
import Primitives
import StoreModel

/// Ed25519 (RFC 8032): short keys, short signatures, the same signature for the same message every time.
///
///     let key = try Ed25519.PrivateKey.generate()
///     let signature = try key.signature(of: message)                 // 64 bytes
///     key.publicKey.isValid(signature: signature, of: message)
public enum Ed25519 {
    /// Signs. Any number of threads may share one. It never describes itself.
    public final class PrivateKey: @unchecked Sendable {
        // Sendable: OpenSSL counts references to a key atomically and does not change it after it is made.
        private let pointer: OpaquePointer

        private init(owning pointer: OpaquePointer) { self.pointer = pointer }

        deinit { EVP_PKEY_free(pointer) }

        /// A new key from OpenSSL's random source. Throws `cryptographyFailed`.
        public static func generate() throws(SignedDataError) -> PrivateKey {
            guard let pointer = souk_generate_ed25519_key() else { throw OpenSSL.failed("generate an Ed25519 key") }
            return PrivateKey(owning: pointer)
        }

        /// From the 32 bytes of RFC 8032 section 5.1.5. Throws `keyMalformed` for another length.
        public convenience init(raw: [UInt8]) throws(SignedDataError) {
            guard raw.count == 32, let pointer = EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, nil, raw, raw.count)
            else {
                OpenSSL.clearErrors()
                throw SignedDataError(
                    .keyMalformed, "A private key of Ed25519 has 32 bytes; this one has \(raw.count).")
            }
            self.init(owning: pointer)
        }

        /// From PKCS#8 in PEM or DER (RFC 8410), without a passphrase. Throws `keyMalformed`, saying what it is instead.
        public convenience init(_ encoded: [UInt8]) throws(SignedDataError) {
            let pointer = try PrivateKeyFile.read(encoded)
            guard EVP_PKEY_get_base_id(pointer) == EVP_PKEY_ED25519 else {
                let kind = PrivateKeyFile.kind(of: pointer)
                EVP_PKEY_free(pointer)
                throw SignedDataError(.keyMalformed, "This is a private key of \(kind), not of Ed25519.")
            }
            self.init(owning: pointer)
        }

        /// The 32 bytes. Whoever has them can sign: keep them as you keep a password.
        public var raw: [UInt8] { Ed25519.rawBytes { EVP_PKEY_get_raw_private_key(self.pointer, $0, $1) } }

        /// PKCS#8 in PEM, without a passphrase: keep it in a file of mode 0600.
        public var pem: String {
            let text = OpenSSL.written { PEM_write_bio_PKCS8PrivateKey($0, self.pointer, nil, nil, 0, nil, nil) }
            return String(decoding: text ?? [], as: UTF8.self)
        }

        public var publicKey: PublicKey {
            EVP_PKEY_up_ref(pointer)
            return PublicKey(owning: pointer)
        }

        /// The 64 bytes over `message`. Throws `cryptographyFailed`.
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

    /// Checks signatures. Any number of threads may share one.
    public final class PublicKey: @unchecked Sendable, Hashable {
        // Sendable: OpenSSL counts references to a key atomically and does not change it after it is made.
        private let pointer: OpaquePointer

        /// Takes over a reference to an Ed25519 key, public or private.
        fileprivate init(owning pointer: OpaquePointer) { self.pointer = pointer }

        deinit { EVP_PKEY_free(pointer) }

        /// From the 32 bytes of RFC 8032 section 5.1.5. Throws `keyMalformed` for another length.
        public convenience init(raw: [UInt8]) throws(SignedDataError) {
            guard raw.count == 32, let pointer = EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, nil, raw, raw.count)
            else {
                OpenSSL.clearErrors()
                throw SignedDataError(.keyMalformed, "A public key of Ed25519 has 32 bytes; this one has \(raw.count).")
            }
            self.init(owning: pointer)
        }

        /// From a SubjectPublicKeyInfo in PEM or DER (RFC 8410). Throws `keyMalformed`.
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

        public var raw: [UInt8] { Ed25519.rawBytes { EVP_PKEY_get_raw_public_key(self.pointer, $0, $1) } }

        /// A SubjectPublicKeyInfo in PEM.
        public var pem: String {
            String(decoding: OpenSSL.written { PEM_write_bio_PUBKEY($0, self.pointer) } ?? [], as: UTF8.self)
        }

        /// Whether `signature` is the one this key's owner makes of `message`.
        public func isValid(signature: [UInt8], of message: [UInt8]) -> Bool {
            guard signature.count == 64, let context = EVP_MD_CTX_new() else { return false }
            defer { EVP_MD_CTX_free(context) }
            let isValid =
                EVP_DigestVerifyInit(context, nil, nil, nil, pointer) == 1
                && EVP_DigestVerify(context, signature, signature.count, message, message.count) == 1
            if !isValid { OpenSSL.clearErrors() }
            return isValid
        }

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

/// Checks a server's signed answers with the public keys the app was given, by the names the server gives them.
///
///     let verifier = Ed25519AnswerVerifier(keys: ["2026-11": try .init(pem), "2027-02": try .init(nextPEM)])
///
/// Several keys at once let a server change from one to the next while both are out.
public struct Ed25519AnswerVerifier: AnswerVerifier {
    private let keys: [String: Ed25519.PublicKey]

    public init(keys: [String: Ed25519.PublicKey]) { self.keys = keys }

    /// Throws `SignedDataError`: `unknownKey` or `signatureInvalid`.
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
    /// Nothing, not even where in memory it is.
    public var customMirror: Mirror { Mirror(self, children: []) }
}

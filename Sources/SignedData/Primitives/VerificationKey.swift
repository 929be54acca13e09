import COpenSSL
import Primitives

/// The public key of a P-256 key pair, which verifies ES256 signatures (RFC 7518 section 3.4). All threads can share
/// one.
///
/// It is `Sendable` because OpenSSL counts references atomically and does not change a key. Each verification has a
/// `VerificationContext` of its own.
public final class VerificationKey: @unchecked Sendable {
    let pointer: OpaquePointer
    private let idle = Locked<[VerificationContext]>([])

    /// Creates a key from a reference and takes ownership of it. Returns `nil` and frees the reference if the key is
    /// not a P-256 key.
    init?(owning pointer: OpaquePointer) {
        self.pointer = pointer
        guard Self.isP256(pointer) else { return nil }
    }

    /// Creates a key from a SubjectPublicKeyInfo in DER (RFC 5280) or PEM.
    ///
    /// - Parameter encoded: The bytes of the file.
    /// - Throws: `SignedDataError` with `keyMalformed`.
    public convenience init(_ encoded: [UInt8]) throws(SignedDataError) {
        guard let key = Self.publicKey(encoded) else {
            throw SignedDataError(.keyMalformed, "The public key is neither a SubjectPublicKeyInfo in DER nor in PEM.")
        }
        guard Self.isP256(key) else {
            EVP_PKEY_free(key)
            throw SignedDataError(.keyMalformed, "The public key is not for P-256, the curve of ES256.")
        }
        self.init(owning: key)!
    }

    /// Returns a key of any kind from a SubjectPublicKeyInfo. The caller owns the reference.
    static func publicKey(_ encoded: [UInt8]) -> OpaquePointer? {
        defer { OpenSSL.clearErrors() }
        if PEM.isPEM(encoded) { return OpenSSL.reading(encoded) { PEM_read_bio_PUBKEY($0, nil, nil, nil) } }
        return encoded.withUnsafeBufferPointer { bytes in
            var cursor = bytes.baseAddress
            guard let key = d2i_PUBKEY(nil, &cursor, bytes.count) else { return nil }
            if cursor == bytes.baseAddress.map({ $0 + bytes.count }) { return key }
            EVP_PKEY_free(key)
            return nil
        }
    }

    deinit { EVP_PKEY_free(pointer) }

    /// The key as a SubjectPublicKeyInfo in DER.
    public var der: [UInt8] { OpenSSL.der { i2d_PUBKEY(self.pointer, $0) } ?? [] }

    /// Returns whether a signature matches the SHA-256 of a message.
    ///
    /// - Parameters:
    ///   - signature: The 64 bytes of the signature, r‖s.
    ///   - message: The signed message.
    /// - Returns: Whether the signature is valid.
    public func isValid(signature: [UInt8], of message: [UInt8]) -> Bool {
        message.withUnsafeBytes { isValid(signature: signature, of: $0) }
    }

    func isValid(signature: [UInt8], of message: UnsafeRawBufferPointer) -> Bool {
        isValid(signature: signature, ofDigest: MessageDigest.sha256(message))
    }

    /// Returns whether a signature matches a digest. It does one P-256 verification of OpenSSL and nothing else.
    ///
    /// - Parameters:
    ///   - signature: The 64 bytes of the signature, r‖s.
    ///   - digest: The 32 bytes of the digest.
    /// - Returns: Whether the signature is valid.
    public func isValid(signature: [UInt8], ofDigest digest: [UInt8]) -> Bool {
        guard digest.count == 32, let encoded = ECDSASignature.der(fromRaw: signature), let context = takeContext()
        else { return false }
        let answer = encoded.withUnsafeBufferPointer { encoded in
            digest.withUnsafeBufferPointer { digest in
                EVP_PKEY_verify(context.pointer, encoded.baseAddress, encoded.count, digest.baseAddress, digest.count)
            }
        }
        if answer != 1 { OpenSSL.clearErrors() }
        putBack(context)
        return answer == 1
    }

    static func isP256(_ key: OpaquePointer) -> Bool {
        guard EVP_PKEY_get_base_id(key) == EVP_PKEY_EC else { return false }
        var name = [CChar](repeating: 0, count: 32)
        var length = 0
        guard EVP_PKEY_get_utf8_string_param(key, OSSL_PKEY_PARAM_GROUP_NAME, &name, name.count, &length) == 1 else {
            OpenSSL.clearErrors()
            return false
        }
        return name.prefix(length).elementsEqual("prime256v1".utf8.map { CChar($0) })
    }

    private func takeContext() -> VerificationContext? {
        if let context = idle.withLock({ $0.popLast() }) { return context }
        return VerificationContext(key: pointer)
    }

    private func putBack(_ context: VerificationContext) {
        idle.withLock { idle in
            if idle.count < 64 { idle.append(context) }
        }
    }
}

/// The state of a verification in OpenSSL, which is reused. Creating it takes a tenth of the time of a verification. It
/// is `Sendable` because one thread at a time uses it.
private final class VerificationContext: @unchecked Sendable {
    let pointer: OpaquePointer

    init?(key: OpaquePointer) {
        guard let pointer = EVP_PKEY_CTX_new_from_pkey(nil, key, nil) else { return nil }
        self.pointer = pointer
        guard EVP_PKEY_verify_init(pointer) == 1 else { return nil }
    }

    deinit { EVP_PKEY_CTX_free(pointer) }
}

/// The two encodings of an ECDSA signature over P-256.
enum ECDSASignature {
    /// Returns the DER of 64 bytes r‖s, or `nil` for another length and if r or s is zero.
    static func der(fromRaw raw: [UInt8]) -> [UInt8]? {
        guard raw.count == 64 else { return nil }
        var der: [UInt8] = []
        der.reserveCapacity(72)
        der.append(0x30)
        der.append(0)
        guard append(raw[0..<32], to: &der), append(raw[32..<64], to: &der) else { return nil }
        der[1] = UInt8(der.count - 2)
        return der
    }

    /// Returns the 64 bytes r‖s of the DER that OpenSSL makes, or `nil` for other bytes.
    static func raw(fromDER der: [UInt8]) -> [UInt8]? {
        guard der.count > 4, der[0] == 0x30, Int(der[1]) == der.count - 2 else { return nil }
        var position = 2
        var raw: [UInt8] = []
        for _ in 0..<2 {
            guard position + 2 <= der.count, der[position] == 0x02 else { return nil }
            let end = position + 2 + Int(der[position + 1])
            guard end <= der.count else { return nil }
            let value = der[position + 2..<end].drop { $0 == 0 }
            guard value.count <= 32 else { return nil }
            raw += [UInt8](repeating: 0, count: 32 - value.count) + value
            position = end
        }
        return position == der.count ? raw : nil
    }

    /// Appends an integer in DER. Returns `false` for zero.
    private static func append(_ bytes: ArraySlice<UInt8>, to der: inout [UInt8]) -> Bool {
        let value = bytes.drop { $0 == 0 }
        guard let first = value.first else { return false }
        let isPadded = first & 0x80 != 0
        der.append(0x02)
        der.append(UInt8(value.count + (isPadded ? 1 : 0)))
        if isPadded { der.append(0) }
        der.append(contentsOf: value)
        return true
    }
}

import COpenSSL

/// HMAC with SHA-256 (RFC 2104, RFC 4231): tells who shares a key that a message is from another who does.
///
///     let hmac = try HMACSHA256(key: secret)
///     guard hmac.isValid(code, for: body) else { … }
package struct HMACSHA256: Sendable {
    private let key: SecretBytes

    /// Any length but none; 32 random bytes are right. Throws `keyMalformed` for an empty key, which everybody knows.
    package init(key: [UInt8]) throws(SignedDataError) {
        guard !key.isEmpty, key.count <= Int32.max else {
            throw SignedDataError(.keyMalformed, "The key of an HMAC is empty; 32 random bytes are right.")
        }
        self.key = SecretBytes(key)
    }

    /// The 32 bytes that prove `message`.
    package func code(for message: [UInt8]) -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: 32) { code, count in
            code.initialize(repeating: 0)
            let isDone = key.withUnsafeBytes { key in
                HMAC(EVP_sha256(), key.baseAddress, Int32(key.count), message, message.count, code.baseAddress, nil)
                    != nil
            }
            precondition(isDone, "HMAC with SHA-256 is part of every OpenSSL and fails only without memory")
            count = 32
        }
    }

    /// Whether `code` proves `message`. Takes the same time whatever byte differs.
    package func isValid(_ code: [UInt8], for message: [UInt8]) -> Bool {
        code.count == 32 && CRYPTO_memcmp(self.code(for: message), code, 32) == 0
    }
}

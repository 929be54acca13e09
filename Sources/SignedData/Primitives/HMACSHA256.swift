import COpenSSL

/// HMAC with SHA-256 (RFC 2104, RFC 4231). It proves that a message is from a holder of the same key.
///
///     let hmac = try HMACSHA256(key: secret)
///     guard hmac.isValid(code, for: body) else { … }
package struct HMACSHA256: Sendable {
    private let key: SecretBytes

    /// Creates an HMAC. The key has any length except 0; 32 random bytes are recommended. Throws `keyMalformed` for an
    /// empty key.
    package init(key: [UInt8]) throws(SignedDataError) {
        guard !key.isEmpty, key.count <= Int32.max else {
            throw SignedDataError(.keyMalformed, "The key of an HMAC is empty; use 32 random bytes.")
        }
        self.key = SecretBytes(key)
    }

    /// Returns the 32 bytes that authenticate `message`.
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

    /// Returns whether `code` authenticates `message`. The time does not depend on the byte that differs.
    package func isValid(_ code: [UInt8], for message: [UInt8]) -> Bool {
        code.count == 32 && CRYPTO_memcmp(self.code(for: message), code, 32) == 0
    }
}

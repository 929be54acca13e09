import COpenSSL
import Primitives
import StoreModel

/// AES-256 in Galois/Counter Mode (NIST SP 800-38D): encrypts bytes and detects every change of them.
///
///     let cipher = try AES256GCM(hexKey: "feffe9928665731c…")        // 64 hexadecimal digits
///     let sealed = try cipher.seal(plaintext)                        // nonce, ciphertext, tag
///     let opened = try cipher.open(sealed)
package struct AES256GCM: Sendable {
    package static let keyLength = 32
    /// 96 bits, as SP 800-38D recommends. Other lengths are not accepted.
    package static let nonceLength = 12
    /// 128 bits. Shorter tags are not accepted.
    package static let tagLength = 16

    // Unsafe: OpenSSL's algorithm objects do not change, and all threads may use them. Fetched once, because OpenSSL
    // looks a cipher up by its name each time.
    nonisolated(unsafe) private static let algorithm = EVP_CIPHER_fetch(nil, "AES-256-GCM", nil)

    private let key: SecretBytes

    /// Creates a cipher. Throws `keyMalformed` unless the key has 32 bytes.
    package init(key: [UInt8]) throws(SignedDataError) {
        guard key.count == Self.keyLength else {
            throw SignedDataError(.keyMalformed, "A key of AES-256 has 32 bytes; this one has \(key.count).")
        }
        self.key = SecretBytes(key)
    }

    /// Creates a cipher. Throws `keyMalformed` unless the key is 64 hexadecimal digits.
    package init(hexKey: String) throws(SignedDataError) {
        guard hexKey.utf8.count == 2 * Self.keyLength, let key = Hex.decode(hexKey) else {
            throw SignedDataError(.keyMalformed, "A key of AES-256 is 64 hexadecimal digits; this text is not.")
        }
        try self.init(key: key)
    }

    /// Returns a new random key. Throws `cryptographyFailed`.
    package static func generateKey() throws(SignedDataError) -> [UInt8] { try RandomBytes.make(keyLength) }

    /// Encrypts bytes with a random nonce. Returns the nonce, the ciphertext and the tag. `context` is authenticated
    /// but not part of the result, and must be the same for `open`. Throws `tooLarge` above a gibibyte, and
    /// `cryptographyFailed`.
    package func seal(_ plaintext: [UInt8], authenticating context: [UInt8] = []) throws(SignedDataError) -> [UInt8] {
        let nonce = try RandomBytes.make(Self.nonceLength)
        return nonce + (try seal(plaintext, nonce: nonce, authenticating: context))
    }

    /// Encrypts bytes with a nonce of 12 bytes. Returns the ciphertext and the tag.
    ///
    /// Never use a nonce twice with one key: two such ciphertexts allow an attacker to read and forge. Throws
    /// `malformed` for another length of the nonce, `tooLarge` and `cryptographyFailed`.
    package func seal(
        _ plaintext: [UInt8], nonce: [UInt8], authenticating context: [UInt8] = []
    ) throws(SignedDataError) -> [UInt8] {
        try Self.checkLengths(plaintext.count, context.count, nonce: nonce.count)
        var sealed = [UInt8](repeating: 0, count: plaintext.count + Self.tagLength)
        let isSealed = sealed.withUnsafeMutableBytes { sealed in
            process(plaintext[...], into: sealed, nonce: nonce, context: context, encrypting: true) { cipher in
                let tag = sealed.baseAddress! + plaintext.count
                return EVP_CIPHER_CTX_ctrl(cipher, EVP_CTRL_AEAD_GET_TAG, Int32(Self.tagLength), tag) == 1
            }
        }
        guard isSealed else { throw OpenSSL.failed("encrypt") }
        return sealed
    }

    /// Decrypts the result of `seal(_:authenticating:)`. Throws `decryptionFailed` if the key, the context or any byte
    /// differs, and returns no plaintext then.
    package func open(_ sealed: [UInt8], authenticating context: [UInt8] = []) throws(SignedDataError) -> [UInt8] {
        guard sealed.count >= Self.nonceLength + Self.tagLength else { throw Self.notOpened }
        return try open(
            Array(sealed.dropFirst(Self.nonceLength)), nonce: Array(sealed.prefix(Self.nonceLength)),
            authenticating: context)
    }

    /// Decrypts ciphertext and tag with `nonce`. Throws as `open(_:authenticating:)`.
    package func open(
        _ sealed: [UInt8], nonce: [UInt8], authenticating context: [UInt8] = []
    ) throws(SignedDataError) -> [UInt8] {
        try Self.checkLengths(sealed.count, context.count, nonce: nonce.count)
        guard sealed.count >= Self.tagLength else { throw Self.notOpened }
        var tag = Array(sealed.suffix(Self.tagLength))
        let ciphertext = sealed.dropLast(Self.tagLength)
        var plaintext = [UInt8](repeating: 0, count: ciphertext.count)
        let isOpened = plaintext.withUnsafeMutableBytes { plaintext in
            process(ciphertext, into: plaintext, nonce: nonce, context: context, encrypting: false) { cipher in
                EVP_CIPHER_CTX_ctrl(cipher, EVP_CTRL_AEAD_SET_TAG, Int32(Self.tagLength), &tag) == 1
            }
        }
        guard isOpened else {
            OpenSSL.clearErrors()
            throw Self.notOpened
        }
        return plaintext
    }

    /// Runs the cipher once. `handleTag` reads the tag after encryption. Before the end of decryption it sets the
    /// expected tag, and decryption fails if the tag differs.
    private func process(
        _ input: ArraySlice<UInt8>, into output: UnsafeMutableRawBufferPointer, nonce: [UInt8], context: [UInt8],
        encrypting: Bool, handleTag: (OpaquePointer) -> Bool
    ) -> Bool {
        guard let cipher = EVP_CIPHER_CTX_new() else { return false }
        defer { EVP_CIPHER_CTX_free(cipher) }
        let isReady = key.withUnsafeBytes { key in
            EVP_CipherInit_ex2(cipher, Self.algorithm, key.baseAddress, nonce, encrypting ? 1 : 0, nil) == 1
        }
        var length: Int32 = 0
        var end = [UInt8](repeating: 0, count: 16)
        guard isReady, context.isEmpty || EVP_CipherUpdate(cipher, nil, &length, context, Int32(context.count)) == 1
        else { return false }
        let isProcessed =
            input.isEmpty
            || input.withUnsafeBufferPointer { input in
                EVP_CipherUpdate(cipher, output.baseAddress, &length, input.baseAddress, Int32(input.count)) == 1
            }
        guard isProcessed else { return false }
        if encrypting { return EVP_CipherFinal_ex(cipher, &end, &length) == 1 && handleTag(cipher) }
        return handleTag(cipher) && EVP_CipherFinal_ex(cipher, &end, &length) == 1
    }

    private static func checkLengths(_ lengths: Int..., nonce: Int) throws(SignedDataError) {
        guard nonce == nonceLength else {
            throw SignedDataError(.malformed, "A nonce of AES-GCM has 12 bytes; this one has \(nonce).")
        }
        guard lengths.allSatisfy({ $0 <= 1 << 30 }) else {
            throw SignedDataError(.tooLarge, "AES-GCM encrypts at most a gigabyte at once; this is more.")
        }
    }

    private static var notOpened: SignedDataError {
        SignedDataError(
            .decryptionFailed,
            "The data was encrypted with another key, or was changed later; give the key that encrypted it.")
    }
}

extension AES256GCM: ProductListDecryptor {
    package func decrypt(_ sealed: [UInt8], authenticating header: [UInt8]) throws -> [UInt8] {
        try open(sealed, authenticating: header)
    }
}

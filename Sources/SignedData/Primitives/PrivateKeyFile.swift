import COpenSSL

/// Reads files with private keys, and names the actual kind of other files.
enum PrivateKeyFile {
    /// Refuses OpenSSL's request for a passphrase. Without this callback, OpenSSL would read one from the terminal.
    static let refusePassphrase:
        @convention(c) (UnsafeMutablePointer<CChar>?, Int32, Int32, UnsafeMutableRawPointer?)
            -> Int32 = { _, _, _, _ in -1 }

    /// Returns a key of any kind from PEM or DER, without a passphrase. The caller owns the reference. Throws
    /// `keyMalformed`.
    static func read(_ encoded: [UInt8]) throws(SignedDataError) -> OpaquePointer {
        defer { OpenSSL.clearErrors() }
        let isPEM = PEM.isPEM(encoded)
        let key =
            isPEM
            ? OpenSSL.reading(encoded) { PEM_read_bio_PrivateKey($0, nil, refusePassphrase, nil) }
            : encoded.withUnsafeBufferPointer { bytes in
                var cursor = bytes.baseAddress
                return d2i_AutoPrivateKey(nil, &cursor, bytes.count)
            }
        if let key { return key }
        throw SignedDataError(.keyMalformed, isPEM ? actualKind(encoded) : unreadable)
    }

    /// Returns the kind of a key in words: `RSA`, `P-384`, `Ed25519`.
    static func kind(of key: OpaquePointer) -> String {
        var name = [CChar](repeating: 0, count: 32)
        var length = 0
        if EVP_PKEY_get_base_id(key) == EVP_PKEY_EC,
            EVP_PKEY_get_utf8_string_param(key, OSSL_PKEY_PARAM_GROUP_NAME, &name, name.count, &length) == 1
        {
            let curve = String(decoding: name.prefix(length).map { UInt8(bitPattern: $0) }, as: UTF8.self)
            return ["prime256v1": "P-256", "secp384r1": "P-384", "secp521r1": "P-521"][curve] ?? curve
        }
        OpenSSL.clearErrors()
        let family = EVP_PKEY_get0_type_name(key).map { String(cString: $0) } ?? "an unknown kind"
        return family == "ED25519" ? "Ed25519" : family
    }

    private static let unreadable = "The private key is not PKCS#8 or SEC 1 without a passphrase, in PEM or DER."

    private static func actualKind(_ text: [UInt8]) -> String {
        let text = String(decoding: text.prefix(1 << 16), as: UTF8.self)
        if text.contains("ENCRYPTED") {
            return "The private key is encrypted; decrypt it first, with openssl pkey -in FILE -out DECRYPTED."
        }
        if text.contains("-----BEGIN PUBLIC KEY-----") {
            return "This is a public key, which cannot sign; give the private key that belongs to it."
        }
        if text.contains("-----BEGIN CERTIFICATE-----") {
            return "This is a certificate, which cannot sign; give the private key that belongs to it."
        }
        return unreadable
    }
}

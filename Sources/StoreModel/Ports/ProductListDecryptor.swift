/// Reads a product list that was encrypted so that a shop's plans do not lie open in its app.
///
/// The bytes are those of AES-256-GCM with the nonce in front: 12 bytes of nonce, the ciphertext, 16 bytes of tag.
/// `SignedData.AES256GCM` is the one over OpenSSL; on Apple platforms they are what CryptoKit's
/// `AES.GCM.SealedBox(combined:)` takes.
public protocol ProductListDecryptor: Sendable {
    /// The product list's JSON. Throws when a byte was changed or the list was encrypted with another key.
    func decrypt(_ sealed: [UInt8]) throws -> [UInt8]
}

/// Opens a product list that was encrypted so that a shop's plans do not lie open in its app.
///
/// Only the cipher is behind this port, AES-256-GCM; what stands in the file around it is `InAppStore`'s business.
/// `SignedData.AES256GCM` is the one over OpenSSL; `InAppStore` has one over CryptoKit where that exists.
public protocol ProductListDecryptor: Sendable {
    /// The product list's JSON.
    ///
    /// Throws, and gives no byte away, when the list was encrypted with another key, or when a byte of `sealed` or `header`
    /// is not what it was then.
    ///
    /// - Parameters:
    ///   - sealed: 12 bytes of nonce, the ciphertext, 16 bytes of tag: what CryptoKit's `AES.GCM.SealedBox(combined:)`
    ///     takes.
    ///   - header: the bytes in front of them in the file, which are not hidden but vouched for by the tag.
    func decrypt(_ sealed: [UInt8], authenticating header: [UInt8]) throws -> [UInt8]
}

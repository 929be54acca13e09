/// Decrypts the product list of an app. A list can be encrypted to hide the shop's plans for new products.
///
/// A decryptor implements only the cipher, AES-256-GCM. `InAppStore` reads the file format around it.
/// `SignedData.AES256GCM` implements it over OpenSSL, and `InAppStore` over CryptoKit where that exists.
public protocol ProductListDecryptor: Sendable {
    /// Decrypts and authenticates a product list.
    ///
    /// - Parameters:
    ///   - sealed: 12 bytes of nonce, the ciphertext and 16 bytes of tag, as CryptoKit's `AES.GCM.SealedBox(combined:)`
    ///     takes them.
    ///   - header: The bytes before `sealed` in the file. They are authenticated but not encrypted.
    /// - Returns: The JSON of the product list.
    /// - Throws: An error if the list was encrypted with another key, or if a byte of `sealed` or `header` was changed.
    ///   In both cases, no decrypted byte is returned.
    func decrypt(_ sealed: [UInt8], authenticating header: [UInt8]) throws -> [UInt8]
}

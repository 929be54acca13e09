import StoreModel

/// The file format of an encrypted product list: a header of 16 bytes, then the encrypted JSON.
///
/// | bytes | content |
/// |---|---|
/// | 0–7 | `SOUKLIST` in ASCII |
/// | 8–11 | the version of the format, 1, most significant byte first |
/// | 12–15 | the number of bytes after the header, most significant byte first |
/// | 16–27 | the nonce |
/// | 28– | the ciphertext (AES-256-GCM), as long as the JSON |
/// | last 16 | the tag, which also authenticates the header |
package enum EncryptedProductList {
    private static let mark = Array("SOUKLIST".utf8)
    private static let version: UInt32 = 1
    private static let headerLength = 16
    /// Nonce and tag.
    private static let overhead = 12 + 16

    /// Returns whether `file` begins like an encrypted product list.
    package static func recognizes(_ file: [UInt8]) -> Bool { file.starts(with: mark) }

    /// Returns the encrypted file that contains `json`.
    ///
    /// - Parameter seal: Encrypts its first argument and authenticates its second, with a new nonce, as
    ///   `AES256GCM.seal(_:authenticating:)` does.
    package static func file(
        of json: [UInt8], sealedBy seal: (_ json: [UInt8], _ header: [UInt8]) throws -> [UInt8]
    ) throws -> [UInt8] {
        let header = mark + bytes(of: version) + bytes(of: UInt32(json.count + overhead))
        return header + (try seal(json, header))
    }

    /// Returns the JSON of a file. With a decryptor, the file must be encrypted, so that an attacker cannot replace it
    /// by an unencrypted list.
    ///
    /// Throws `productListKeyMissing`, `productListMalformed` for an incomplete file or another version, and
    /// `productListDecryptionFailed` for another key or changed data.
    static func json(of file: [UInt8], decryptor: (any ProductListDecryptor)?) throws(PurchaseError) -> [UInt8] {
        guard recognizes(file) else {
            guard decryptor == nil else {
                throw PurchaseError(
                    .productListMalformed,
                    "the product list is not encrypted, but a key is set; encrypt it, or remove the key")
            }
            return file
        }
        guard let decryptor else {
            throw PurchaseError(
                .productListKeyMissing, "the product list is encrypted; set its key")
        }
        let header = Array(file.prefix(headerLength))
        try check(header, followedBy: file.count - header.count)
        do {
            return try decryptor.decrypt(Array(file.dropFirst(headerLength)), authenticating: header)
        } catch {
            throw PurchaseError(
                .productListDecryptionFailed, "the product list was encrypted with another key, or changed since",
                underlying: error)
        }
    }

    private static func check(_ header: [UInt8], followedBy count: Int) throws(PurchaseError) {
        guard header.count == headerLength else {
            throw PurchaseError(.productListMalformed, "the file ends within its header; it is incomplete")
        }
        let version = number(header[8..<12])
        guard version == Self.version else {
            throw PurchaseError(
                .productListMalformed,
                "the list has version \(version) of the format; this program reads version \(Self.version)")
        }
        let expected = number(header[12..<16])
        guard count == expected, expected >= overhead else {
            throw PurchaseError(
                .productListMalformed,
                "\(count) bytes follow the header instead of \(expected); the file is incomplete")
        }
    }

    private static func bytes(of number: UInt32) -> [UInt8] {
        withUnsafeBytes(of: number.bigEndian) { Array($0) }
    }

    private static func number(_ bytes: ArraySlice<UInt8>) -> UInt32 { bytes.reduce(0) { $0 << 8 | UInt32($1) } }
}

extension PurchaseError.Code {
    /// The product list is encrypted, and no key is set.
    public static let productListKeyMissing = Self(rawValue: "productListKeyMissing")
    /// The product list was encrypted with another key, or changed since.
    public static let productListDecryptionFailed = Self(rawValue: "productListDecryptionFailed")
}

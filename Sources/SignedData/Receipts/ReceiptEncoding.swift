import Primitives

/// The encodings in which receipts are stored and sent: DER or BER as the store makes them, and base64 with or without
/// line breaks. The format from before iOS 7 is only detected.
package enum ReceiptEncoding {
    /// Returns the bytes of a receipt from a file or a message, decoding base64 (RFC 4648 section 4) with any white
    /// space. Throws `malformed`, also for an empty input, and `tooLarge` above 16 MiB.
    package static func bytes(of encoded: [UInt8]) throws(SignedDataError) -> [UInt8] {
        guard encoded.count <= 16 << 20 else {
            throw SignedDataError(.tooLarge, "The receipt has more than 16 megabytes.")
        }
        // Every receipt begins with 0x30, the ASCII digit 0. The base64 of a receipt never begins with this digit.
        if encoded.first == BERTag.sequence { return encoded }
        if isLegacy(encoded) { return encoded }
        let text = encoded.filter { ![0x20, 0x09, 0x0A, 0x0D].contains($0) }
        guard !text.isEmpty else { throw SignedDataError(.malformed, "The receipt is empty.") }
        guard let bytes = Base64.decode(text) else {
            throw SignedDataError(.malformed, "The receipt is neither PKCS #7 nor base64.")
        }
        return bytes
    }

    /// Returns whether this is a transaction receipt from before iOS 7: a property list in the old style,
    /// `{ "signature" = "…"; "purchase-info" = "…"; … }`.
    static func isLegacy(_ bytes: [UInt8]) -> Bool {
        let head = bytes.prefix(64 * 1024)
        guard head.first(where: { !($0 == 0x20 || (0x09...0x0D).contains($0)) }) == UInt8(ascii: "{") else {
            return false
        }
        let text = String(decoding: head, as: UTF8.self)
        return text.contains("purchase-info") || text.contains("\"signature\"") || text.contains("signature =")
    }
}

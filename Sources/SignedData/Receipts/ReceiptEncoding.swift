import Primitives

/// The forms receipts are kept and sent in: DER or BER as the store made them, base64 with or without line breaks, and the
/// form before iOS 7, which is only recognised.
package enum ReceiptEncoding {
    /// The receipt's bytes from a file or a message: as they are, or out of base64 (RFC 4648 section 4), with white space
    /// anywhere. Throws `malformed`, also for nothing, `tooLarge` beyond 16 MB.
    package static func bytes(of encoded: [UInt8]) throws(SignedDataError) -> [UInt8] {
        guard encoded.count <= 16 << 20 else {
            throw SignedDataError(.tooLarge, "The receipt has more than 16 megabytes.")
        }
        // The first byte of every receipt; no receipt's base64 begins with the digit 0 that it is in ASCII.
        if encoded.first == BERTag.sequence { return encoded }
        if isLegacy(encoded) { return encoded }
        let text = encoded.filter { ![0x20, 0x09, 0x0A, 0x0D].contains($0) }
        guard !text.isEmpty else { throw SignedDataError(.malformed, "The receipt is empty.") }
        guard let bytes = Base64.decode(text) else {
            throw SignedDataError(.malformed, "The receipt is neither PKCS #7 nor base64.")
        }
        return bytes
    }

    /// Whether this is a transaction receipt of before iOS 7: a property list in the old style,
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

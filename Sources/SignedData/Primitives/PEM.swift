/// Distinguishes the two encodings of keys and certificates.
enum PEM {
    /// Returns whether to read bytes as PEM (RFC 7468). Ignores white space and byte order marks at the beginning. Returns
    /// `false` if nothing follows them, or 0x30, with which DER begins.
    static func isPEM(_ bytes: [UInt8]) -> Bool {
        let text = bytes.drop { $0 == 0x20 || (0x09...0x0D).contains($0) || $0 == 0xEF || $0 == 0xBB || $0 == 0xBF }
        return text.first.map { $0 != 0x30 } ?? false
    }
}

import COpenSSL

/// Unpredictable bytes from OpenSSL's generator, which the system seeds.
package enum RandomBytes {
    /// Returns `count` bytes for keys and nonces. Throws `cryptographyFailed` if the system provides no randomness.
    package static func make(_ count: Int) throws(SignedDataError) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: count)
        guard count == 0 || RAND_priv_bytes(&bytes, Int32(clamping: count)) == 1, count <= Int32.max else {
            throw OpenSSL.failed("make random bytes")
        }
        return bytes
    }
}

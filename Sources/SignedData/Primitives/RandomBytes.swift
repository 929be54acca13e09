import COpenSSL

/// Bytes nobody can foresee, from OpenSSL's generator, which the system seeds.
package enum RandomBytes {
    /// `count` bytes, fit for keys and nonces. Throws `cryptographyFailed` when the system gives no randomness: nothing
    /// may go on without it.
    package static func make(_ count: Int) throws(SignedDataError) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: count)
        guard count == 0 || RAND_priv_bytes(&bytes, Int32(clamping: count)) == 1, count <= Int32.max else {
            throw OpenSSL.failed("make random bytes")
        }
        return bytes
    }
}

import COpenSSL

/// Helpers for calls of OpenSSL.
enum OpenSSL {
    /// Clears OpenSSL's errors on this thread, so that a later call does not report an older failure.
    static func clearErrors() { ERR_clear_error() }

    static func failed(_ what: String) -> SignedDataError {
        clearErrors()
        return SignedDataError(.cryptographyFailed, "OpenSSL could not \(what).")
    }

    /// Returns the bytes that `write` puts into a memory buffer, or `nil` if it fails.
    static func written(_ write: (OpaquePointer) -> Int32) -> [UInt8]? {
        guard let bio = BIO_new(BIO_s_mem()) else { return nil }
        defer { BIO_free(bio) }
        guard write(bio) == 1 else {
            clearErrors()
            return nil
        }
        var contents: UnsafeMutablePointer<CChar>?
        let count = souk_bio_contents(bio, &contents)
        guard count > 0, let contents else { return [] }
        return Array(UnsafeRawBufferPointer(start: contents, count: count))
    }

    /// Returns a structure in DER by its `i2d_` function, or `nil` if the function fails.
    static func der(_ encode: (UnsafeMutablePointer<UnsafeMutablePointer<UInt8>?>?) -> Int32) -> [UInt8]? {
        let count = encode(nil)
        guard count > 0 else { return nil }
        return [UInt8](unsafeUninitializedCapacity: Int(count)) { buffer, initialized in
            var cursor = buffer.baseAddress
            initialized = Int(encode(&cursor))
        }
    }

    /// Returns the result of `body` for a memory buffer over `bytes`. The buffer is only valid during the call.
    static func reading<Result>(_ bytes: [UInt8], _ body: (OpaquePointer) -> Result?) -> Result? {
        bytes.withUnsafeBytes { bytes -> Result? in
            guard let bio = BIO_new_mem_buf(bytes.baseAddress, Int32(clamping: bytes.count)) else { return nil }
            defer { BIO_free(bio) }
            let result = body(bio)
            if result == nil { clearErrors() }
            return result
        }
    }
}

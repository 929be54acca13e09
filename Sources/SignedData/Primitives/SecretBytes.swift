import COpenSSL

/// Bytes of a key: erased when nobody holds them any more, and never described.
final class SecretBytes: @unchecked Sendable {
    // Sendable: nothing changes between `init` and `deinit`.
    private let buffer: UnsafeMutableRawBufferPointer

    init(_ bytes: [UInt8]) {
        buffer = .allocate(byteCount: bytes.count, alignment: 1)
        buffer.copyBytes(from: bytes)
    }

    deinit {
        OPENSSL_cleanse(buffer.baseAddress, buffer.count)
        buffer.deallocate()
    }

    func withUnsafeBytes<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
        body(UnsafeRawBufferPointer(buffer))
    }
}

extension SecretBytes: CustomStringConvertible, CustomReflectable {
    var description: String { "bytes of a key" }
    /// Nothing, not even where in memory they are.
    var customMirror: Mirror { Mirror(self, children: []) }
}

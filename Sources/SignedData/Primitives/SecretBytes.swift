import COpenSSL

/// The bytes of a key, which are erased with the last reference. A description does not contain them.
/// They are `Sendable` because nothing changes between `init` and `deinit`.
final class SecretBytes: @unchecked Sendable {
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
    /// An empty mirror, without the address of the bytes.
    var customMirror: Mirror { Mirror(self, children: []) }
}

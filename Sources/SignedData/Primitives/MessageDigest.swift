import COpenSSL

/// SHA-256 of OpenSSL, which uses special instructions of the processor. Modules without OpenSSL use
/// `Primitives.SHA256`.
package enum MessageDigest {
    // Unsafe: OpenSSL's algorithm objects do not change, and all threads may use them.
    nonisolated(unsafe) fileprivate static let algorithm = EVP_MD_fetch(nil, "SHA256", nil)

    /// Returns the 32 bytes of the digest.
    static func sha256(_ bytes: UnsafeRawBufferPointer) -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: 32) { digest, count in
            digest.initialize(repeating: 0)
            let done = EVP_Digest(bytes.baseAddress, bytes.count, digest.baseAddress, nil, algorithm, nil)
            precondition(done == 1, "SHA-256 is part of every OpenSSL and fails only without memory")
            count = 32
        }
    }

    package static func sha256(_ bytes: [UInt8]) -> [UInt8] { bytes.withUnsafeBytes { sha256($0) } }
}

/// The state of SHA-256 after bytes with which many messages begin. These bytes are hashed once, and not again for each
/// message.
///
/// All threads can share one. It is `Sendable` because OpenSSL copies the state for each message, and does not change it.
final class DigestPrefix: @unchecked Sendable {
    private let context: OpaquePointer

    init(_ bytes: UnsafeRawBufferPointer) {
        guard let context = EVP_MD_CTX_new(), EVP_DigestInit_ex(context, MessageDigest.algorithm, nil) == 1,
            EVP_DigestUpdate(context, bytes.baseAddress, bytes.count) == 1
        else { preconditionFailure("SHA-256 is part of every OpenSSL and fails only without memory") }
        self.context = context
    }

    deinit { EVP_MD_CTX_free(context) }

    /// Returns the 32 bytes of the digest of a message: the prefix, then `rest`.
    func sha256(continuing rest: UnsafeRawBufferPointer) -> [UInt8] {
        guard let copy = EVP_MD_CTX_new() else { preconditionFailure("OpenSSL has no memory") }
        defer { EVP_MD_CTX_free(copy) }
        return [UInt8](unsafeUninitializedCapacity: 32) { digest, count in
            digest.initialize(repeating: 0)
            let done =
                EVP_MD_CTX_copy_ex(copy, context) == 1 && EVP_DigestUpdate(copy, rest.baseAddress, rest.count) == 1
                && EVP_DigestFinal_ex(copy, digest.baseAddress, nil) == 1
            precondition(done, "SHA-256 is part of every OpenSSL and fails only without memory")
            count = 32
        }
    }
}

/// A SHA-256 digest as a key of a dictionary. Its hash uses eight of its bytes, which are distributed evenly.
struct DigestKey: Hashable {
    private let words: SIMD4<UInt64>

    init(sha256Of bytes: [UInt8]) { self.init(digest: MessageDigest.sha256(bytes)) }

    /// Creates a key from the 32 bytes of a digest.
    init(digest: [UInt8]) {
        precondition(digest.count == 32, "a SHA-256 has 32 bytes")
        words = digest.withUnsafeBytes { $0.loadUnaligned(as: SIMD4<UInt64>.self) }
    }

    func hash(into hasher: inout Hasher) { hasher.combine(words[0]) }
}

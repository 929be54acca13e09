import COpenSSL

/// SHA-256 of OpenSSL, which uses special instructions of the processor. Modules without OpenSSL use
/// `Primitives.SHA256`.
package enum MessageDigest {
    // Unsafe: OpenSSL's algorithm objects do not change, and all threads may use them.
    nonisolated(unsafe) private static let algorithm = EVP_MD_fetch(nil, "SHA256", nil)

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

/// A SHA-256 digest as a key of a dictionary. Its hash uses eight of its bytes, which are distributed evenly.
struct DigestKey: Hashable {
    private let words: SIMD4<UInt64>

    init(sha256Of bytes: [UInt8]) {
        let digest = MessageDigest.sha256(bytes)
        words = digest.withUnsafeBytes { $0.loadUnaligned(as: SIMD4<UInt64>.self) }
    }

    func hash(into hasher: inout Hasher) { hasher.combine(words[0]) }
}

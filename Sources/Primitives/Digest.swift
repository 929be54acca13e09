#if canImport(CryptoKit)
    import CryptoKit
#endif

/// SHA-256 (FIPS 180-4), from CryptoKit on Apple platforms. Other platforms use plain Swift, so that no C library is
/// linked.
package struct SHA256: Sendable {
    private var state: SIMD8<UInt32> = [
        0x6a09_e667, 0xbb67_ae85, 0x3c6e_f372, 0xa54f_f53a, 0x510e_527f, 0x9b05_688c, 0x1f83_d9ab, 0x5be0_cd19,
    ]
    /// The bytes of an incomplete block.
    private var pending: [UInt8] = []
    private var length: UInt64 = 0

    package init() {}

    /// Returns the 32 bytes of the digest of `bytes`.
    package static func hash(_ bytes: some Sequence<UInt8>) -> [UInt8] {
        #if canImport(CryptoKit)
            return Array(CryptoKit.SHA256.hash(data: Array(bytes)))
        #else
            var digest = SHA256()
            digest.update(bytes)
            return digest.finalize()
        #endif
    }

    package mutating func update(_ bytes: some Sequence<UInt8>) {
        let isDone: Void? = pending.isEmpty ? bytes.withContiguousStorageIfAvailable { take($0) } : nil
        guard isDone == nil else { return }
        pending.append(contentsOf: bytes)
        let all = pending
        pending = []
        all.withUnsafeBufferPointer { take($0) }
    }

    /// Compresses the complete blocks and keeps the rest.
    private mutating func take(_ bytes: UnsafeBufferPointer<UInt8>) {
        let whole = bytes.count / 64 * 64
        length += UInt64(whole)
        compress(bytes[..<whole])
        pending.reserveCapacity(128)
        pending.append(contentsOf: bytes[whole...])
    }

    package mutating func finalize() -> [UInt8] {
        let bits = (length + UInt64(pending.count)) * 8
        pending.append(0x80)
        while pending.count % 64 != 56 { pending.append(0) }
        withUnsafeBytes(of: bits.bigEndian) { pending.append(contentsOf: $0) }
        pending.withUnsafeBufferPointer { compress($0[...]) }
        return (0..<32).map { UInt8(truncatingIfNeeded: state[$0 / 4] >> UInt32(24 - $0 % 4 * 8)) }
    }

    private mutating func compress(_ blocks: Slice<UnsafeBufferPointer<UInt8>>) {
        withUnsafeTemporaryAllocation(of: UInt32.self, capacity: 64) { schedule in
            for start in stride(from: blocks.startIndex, to: blocks.endIndex, by: 64) {
                Self.compress(blocks.base.baseAddress! + start, into: &state, schedule: schedule)
            }
        }
    }

    private static func compress(
        _ block: UnsafePointer<UInt8>, into state: inout SIMD8<UInt32>,
        schedule: UnsafeMutableBufferPointer<UInt32>
    ) {
        for index in 0..<16 {
            let at = block + index * 4
            schedule[index] = UInt32(at[0]) << 24 | UInt32(at[1]) << 16 | UInt32(at[2]) << 8 | UInt32(at[3])
        }
        for index in 16..<64 {
            let early = schedule[index - 15]
            let late = schedule[index - 2]
            let one = rotated(early, 7) ^ rotated(early, 18) ^ (early >> 3)
            let two = rotated(late, 17) ^ rotated(late, 19) ^ (late >> 10)
            schedule[index] = schedule[index - 16] &+ one &+ schedule[index - 7] &+ two
        }
        var (a, b, c, d) = (state[0], state[1], state[2], state[3])
        var (e, f, g, h) = (state[4], state[5], state[6], state[7])
        constants.withUnsafeBufferPointer { constants in
            for index in 0..<64 {
                let sum = rotated(e, 6) ^ rotated(e, 11) ^ rotated(e, 25)
                let first = h &+ sum &+ ((e & f) ^ (~e & g)) &+ constants[index] &+ schedule[index]
                let second = (rotated(a, 2) ^ rotated(a, 13) ^ rotated(a, 22)) &+ ((a & b) ^ (a & c) ^ (b & c))
                (h, g, f, e, d, c, b, a) = (g, f, e, d &+ first, c, b, a, first &+ second)
            }
        }
        state &+= [a, b, c, d, e, f, g, h]
    }

    @inline(__always) private static func rotated(_ word: UInt32, _ count: UInt32) -> UInt32 {
        word >> count | word << (32 - count)
    }

    /// The first 32 bits of the fractional parts of the cube roots of the first 64 primes.
    private static let constants: [UInt32] = [
        0x428a_2f98, 0x7137_4491, 0xb5c0_fbcf, 0xe9b5_dba5, 0x3956_c25b, 0x59f1_11f1, 0x923f_82a4, 0xab1c_5ed5,
        0xd807_aa98, 0x1283_5b01, 0x2431_85be, 0x550c_7dc3, 0x72be_5d74, 0x80de_b1fe, 0x9bdc_06a7, 0xc19b_f174,
        0xe49b_69c1, 0xefbe_4786, 0x0fc1_9dc6, 0x240c_a1cc, 0x2de9_2c6f, 0x4a74_84aa, 0x5cb0_a9dc, 0x76f9_88da,
        0x983e_5152, 0xa831_c66d, 0xb003_27c8, 0xbf59_7fc7, 0xc6e0_0bf3, 0xd5a7_9147, 0x06ca_6351, 0x1429_2967,
        0x27b7_0a85, 0x2e1b_2138, 0x4d2c_6dfc, 0x5338_0d13, 0x650a_7354, 0x766a_0abb, 0x81c2_c92e, 0x9272_2c85,
        0xa2bf_e8a1, 0xa81a_664b, 0xc24b_8b70, 0xc76c_51a3, 0xd192_e819, 0xd699_0624, 0xf40e_3585, 0x106a_a070,
        0x19a4_c116, 0x1e37_6c08, 0x2748_774c, 0x34b0_bcb5, 0x391c_0cb3, 0x4ed8_aa4a, 0x5b9c_ca4f, 0x682e_6ff3,
        0x748f_82ee, 0x78a5_636f, 0x84c8_7814, 0x8cc7_0208, 0x90be_fffa, 0xa450_6ceb, 0xbef9_a3f7, 0xc671_78f2,
    ]
}

import Foundation

extension UUID {
    /// Creates a name-based UUID of version 5 (RFC 9562 section 5.5). The same namespace and name always give the same
    /// UUID.
    ///
    /// - Parameters:
    ///   - namespace: The namespace.
    ///   - name: The name, whose UTF-8 bytes are hashed.
    public init(namespace: UUID, name: String) {
        var input = withUnsafeBytes(of: namespace.uuid) { Array($0) }
        input.append(contentsOf: name.utf8)
        var bytes = Array(SHA1.hash(input).prefix(16))
        bytes[6] = bytes[6] & 0x0F | 0x50
        bytes[8] = bytes[8] & 0x3F | 0x80
        self = bytes.withUnsafeBytes { UUID(uuid: $0.loadUnaligned(as: uuid_t.self)) }
    }
}

/// SHA-1 (FIPS 180-4), only for name-based UUIDs, whose standard requires it. It is not used for security.
enum SHA1 {
    static func hash(_ message: [UInt8]) -> [UInt8] {
        var padded = message
        padded.append(0x80)
        while padded.count % 64 != 56 { padded.append(0) }
        let bits = UInt64(message.count) * 8
        for shift in stride(from: 56, through: 0, by: -8) {
            padded.append(UInt8(truncatingIfNeeded: bits >> UInt64(shift)))
        }
        var state: [UInt32] = [0x6745_2301, 0xEFCD_AB89, 0x98BA_DCFE, 0x1032_5476, 0xC3D2_E1F0]
        for block in stride(from: 0, to: padded.count, by: 64) {
            compress(Array(padded[block..<block + 64]), into: &state)
        }
        return state.flatMap { word in [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: word >> UInt32($0)) } }
    }

    private static func compress(_ block: [UInt8], into state: inout [UInt32]) {
        var schedule = (0..<16).map { index in
            (0..<4).reduce(UInt32(0)) { $0 << 8 | UInt32(block[index * 4 + $1]) }
        }
        for index in 16..<80 {
            let word = schedule[index - 3] ^ schedule[index - 8] ^ schedule[index - 14] ^ schedule[index - 16]
            schedule.append(word << 1 | word >> 31)
        }
        var (a, b, c, d, e) = (state[0], state[1], state[2], state[3], state[4])
        for index in 0..<80 {
            let (mixed, constant): (UInt32, UInt32) =
                switch index {
                case ..<20: ((b & c) | (~b & d), 0x5A82_7999)
                case ..<40: (b ^ c ^ d, 0x6ED9_EBA1)
                case ..<60: ((b & c) | (b & d) | (c & d), 0x8F1B_BCDC)
                default: (b ^ c ^ d, 0xCA62_C1D6)
                }
            let next = (a << 5 | a >> 27) &+ mixed &+ e &+ constant &+ schedule[index]
            (a, b, c, d, e) = (next, a, b << 30 | b >> 2, c, d)
        }
        for (index, value) in [a, b, c, d, e].enumerated() { state[index] &+= value }
    }
}

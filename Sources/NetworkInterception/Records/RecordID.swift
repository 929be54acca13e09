import Foundation
import Primitives

extension UUID {
    /// Returns a random id for a record. It is not secret, and costs a tenth of `UUID()`, which opens `/dev/urandom` on
    /// each call. The seed is drawn once per process.
    static func unique() -> UUID {
        let (high, low) = sequence.withLock { state in
            state.0 &+= 0x9E37_79B9_7F4A_7C15
            state.1 &+= 0xD1B5_4A32_D192_ED03
            return (mixed(state.0), mixed(state.1))
        }
        var bytes = (high, low)
        return withUnsafeMutableBytes(of: &bytes) { bytes in
            // Version 4, variant 1 (RFC 9562 section 5.4).
            bytes[6] = bytes[6] & 0x0F | 0x40
            bytes[8] = bytes[8] & 0x3F | 0x80
            return UUID(uuid: bytes.loadUnaligned(as: uuid_t.self))
        }
    }

    private static let sequence = Locked((UInt64.random(in: 0 ... .max), UInt64.random(in: 0 ... .max)))

    /// Mixes the bits. The function is injective, so different numbers stay different.
    private static func mixed(_ number: UInt64) -> UInt64 {
        var number = number
        number = (number ^ (number >> 30)) &* 0xBF58_476D_1CE4_E5B9
        number = (number ^ (number >> 27)) &* 0x94D0_49BB_1331_11EB
        return number ^ (number >> 31)
    }
}

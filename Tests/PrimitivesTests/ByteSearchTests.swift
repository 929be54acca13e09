import Testing

@testable import Primitives

/// The search for a byte.
@Suite struct ByteSearchTests {
    @Test func `the search agrees with firstIndex in every part of random bytes`() {
        var random = SystemRandomNumberGenerator()
        for length in 0..<40 {
            let bytes = (0..<length).map { _ in UInt8.random(in: 0...3, using: &random) | 0x80 }
            for start in 0...length {
                for byte: UInt8 in [0, 0x80, 0x81, 0x83, 0xFF] {
                    #expect(bytes.index(ofByte: byte, from: start) == bytes[start...].firstIndex(of: byte))
                }
            }
            #expect(bytes.index(ofByte: 0x80, from: length + 1) == nil)
        }
    }
}

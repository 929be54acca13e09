import Testing

@testable import Primitives

/// The check whether bytes are UTF-8, and the check for systems without `String(validating:as:)`.
@Suite struct StrictUTF8Tests {
    @Test(
        arguments: [
            ([], true), (Array("é 漢 🎉 \u{0}".utf8), true), (Array("\u{FFFD}".utf8), true), ([0xFF], false),
            ([0x80], false),
            ([0xC0, 0x80], false), ([0xED, 0xA0, 0x80], false), ([0xE2, 0x82], false),
            ([0xF4, 0x90, 0x80, 0x80], false),
            ([0x61, 0xEF, 0xBF, 0xBD, 0xFF], false), ([0xEF, 0xBB, 0xBF, 0x61], true),
        ] as [([UInt8], Bool)])
    func `bytes that are not UTF-8 are refused`(bytes: [UInt8], isText: Bool) {
        #expect((String(utf8: bytes) != nil) == isText)
        #expect(String.comparing(bytes).map { Array($0.utf8) } == (isText ? bytes : nil))
    }

    @Test func `the check for older systems agrees with that of newer ones on random bytes`() {
        var random = SystemRandomNumberGenerator()
        let parts: [[UInt8]] = [
            [0x61], [0xC3, 0xA9], [0xE6, 0xBC, 0xA2], [0xF0, 0x9F, 0x8E, 0x89], [0xEF, 0xBF, 0xBD],
        ]
        for _ in 0..<2000 {
            var bytes = (0..<8).flatMap { _ in parts.randomElement(using: &random) ?? [] }
            if Bool.random(using: &random) { bytes[Int.random(in: 0..<bytes.count, using: &random)] ^= 1 << 7 }
            #expect(String.comparing(bytes[...]) == String(utf8: bytes[...]), "\(bytes)")
        }
    }
}

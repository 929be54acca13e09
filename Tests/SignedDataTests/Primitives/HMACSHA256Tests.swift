import Primitives
import Testing

@testable import SignedData

@Suite struct HMACSHA256Tests {
    /// RFC 4231 sections 4.2, 4.3 and 4.7: test cases 1, 2 and 6, the last with a key longer than a block.
    @Test(arguments: [
        (
            [UInt8](repeating: 0x0B, count: 20), "Hi There",
            "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"
        ),
        (
            Array("Jefe".utf8), "what do ya want for nothing?",
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
        ),
        (
            [UInt8](repeating: 0xAA, count: 131), "Test Using Larger Than Block-Size Key - Hash Key First",
            "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54"
        ),
    ])
    func `the test vectors of RFC 4231 pass`(key: [UInt8], message: String, code: String) throws {
        let hmac = try HMACSHA256(key: key)
        #expect(Hex.encode(hmac.code(for: Array(message.utf8))) == code)
        #expect(hmac.isValid(try #require(Hex.decode(code)), for: Array(message.utf8)))
    }

    @Test func `any other byte, length or key is refused`() throws {
        let hmac = try HMACSHA256(key: RandomBytes.make(32))
        let message = Array("2026-11-20T14:40:00Z.{}".utf8)
        let code = hmac.code(for: message)
        for index in code.indices {
            var changed = code
            changed[index] ^= 0x80
            #expect(!hmac.isValid(changed, for: message))
        }
        for other in [[], Array(code.dropLast()), code + [0]] { #expect(!hmac.isValid(other, for: message)) }
        #expect(!hmac.isValid(code, for: message + [0]))
        #expect(!hmac.isValid(code, for: []))
        #expect(!(try HMACSHA256(key: RandomBytes.make(32))).isValid(code, for: message))
        #expect(hmac.isValid(hmac.code(for: []), for: []))
    }

    @Test func `an empty key is refused`() {
        #expect(refusal { try HMACSHA256(key: []) } == .keyMalformed)
    }

    @Test func `random bytes have the requested length and differ`() throws {
        #expect(try RandomBytes.make(0).isEmpty)
        #expect(try Set((0..<100).map { _ in try RandomBytes.make(16) }).count == 100)
        #expect(try RandomBytes.make(1000).count == 1000)
    }
}

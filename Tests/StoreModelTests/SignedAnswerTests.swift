import Foundation
import Primitives
import StoreModel
import Testing

@Suite struct SignedAnswerTests {
    @Test func `the signed bytes are six lines`() {
        let message = SignedAnswer.message(
            nonce: "n", target: "/v1/customers/ada?nonce=n", date: "2026-11-20T14:40:00Z", etag: "\"tag\"",
            body: Array("abc".utf8))
        // The SHA-256 of "abc" in FIPS 180-4.
        let digest = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
        let lines = ["souk-1", "n", "/v1/customers/ada?nonce=n", "2026-11-20T14:40:00Z", "\"tag\"", digest]
        #expect(String(decoding: message, as: UTF8.self) == lines.joined(separator: "\n"))
    }

    @Test func `an answer without an ETag has an empty line for it`() {
        let message = SignedAnswer.message(nonce: "n", target: "/", date: "d", etag: nil, body: [])
        #expect(String(decoding: message, as: UTF8.self).hasPrefix("souk-1\nn\n/\nd\n\n"))
    }

    @Test func `a signature is read as it is written`() throws {
        let signature = SignedAnswer.Signature(keyID: "2026-11", bytes: Array(0..<64))
        #expect(signature.field == "keyid=\"2026-11\", ed25519=\(Base64.encode(Array(0..<64)))")
        #expect(SignedAnswer.Signature(parsing: signature.field) == signature)
        #expect(SignedAnswer.Signature(parsing: "keyid=\"a\",ed25519=AAAA")?.bytes == [0, 0, 0])
    }

    @Test(arguments: [
        "", "keyid=\"a\"", "ed25519=AAAA", "keyid=a, ed25519=AAAA", "keyid=\", ed25519=AAAA",
        "keyid=\"a\", ed25519=?", "ed25519=AAAA, keyid=\"a\"",
    ])
    func `an invalid header is not a signature`(field: String) {
        #expect(SignedAnswer.Signature(parsing: field) == nil)
    }

    @Test(arguments: [("a", true), ("", false), ("two words", false), ("line\nbreak", false), ("ü", false)])
    func `a nonce has visible ASCII characters only, and at least one`(nonce: String, isNonce: Bool) {
        #expect(SignedAnswer.isNonce(nonce) == isNonce)
    }

    @Test func `a nonce has at most 128 characters`() {
        #expect(SignedAnswer.isNonce(String(repeating: "n", count: 128)))
        #expect(!SignedAnswer.isNonce(String(repeating: "n", count: 129)))
    }
}

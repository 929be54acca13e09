import Primitives
import StoreModel
import Testing

@testable import SignedData

@Suite struct AES256GCMTests {
    struct Vector: Sendable {
        let key: String
        let nonce: String
        let plaintext: String
        var context = ""
        let ciphertext: String
        let tag: String
    }

    private static let key = "feffe9928665731c6d6a8f9467308308feffe9928665731c6d6a8f9467308308"
    private static let plaintext =
        "d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a721c3c0c95956809532fcf0e2449a6b525"
        + "b16aedf5aa0de657ba637b391aafd255"
    private static let ciphertext =
        "522dc1f099567d07f47f37a32a84427d643a8cdcbfe5c0c97598a2bd2555d1aa8cb08e48590dbb3da7b08b1056828838"
        + "c5f61e6393ba7a0abcc9f662898015ad"

    /// The Galois/Counter Mode of Operation (GCM), submission to NIST, appendix B: test cases 13 to 16.
    static let vectors = [
        Vector(
            key: String(repeating: "0", count: 64), nonce: String(repeating: "0", count: 24), plaintext: "",
            ciphertext: "", tag: "530f8afbc74536b9a963b4f1c4cb738b"),
        Vector(
            key: String(repeating: "0", count: 64), nonce: String(repeating: "0", count: 24),
            plaintext: String(repeating: "0", count: 32), ciphertext: "cea7403d4d606b6e074ec5d3baf39d18",
            tag: "d0d1c8a799996bf0265b98b5d48ab919"),
        Vector(
            key: key, nonce: "cafebabefacedbaddecaf888", plaintext: plaintext, ciphertext: ciphertext,
            tag: "b094dac5d93471bdec1a502270e3cc6c"),
        Vector(
            key: key, nonce: "cafebabefacedbaddecaf888", plaintext: String(plaintext.dropLast(8)),
            context: "feedfacedeadbeeffeedfacedeadbeefabaddad2", ciphertext: String(ciphertext.dropLast(8)),
            tag: "76fc6ece0f4e1768cddf8853bb2d551b"),
    ]

    @Test(arguments: vectors)
    func `the test vectors of GCM pass`(vector: Vector) throws {
        let cipher = try AES256GCM(hexKey: vector.key)
        let nonce = try #require(Hex.decode(vector.nonce))
        let plaintext = try #require(Hex.decode(vector.plaintext))
        let context = try #require(Hex.decode(vector.context))
        let sealed = try cipher.seal(plaintext, nonce: nonce, authenticating: context)
        #expect(Hex.encode(sealed) == vector.ciphertext + vector.tag)
        #expect(try cipher.open(sealed, nonce: nonce, authenticating: context) == plaintext)
        #expect(try cipher.open(nonce + sealed, authenticating: context) == plaintext)
    }

    @Test func `any other byte, key, nonce or context is refused`() throws {
        let cipher = try AES256GCM(key: AES256GCM.generateKey())
        let plaintext = Array("[{\"identifier\": \"com.example.pro\"}]".utf8)
        let context = Array("products.json".utf8)
        let sealed = try cipher.seal(plaintext, authenticating: context)
        #expect(try cipher.open(sealed, authenticating: context) == plaintext)
        #expect(sealed.count == plaintext.count + 28)
        for index in sealed.indices {
            var changed = sealed
            changed[index] ^= 1
            #expect(refusal { try cipher.open(changed, authenticating: context) } == .decryptionFailed)
        }
        for count in 0..<sealed.count {
            #expect(refusal { try cipher.open(Array(sealed.prefix(count))) } == .decryptionFailed)
        }
        #expect(refusal { try cipher.open(sealed) } == .decryptionFailed)
        #expect(refusal { try cipher.open(sealed + [0], authenticating: context) } == .decryptionFailed)
        let other = try AES256GCM(key: AES256GCM.generateKey())
        #expect(refusal { try other.open(sealed, authenticating: context) } == .decryptionFailed)
        #expect(refusal { try cipher.open([], nonce: [UInt8](repeating: 0, count: 12)) } == .decryptionFailed)
    }

    @Test func `two ciphertexts of one text differ`() throws {
        let cipher = try AES256GCM(key: AES256GCM.generateKey())
        #expect(try Set((0..<100).map { _ in try cipher.seal([1, 2, 3]) }).count == 100)
    }

    @Test func `keys and nonces of other lengths are refused`() throws {
        for count in [0, 16, 24, 31, 33, 64] {
            #expect(refusal { try AES256GCM(key: [UInt8](repeating: 1, count: count)) } == .keyMalformed)
        }
        for text in ["", String(repeating: "0", count: 63), String(repeating: "g", count: 64), "０" + Self.key] {
            #expect(refusal { try AES256GCM(hexKey: text) } == .keyMalformed)
        }
        let cipher = try AES256GCM(hexKey: Self.key.uppercased())
        for count in [0, 8, 11, 13, 16] {
            let nonce = [UInt8](repeating: 1, count: count)
            #expect(refusal { try cipher.seal([1], nonce: nonce) } == .malformed)
            #expect(refusal { try cipher.open([UInt8](repeating: 0, count: 32), nonce: nonce) } == .malformed)
        }
    }

    @Test func `a product list is decrypted through the port`() throws {
        let cipher = try AES256GCM(hexKey: Self.key)
        let decryptor: any ProductListDecryptor = cipher
        let sealed = try cipher.seal(Array("[]".utf8), authenticating: [1])
        #expect(try decryptor.decrypt(sealed, authenticating: [1]) == Array("[]".utf8))
        #expect(refusal { try decryptor.decrypt(sealed, authenticating: [2]) } == .decryptionFailed)
        #expect(refusal { try decryptor.decrypt(Array("[]".utf8), authenticating: [1]) } == .decryptionFailed)
    }
}

import Primitives
import StoreModel
import Testing

@testable import SignedData

@Suite struct Ed25519Tests {
    struct Vector: Sendable {
        let privateKey: String
        let publicKey: String
        let message: String
        let signature: String
    }

    /// RFC 8032 section 7.1, tests 1 to 3.
    static let vectors = [
        Vector(
            privateKey: "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60",
            publicKey: "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a", message: "",
            signature:
                "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46b"
                + "d25bf5f0595bbe24655141438e7a100b"),
        Vector(
            privateKey: "4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb",
            publicKey: "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c", message: "72",
            signature:
                "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11d8c"
                + "387b2eaeb4302aeeb00d291612bb0c00"),
        Vector(
            privateKey: "c5aa8df43f9f837bedb7442f31dcb7b166d38535076f094b85ce3a2e0b4458f7",
            publicKey: "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025", message: "af82",
            signature:
                "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac18ff9b538d16f290ae67f760984dc659"
                + "4a7c15e9716ed28dc027beceea1ec40a"),
    ]

    @Test(arguments: vectors)
    func `the test vectors of RFC 8032 pass`(vector: Vector) throws {
        let key = try Ed25519.PrivateKey(raw: #require(Hex.decode(vector.privateKey)))
        let message = try #require(Hex.decode(vector.message))
        let signature = try #require(Hex.decode(vector.signature))
        #expect(Hex.encode(key.raw) == vector.privateKey)
        #expect(Hex.encode(key.publicKey.raw) == vector.publicKey)
        #expect(try key.signature(of: message) == signature)
        #expect(try Ed25519.PublicKey(raw: key.publicKey.raw).isValid(signature: signature, of: message))
    }

    @Test func `any other byte, length or key is refused`() throws {
        let key = try Ed25519.PrivateKey.generate()
        let message = Array("the answer".utf8)
        let signature = try key.signature(of: message)
        for index in signature.indices {
            var changed = signature
            changed[index] ^= 1
            #expect(!key.publicKey.isValid(signature: changed, of: message))
        }
        for other in [[], signature + [0], Array(signature.dropLast()), [UInt8](repeating: 0, count: 64)] {
            #expect(!key.publicKey.isValid(signature: other, of: message))
        }
        #expect(!key.publicKey.isValid(signature: signature, of: message + [0]))
        #expect(!(try Ed25519.PrivateKey.generate()).publicKey.isValid(signature: signature, of: message))
    }

    /// RFC 8032 section 5.1.7: a verifier refuses an S that is not below the group's order L.
    @Test func `a signature with the order added to S is refused`() throws {
        let order = try #require(Hex.decode("edd3f55c1a631258d69cf7a2def9de1400000000000000000000000000000010"))
        let key = try Ed25519.PrivateKey.generate()
        var signature = try key.signature(of: [1, 2, 3])
        var carry: UInt16 = 0
        for index in 0..<32 {
            carry += UInt16(signature[32 + index]) + UInt16(order[index])
            signature[32 + index] = UInt8(truncatingIfNeeded: carry)
            carry >>= 8
        }
        #expect(!key.publicKey.isValid(signature: signature, of: [1, 2, 3]))
    }

    @Test func `keys survive PEM, and the error for another key names its kind`() throws {
        let key = try Ed25519.PrivateKey.generate()
        let copy = try Ed25519.PrivateKey(Array(key.pem.utf8))
        #expect(copy.raw == key.raw)
        #expect(try Ed25519.PublicKey(Array(key.publicKey.pem.utf8)) == key.publicKey)
        #expect(key.raw.count == 32)
        #expect(try key.raw != Ed25519.PrivateKey.generate().raw)

        let curve = try SigningKey.generate()
        for (what, read) in [
            ("P-256", { _ = try Ed25519.PrivateKey(Array(curve.pem.utf8)) }),
            ("P-256", { _ = try Ed25519.PublicKey(curve.verificationKey.der) }),
            ("public key", { _ = try Ed25519.PrivateKey(Array(key.publicKey.pem.utf8)) }),
            ("Ed25519", { _ = try SigningKey(Array(key.pem.utf8)) }),
            ("31", { _ = try Ed25519.PrivateKey(raw: [UInt8](repeating: 1, count: 31)) }),
            ("33", { _ = try Ed25519.PublicKey(raw: [UInt8](repeating: 1, count: 33)) }),
            ("neither", { _ = try Ed25519.PublicKey([]) }),
        ] as [(String, () throws -> Void)] {
            #expect {
                try read()
            } throws: { error in
                let error = error as? SignedDataError
                return error?.code == .keyMalformed && error?.reason.contains(what) == true
            }
        }
    }

    @Test func `an answer is valid only with the key that it names`() throws {
        let (old, new) = (try Ed25519.PrivateKey.generate(), try Ed25519.PrivateKey.generate())
        let verifier: any AnswerVerifier = Ed25519AnswerVerifier(keys: ["old": old.publicKey, "new": new.publicKey])
        let message = Array("souk-1\nnonce\n/v1/customers/ada".utf8)
        let signature = try new.signature(of: message)
        try verifier.verify(signature, of: message, keyID: "new")
        #expect(refusal { try verifier.verify(signature, of: message, keyID: "old") } == .signatureInvalid)
        #expect(refusal { try verifier.verify(signature, of: message + [0], keyID: "new") } == .signatureInvalid)
        #expect(refusal { try verifier.verify(signature, of: message, keyID: "") } == .unknownKey)
    }

    @Test func `the description of a key does not contain it`() throws {
        let key = try Ed25519.PrivateKey.generate()
        let hmac = try HMACSHA256(key: Array("a secret of many words".utf8))
        let cipher = try AES256GCM(key: [UInt8](repeating: 77, count: 32))
        for value in [key, hmac, cipher] as [Any] {
            var text = "\(value) \(String(reflecting: value))"
            dump(value, to: &text)
            for secret in [Hex.encode(key.raw), "\(key.raw)", "secret", "97, 32, 115", "77"] {
                #expect(!text.contains(secret))
            }
        }
    }
}

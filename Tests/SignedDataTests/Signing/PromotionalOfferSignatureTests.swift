import Foundation
import Primitives
import StoreModel
import Testing

@testable import SignedData

@Suite struct PromotionalOfferSignatureTests {
    let team: TestTeam
    let now = Date(timeIntervalSince1970: 1_700_000_000.1234)
    let customer = UUID(uuidString: "F1F0D6B4-1B56-4E2C-9F8C-0D2B6A6E7A11")!

    init() throws { team = try TestTeam() }

    private var offer: PromotionalOffer {
        PromotionalOffer(
            bundleID: "com.example", productID: "com.example.pro", offerID: "comeback", appAccountToken: customer)
    }

    private func sign(_ offer: PromotionalOffer, keyID: String? = nil) throws(SignedDataError)
        -> PromotionalOfferSignature
    {
        try .sign(offer, key: team.key, keyID: keyID ?? team.keyID, nonce: team.nonce, at: now)
    }

    @Test func `the signed text has Apple's format`() throws {
        let signature = try sign(offer)
        let text = [
            "com.example", "2X9R4HXF34", "com.example.pro", "comeback", "f1f0d6b4-1b56-4e2c-9f8c-0d2b6a6e7a11",
            "368f3888-dcd8-11ef-b3c8-325096b39f47", "1700000000123",
        ].joined(separator: "\u{2063}")
        let raw = try #require(ECDSASignature.raw(fromDER: signature.signature))
        #expect(team.publicKey.isValid(signature: raw, of: Array(text.utf8)))
        #expect(signature.timestamp == 1_700_000_000_123 && signature.nonce == team.nonce)
        #expect(Base64.decode(signature.base64) == signature.signature)
    }

    @Test func `a signature is valid for its own offer only`() throws {
        let signature = try sign(offer)
        #expect(signature.isValid(for: offer, key: team.publicKey))
        func other(
            _ bundleID: BundleID = "com.example", _ productID: ProductID = "com.example.pro",
            _ offerID: String = "comeback",
            _ token: UUID? = nil
        ) -> PromotionalOffer {
            PromotionalOffer(bundleID: bundleID, productID: productID, offerID: offerID, appAccountToken: token)
        }
        for wrong in [
            other(), other("com.example.b", "com.example.pro", "comeback", customer),
            other("com.example", "p", "comeback", customer),
            other("com.example", "com.example.pro", "o", customer),
            other("com.example", "com.example.pro", "comeback", team.nonce),
            other("com.example", "com.example.pro", "", customer),
        ] {
            #expect(!signature.isValid(for: wrong, key: team.publicKey), "\(wrong)")
        }
        #expect(!signature.isValid(for: offer, key: try TestTeam().publicKey))
        for changed in [
            PromotionalOfferSignature(
                keyID: "OTHER", nonce: signature.nonce, timestamp: signature.timestamp, signature: signature.signature),
            PromotionalOfferSignature(
                keyID: signature.keyID, nonce: UUID(), timestamp: signature.timestamp, signature: signature.signature),
            PromotionalOfferSignature(
                keyID: signature.keyID, nonce: signature.nonce, timestamp: signature.timestamp + 1,
                signature: signature.signature),
        ] {
            #expect(!changed.isValid(for: offer, key: team.publicKey))
        }
    }

    @Test func `only one encoding of a signature is accepted`() throws {
        let good = try sign(offer)
        let der = good.signature
        let raw = try #require(ECDSASignature.raw(fromDER: der))
        let r = Array(der[2..<(4 + Int(der[3]))])
        let s = Array(der[(4 + Int(der[3]))...])
        let longR = [0x02, r[1] + 1, 0x00] + r.dropFirst(2)
        var encodings = [
            raw, [], Array(der.dropLast()), der + [0], [0x30, UInt8(longR.count + s.count)] + longR + s,
            [0x30, 0x81, der[1]] + der.dropFirst(2),
        ]
        for index in der.indices {
            var changed = der
            changed[index] ^= 1
            encodings.append(changed)
        }
        for encoding in encodings {
            let other = PromotionalOfferSignature(
                keyID: good.keyID, nonce: good.nonce, timestamp: good.timestamp, signature: encoding)
            #expect(!other.isValid(for: offer, key: team.publicKey), "\(Hex.encode(encoding))")
        }
    }

    @Test func `a signature is valid for 24 hours after its timestamp`() throws {
        let signature = try sign(offer)
        func code(_ seconds: TimeInterval) -> SignedDataError.Code? {
            let instant = Date(timeIntervalSince1970: 1_700_000_000.123 + seconds)
            return refusal { try signature.verify(for: offer, key: team.publicKey, at: instant) }
        }
        #expect(code(0) == nil && code(86_399) == nil && code(-59) == nil)
        #expect(code(86_401) == .notCurrent && code(-61) == .notCurrent)
        let far = PromotionalOfferSignature(
            keyID: signature.keyID, nonce: signature.nonce, timestamp: .max, signature: signature.signature)
        #expect(refusal { try far.verify(for: offer, key: team.publicKey, at: now) } == .signatureInvalid)
    }

    @Test func `a customer is a lower-case UUID, an unchanged name, or empty`() throws {
        func name(_ username: String) -> String {
            PromotionalOffer(bundleID: "b", productID: "p", offerID: "o", applicationUsername: username)
                .applicationUsername
        }
        #expect(name(customer.uuidString) == customer.uuidString.lowercased())
        #expect(name("Ada") == "Ada" && name("") == "")
        #expect(PromotionalOffer(bundleID: "b", productID: "p", offerID: "o").applicationUsername == "")
        #expect(try sign(PromotionalOffer(bundleID: "b", productID: "p", offerID: "o")).signature.count > 66)
    }

    @Test func `an empty field or one with the separator is not signed`() throws {
        let mark = "\u{2063}"
        for (offer, keyID) in [
            (PromotionalOffer(bundleID: "b", productID: ProductID(rawValue: "p\(mark)q")!, offerID: "o"), "K"),
            (PromotionalOffer(bundleID: "b", productID: "p", offerID: "o\(mark)"), "K"),
            (PromotionalOffer(bundleID: "b", productID: "p", offerID: "o", applicationUsername: mark), "K"),
            (PromotionalOffer(bundleID: "b", productID: "p", offerID: "o"), "K\(mark)"),
            (PromotionalOffer(bundleID: "b", productID: "p", offerID: ""), "K"),
            (PromotionalOffer(bundleID: "b", productID: "p", offerID: "o"), ""),
        ] {
            #expect(refusal { try sign(offer, keyID: keyID) } == .claimInvalid, "\(offer) \(keyID)")
        }
        #expect(
            refusal {
                try PromotionalOfferSignature.sign(
                    offer, key: team.key, keyID: team.keyID, nonce: team.nonce,
                    at: .distantFuture.addingTimeInterval(1e30))
            } == .claimInvalid)
    }
}

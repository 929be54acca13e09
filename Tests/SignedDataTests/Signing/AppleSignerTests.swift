import Foundation
import HostTestSupport
import Primitives
import StoreModel
import Testing

@testable import SignedData

/// Verifies signatures of Apple's Python library, and lets PyJWT and cryptography verify ours. `SOUK_PYTHON` is an
/// interpreter with the package `app-store-server-library`.
@Suite(.outsideJudge(OutsideJudge.python != nil, "SOUK_PYTHON names no interpreter with Apple's library"))
struct AppleSignerTests {
    let team: TestTeam
    let now = Date(timeIntervalSince1970: Date().timeIntervalSince1970.rounded(.down))

    init() throws { team = try TestTeam() }

    private var offer: PromotionalOffer {
        PromotionalOffer(
            bundleID: team.bundleID, productID: "com.example.pro", offerID: "comeback",
            appAccountToken: UUID(uuidString: "F1F0D6B4-1B56-4E2C-9F8C-0D2B6A6E7A11"))
    }

    private func ask(_ additions: JSONObject = [:]) async throws -> JSONValue {
        let request: JSONObject = [
            "privateKey": .string(team.key.pem), "keyID": .string(team.keyID), "issuerID": .string(team.issuerID),
            "bundleID": .string(team.bundleID.rawValue), "productID": "com.example.pro", "offerID": "comeback",
            "transactionID": "2000000000000001", "applicationUsername": .string(offer.applicationUsername),
            "nonce": .string(team.nonce.uuidString), "timestamp": .number(now.timeIntervalSince1970 * 1000),
        ]
        let verdict = try await OutsideJudge.judge("apple_signer.py", .object(request.merging(additions) { $1 }))
        #expect(verdict.status == 0, "\(verdict.errors)")
        return try #require(verdict.json)
    }

    @Test func `a signature of Apple's library is accepted for its content only`() async throws {
        let signed = try #require(try await ask()["signed"])
        func text(_ name: String) throws -> String { try #require(signed[name]?.stringValue) }

        let signature = PromotionalOfferSignature(
            keyID: team.keyID, nonce: team.nonce, timestamp: Int64(now.timeIntervalSince1970 * 1000),
            signature: try #require(Base64.decode(text("offer"))))
        try signature.verify(for: offer, key: team.publicKey, at: now)
        let other = PromotionalOffer(bundleID: team.bundleID, productID: "com.example.pro", offerID: "comeback")
        #expect(refusal { try signature.verify(for: other, key: team.publicKey, at: now) } == .signatureInvalid)

        let verifier = team.requestVerifier
        let soon = now.addingTimeInterval(30)
        #expect(
            try verifier.verify(text("promotionalOffer"), at: soon).request
                == .promotionalOffer("comeback", for: "com.example.pro", transactionID: "2000000000000001"))
        #expect(
            try verifier.verify(text("promotionalOfferAlone"), at: soon).request
                == .promotionalOffer("comeback", for: "com.example.pro"))
        #expect(
            try verifier.verify(text("eligibility"), at: soon).request
                == .introductoryOfferEligibility(false, for: "com.example.pro", transactionID: "2000000000000001"))
        let charge = try verifier.verify(text("advancedCommerce"), at: soon).request
        let content = try JSONValue(parsing: try #require(charge.content))
        #expect(charge.audience == .advancedCommerce)
        #expect(content["operation"] == "CREATE_ONE_TIME_CHARGE" && content["item"]?["price"] == 4990)
        try team.tokenVerifier.verify(text("token"), at: soon)
    }

    @Test func `a signature of ours is accepted by other libraries, with the same claims`() async throws {
        let signature = try PromotionalOfferSignature.sign(
            offer, key: team.key, keyID: team.keyID, nonce: team.nonce, at: now)
        let content = Array(#"{"operation": "CREATE_ONE_TIME_CHARGE", "version": "1"}"#.utf8)
        let requests: [AppStoreRequest] = [
            .promotionalOffer("comeback", for: "com.example.pro", transactionID: "2000000000000001"),
            .promotionalOffer("comeback", for: "com.example.pro"),
            .introductoryOfferEligibility(true, for: "com.example.pro", transactionID: "2000000000000001"),
            .advancedCommerce(content),
        ]
        let signed = try requests.map { request -> JSONValue in
            let jws = try team.serverKey.sign(request, nonce: team.nonce, at: now)
            return ["audience": .string(request.audience.rawValue), "jws": .string(jws)]
        }
        let answer = try await ask([
            "offer": .string(signature.base64), "requests": .array(signed),
            "token": .string(team.serverKey.token(at: now, lifetime: 3600)),
        ])
        #expect(answer["offer"] == true, "\(answer)")
        let base: JSONObject = [
            "iss": .string(team.issuerID), "iat": .number(now.timeIntervalSince1970),
            "bid": .string(team.bundleID.rawValue), "nonce": .string(team.nonce.uuidString.lowercased()),
        ]
        let own: [JSONObject] = [
            [
                "aud": "promotional-offer", "productId": "com.example.pro", "offerIdentifier": "comeback",
                "transactionId": "2000000000000001",
            ],
            ["aud": "promotional-offer", "productId": "com.example.pro", "offerIdentifier": "comeback"],
            [
                "aud": "introductory-offer-eligibility", "productId": "com.example.pro", "allowIntroductoryOffer": true,
                "transactionId": "2000000000000001",
            ],
            ["aud": "advanced-commerce-api", "request": .string(Base64.encode(content))],
        ]
        for (index, claims) in own.enumerated() {
            let judged = try #require(answer["requests"]?[index])
            #expect(judged["claims"] == .object(base.merging(claims) { $1 }), "\(judged)")
        }
        #expect(answer["token"]?["claims"]?["aud"] == "appstoreconnect-v1", "\(answer)")
    }

    @Test func `other libraries refuse another key and a changed signature`() async throws {
        let other = try TestTeam()
        let signature = try PromotionalOfferSignature.sign(
            offer, key: other.key, keyID: team.keyID, nonce: team.nonce, at: now)
        let answer = try await ask([
            "offer": .string(signature.base64), "token": .string(other.serverKey.token(at: now)),
            "requests": [
                [
                    "audience": "promotional-offer",
                    "jws": .string(other.serverKey.sign(.advancedCommerce([0x7B, 0x7D]), nonce: UUID(), at: now)),
                ]
            ],
        ])
        #expect(answer["offer"]?.stringValue?.contains("InvalidSignature") == true)
        #expect(answer["token"]?.stringValue?.contains("InvalidSignatureError") == true)
        #expect(answer["requests"]?[0]?.stringValue?.contains("InvalidSignatureError") == true)
    }
}

/// A team of App Store Connect with one key, whose server signs for one app.
struct TestTeam {
    let key: SigningKey
    let keyID = "2X9R4HXF34"
    let issuerID = "57246542-96fe-1a63-e053-0824d011072a"
    let bundleID: BundleID = "com.example"
    let nonce = UUID(uuidString: "368F3888-DCD8-11EF-B3C8-325096B39F47")!

    init() throws { key = try SigningKey.generate() }

    var publicKey: VerificationKey { key.verificationKey }

    var serverKey: AppStoreConnectKey {
        AppStoreConnectKey(key, id: keyID, issuerID: issuerID, bundleID: bundleID)
    }

    var tokenVerifier: AppStoreServerTokenVerifier {
        AppStoreServerTokenVerifier(keys: [keyID: publicKey], issuerID: issuerID, bundleID: bundleID)
    }

    var requestVerifier: AppStoreRequestVerifier {
        AppStoreRequestVerifier(keys: [keyID: publicKey], issuerID: issuerID, bundleID: bundleID)
    }

    /// Returns a token with any claims and any header.
    func token(_ claims: JSONValue, header: JSONValue? = nil) throws -> String {
        try JWSSigner(key: key, header: header ?? ["alg": "ES256", "kid": .string(keyID), "typ": "JWT"])
            .sign(claims.encoded())
    }
}

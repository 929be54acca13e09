import Foundation
import Primitives
import StoreModel
import Testing

@testable import SignedData

@Suite struct AppStoreRequestTests {
    let team: TestTeam
    let now = Date(timeIntervalSince1970: 1_700_000_000.9)

    init() throws { team = try TestTeam() }

    private static let requests: [AppStoreRequest] = [
        .promotionalOffer("comeback", for: "com.example.pro", transactionID: "1000011859217"),
        .promotionalOffer("comeback", for: "com.example.pro"),
        .introductoryOfferEligibility(false, for: "com.example.pro", transactionID: "1000011859217"),
        .advancedCommerce(Array(#"{ "version":"1","price":1.10 }"#.utf8)),
    ]

    /// The claims after `nonce` in each of the requests above.
    private static let claims = [
        #","productId":"com.example.pro","offerIdentifier":"comeback","transactionId":"1000011859217"}"#,
        #","productId":"com.example.pro","offerIdentifier":"comeback"}"#,
        #","productId":"com.example.pro","allowIntroductoryOffer":false,"transactionId":"1000011859217"}"#,
        #","request":"eyAidmVyc2lvbiI6IjEiLCJwcmljZSI6MS4xMCB9"}"#,
    ]

    private func code(_ jws: String, at instant: Date? = nil) -> SignedDataError.Code? {
        refusal { try team.requestVerifier.verify(jws, at: instant ?? now) }
    }

    @Test(arguments: zip(requests, claims))
    func `a request has the claims that Apple documents, in order`(request: AppStoreRequest, claims: String) throws {
        let jws = try team.serverKey.sign(request, nonce: team.nonce, at: now)
        let parts = jws.split(separator: ".").map(String.init)
        let texts = try parts.prefix(2).map { String(decoding: try #require(Base64.decodeURL($0)), as: UTF8.self) }
        #expect(texts[0] == #"{"alg":"ES256","kid":"2X9R4HXF34","typ":"JWT"}"#)
        #expect(
            texts[1]
                == #"{"iss":"57246542-96fe-1a63-e053-0824d011072a","iat":1700000000,"aud":"\#(request.audience.rawValue)","#
                + #""bid":"com.example","nonce":"368f3888-dcd8-11ef-b3c8-325096b39f47""# + claims)
        let presented = try team.requestVerifier.verify(jws, at: now)
        #expect(presented.request == request)
        #expect(presented.nonce == team.nonce && presented.keyID == team.keyID && presented.issuerID == team.issuerID)
        #expect(presented.issuedAt == Date(timeIntervalSince1970: 1_700_000_000))
    }

    @Test func `a request is accepted for a day, or as long as configured`() throws {
        let jws = try team.serverKey.sign(Self.requests[0], nonce: team.nonce, at: now)
        let issued = Date(timeIntervalSince1970: 1_700_000_000)
        #expect(code(jws, at: issued.addingTimeInterval(86_399)) == nil)
        #expect(code(jws, at: issued.addingTimeInterval(86_400)) == .notCurrent)
        #expect(code(jws, at: issued.addingTimeInterval(-60)) == nil)
        #expect(code(jws, at: issued.addingTimeInterval(-61)) == .notCurrent)
        var strict = team.requestVerifier
        strict.maximumAge = 300
        #expect(refusal { try strict.verify(jws, at: issued.addingTimeInterval(300)) } == .notCurrent)
    }

    @Test func `a missing or wrong claim is refused with the code of its fault`() throws {
        func claims(_ changes: [String: JSONValue?]) -> JSONValue {
            var claims: JSONValue = [
                "iss": .string(team.issuerID), "iat": 1_700_000_000, "aud": "promotional-offer", "bid": "com.example",
                "nonce": "368f3888-dcd8-11ef-b3c8-325096b39f47", "productId": "p", "offerIdentifier": "o",
                "transactionId": "1",
            ]
            for (name, value) in changes { claims[name] = value }
            return claims
        }
        #expect(code(try team.token(claims([:]))) == nil)
        for (changes, expected) in [
            (["iss": "another"], .claimInvalid), (["iss": nil], .payloadMalformed),
            (["aud": "appstoreconnect-v1"], .claimInvalid), (["aud": nil], .payloadMalformed),
            (["bid": "com.example.other"], .wrongBundle), (["iat": nil], .payloadMalformed),
            (["iat": "1700000000"], .payloadMalformed), (["nonce": nil], .payloadMalformed),
            (["nonce": "once"], .payloadMalformed), (["productId": ""], .payloadMalformed),
            (["productId": nil], .payloadMalformed), (["offerIdentifier": 7], .payloadMalformed),
            (["transactionId": 7], .payloadMalformed), (["transactionId": ""], .payloadMalformed),
            (["aud": "introductory-offer-eligibility"], .payloadMalformed),
            (["aud": "introductory-offer-eligibility", "allowIntroductoryOffer": "true"], .payloadMalformed),
            (
                ["aud": "introductory-offer-eligibility", "allowIntroductoryOffer": true, "transactionId": nil],
                .payloadMalformed
            ),
            (["aud": "advanced-commerce-api"], .payloadMalformed),
            (["aud": "advanced-commerce-api", "request": "{}"], .payloadMalformed),
            (["aud": "advanced-commerce-api", "request": "W10="], .payloadMalformed),
        ] as [([String: JSONValue?], SignedDataError.Code)] {
            #expect(code(try team.token(claims(changes))) == expected, "\(changes)")
        }
        #expect(code(try TestTeam().serverKey.sign(Self.requests[0], nonce: UUID(), at: now)) == .signatureInvalid)
        #expect(code(try team.serverKey.token(at: now)) == .claimInvalid, "a bearer token is no request")
    }

    @Test func `a bearer token's verifier refuses a request`() throws {
        let jws = try team.serverKey.sign(Self.requests[0], nonce: team.nonce, at: now)
        #expect(refusal { try team.tokenVerifier.verify(jws, at: now) } == .claimInvalid)
    }

    @Test func `an invalid value is not signed`() throws {
        func code(_ request: AppStoreRequest) -> SignedDataError.Code? {
            refusal { try team.serverKey.sign(request, nonce: team.nonce, at: now) }
        }
        #expect(code(.promotionalOffer("", for: "p")) == .claimInvalid)
        #expect(code(.promotionalOffer("a\u{0}b", for: "p")) == .claimInvalid)
        for text in ["", "[]", "{", "null", #"{"a":1,"a":2}"#] {
            #expect(code(.advancedCommerce(Array(text.utf8))) == .claimInvalid, "\(text)")
        }
        let nobody = AppStoreConnectKey(team.key, id: team.keyID, issuerID: "", bundleID: team.bundleID)
        #expect(refusal { try nobody.sign(Self.requests[0], nonce: team.nonce, at: now) } == .claimInvalid)
    }
}

import Foundation
import Primitives
import Testing

@testable import SignedData

@Suite struct AppStoreServerTokenTests {
    let team: TestTeam
    let now = Date(timeIntervalSince1970: 1_700_000_000.9)

    init() throws { team = try TestTeam() }

    /// The valid claims of a token, which tests change.
    private func claims(_ changes: [String: JSONValue?] = [:]) -> JSONValue {
        var claims: JSONValue = [
            "iss": .string(team.issuerID), "iat": 1_700_000_000, "exp": 1_700_000_300, "aud": "appstoreconnect-v1",
            "bid": "com.example",
        ]
        for (name, value) in changes { claims[name] = value }
        return claims
    }

    private func code(_ token: String, at instant: Date? = nil) -> SignedDataError.Code? {
        refusal { try team.tokenVerifier.verify(token, at: instant ?? now) }
    }

    @Test func `a token has the claims that Apple documents, in order`() throws {
        let parts = try team.serverKey.token(at: now).split(separator: ".").map(String.init)
        let texts = try parts.prefix(2).map { String(decoding: try #require(Base64.decodeURL($0)), as: UTF8.self) }
        #expect(texts[0] == #"{"alg":"ES256","kid":"2X9R4HXF34","typ":"JWT"}"#)
        #expect(
            texts[1]
                == #"{"iss":"57246542-96fe-1a63-e053-0824d011072a","iat":1700000000,"exp":1700000300,"#
                + #""aud":"appstoreconnect-v1","bid":"com.example"}"#)
        let signature = try #require(Base64.decodeURL(parts[2]))
        #expect(team.publicKey.isValid(signature: signature, of: Array("\(parts[0]).\(parts[1])".utf8)))
        #expect(code(parts.joined(separator: ".")) == nil)
    }

    @Test func `a key that is replaced signs with the new ids in every copy`() throws {
        let other = try TestTeam()
        let key = AppStoreConnectKey(other.key, id: "FORMER", issuerID: "former", bundleID: team.bundleID)
        let copy = key
        #expect(code(try copy.token(at: now)) != nil)
        key.replace(with: team.serverKey)
        #expect(code(try copy.token(at: now)) == nil)
        #expect(
            try copy.token(at: now).split(separator: ".")[0] == team.serverKey.token(at: now).split(separator: ".")[0])
    }

    @Test(arguments: [0, -1, 0.5, 3600.5, 3601, .infinity, .nan])
    func `a lifetime that Apple refuses is refused`(lifetime: TimeInterval) {
        #expect(refusal { try team.serverKey.token(at: now, lifetime: lifetime) } == .claimInvalid)
    }

    @Test(arguments: [1, 1200, 3600])
    func `a token is valid for its lifetime`(lifetime: TimeInterval) throws {
        let token = try team.serverKey.token(at: now, lifetime: lifetime)
        let issued = Date(timeIntervalSince1970: 1_700_000_000)
        #expect(code(token, at: issued) == nil)
        #expect(try team.tokenVerifier.verify(token, at: issued) == issued.addingTimeInterval(lifetime + 60))
        #expect(code(token, at: issued.addingTimeInterval(-60)) == nil)
        #expect(code(token, at: issued.addingTimeInterval(-61)) == .notCurrent)
        #expect(code(token, at: issued.addingTimeInterval(lifetime + 59)) == nil)
        #expect(code(token, at: issued.addingTimeInterval(lifetime + 60)) == .notCurrent)
    }

    @Test(arguments: ["", "a\nb", String(repeating: "k", count: 256)])
    func `invalid ids are not signed`(id: String) {
        for (keyID, issuerID) in [(id, team.issuerID), (team.keyID, id)] {
            let key = AppStoreConnectKey(
                team.key, id: keyID, issuerID: issuerID, bundleID: team.bundleID)
            #expect(refusal { try key.token(at: now) } == .claimInvalid)
        }
    }

    @Test func `a missing or wrong claim is refused with the code of its fault`() throws {
        #expect(code(try team.token(claims())) == nil)
        #expect(code(try team.token(claims(["iat": nil]))) == nil, "Apple's client leaves iat out")
        for (changes, expected) in [
            (["iss": "another"], .claimInvalid), (["iss": nil], .payloadMalformed), (["iss": 1], .payloadMalformed),
            (["aud": "appstoreconnect-v2"], .claimInvalid), (["aud": ["appstoreconnect-v1"]], .payloadMalformed),
            (["bid": "com.example.other"], .wrongBundle), (["bid": nil], .payloadMalformed),
            (["exp": nil], .payloadMalformed), (["exp": "1700000300"], .payloadMalformed),
            (["exp": 1_700_003_601], .claimInvalid), (["exp": 1_700_009_000, "iat": nil], .claimInvalid),
            (["iat": 1_700_000_100], .notCurrent), (["iat": true], .payloadMalformed),
        ] as [([String: JSONValue?], SignedDataError.Code)] {
            #expect(code(try team.token(claims(changes))) == expected, "\(changes)")
        }
    }

    @Test func `a token without an ES256 signature of a known key is refused`() throws {
        let good = try team.serverKey.token(at: now)
        let parts = good.split(separator: ".").map(String.init)
        let none = Base64.encodeURL(Array(#"{"alg":"none","kid":"2X9R4HXF34"}"#.utf8))
        for (token, expected) in [
            ("", .malformed), ("a.b", .malformed), (good + ".x", .malformed), (good + "=", .malformed),
            ("\(none).\(parts[1]).\(parts[2])", .unsupportedAlgorithm), ("\(none).\(parts[1]).", .malformed),
            (String(repeating: "a", count: ServerJWT.maximumLength + 1), .tooLarge),
            ("\(parts[0]).\(parts[1]).\(Base64.encodeURL([UInt8](repeating: 1, count: 63)))", .signatureInvalid),
            (try TestTeam().serverKey.token(at: now), .signatureInvalid),
            (try team.token("text"), .payloadMalformed),
            (try team.token(claims(), header: ["alg": "ES256", "kid": "OTHER"]), .unknownKey),
            (try team.token(claims(), header: ["alg": "ES256"]), .malformed),
            (try team.token(claims(), header: ["alg": "HS256", "kid": "2X9R4HXF34"]), .unsupportedAlgorithm),
            (try team.token(claims(), header: ["alg": "ES256", "kid": "2X9R4HXF34", "typ": "JOSE"]), .malformed),
            (try team.token(claims(), header: ["alg": "ES256", "kid": "2X9R4HXF34", "crit": ["b64"]]), .malformed),
            (try team.token(claims(), header: ["alg", "ES256"]), .malformed),
        ] as [(String, SignedDataError.Code)] {
            #expect(code(token) == expected, "\(token.prefix(80))")
        }
    }

    @Test func `any changed character is refused`() throws {
        let good = Array(try team.serverKey.token(at: now).utf8)
        for index in good.indices {
            var changed = good
            changed[index] = changed[index] == UInt8(ascii: "A") ? UInt8(ascii: "B") : UInt8(ascii: "A")
            #expect(code(String(decoding: changed, as: UTF8.self)) != nil)
        }
    }
}

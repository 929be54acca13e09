import Foundation
import Primitives
import StoreModel
import Testing

@testable import SignedData

/// Headers and payloads of JWS that try to mislead a verifier.
@Suite struct HostileHeaderTests {
    let store: TestStore

    init() throws { store = try TestStore() }

    /// A header may contain or name a key (RFC 7515 sections 4.1.2 to 4.1.8). The verifier ignores it.
    @Test func `a key in the header, or named by it, is ignored`() throws {
        let mine = try SigningKey.generate()
        let raw = mine.verificationKey.der.suffix(64)
        let key: JSONValue = [
            "kty": "EC", "crv": "P-256", "x": .string(Base64.encodeURL(Array(raw.prefix(32)))),
            "y": .string(Base64.encodeURL(Array(raw.suffix(32)))),
        ]
        let members: [(String, JSONValue)] = [
            ("jwk", key), ("jku", "https://attacker.example/keys"), ("x5u", "https://attacker.example/chain"),
            ("kid", "Apple_Xcode_Key"), ("kid", "../../../dev/null"), ("x5t#S256", "AAAA"), ("zip", "DEF"),
            ("typ", "JOSE+JSON"), ("cty", "JWT"), ("ALG", "none"), ("X5C", []),
        ]
        for (name, value) in members {
            var header = store.header
            header[name] = value
            #expect(refusal { try store.verifier.transaction(try store.sign(header: header)) } == nil, "\(name)")
            let forged = try JWSSigner(key: mine, header: header).sign(TestStore.transaction())
            #expect(refusal { try store.verifier.transaction(forged) } == .signatureInvalid, "\(name)")
            header["x5c"] = nil
            let bare = try JWSSigner(key: mine, header: header).sign(TestStore.transaction())
            #expect(refusal { try store.verifier.transaction(bare) } == .missingCertificateChain, "\(name)")
        }
    }

    /// With `b64` false, the payload would be signed without encoding (RFC 7797). The verifier accepts only base64url.
    @Test func `a payload that is not encoded is refused`() throws {
        var header = store.header
        header["b64"] = false
        #expect(refusal { try store.verifier.transaction(try store.sign(header: header)) } == nil)
        let input = "\(Base64.encodeURL(header.encoded())).\(TestStore.transaction().json.text())"
        let signature = Base64.encodeURL(try store.chain.leafKey.signature(of: Array(input.utf8)))
        #expect(refusal { try store.verifier.transaction("\(input).\(signature)") } == .malformed)
        header["crit"] = ["b64"]
        #expect(refusal { try store.verifier.transaction(try store.sign(header: header)) } == .malformed)
    }

    @Test func `a header is one JSON object and nothing else`() throws {
        let text = store.header.text()
        let headers: [(String, SignedDataError.Code)] = [
            (text + " ", .signatureInvalid), (text + "\0", .malformed), (text + "{}", .malformed),
            ("\u{FEFF}" + text, .malformed), ("[\(text)]", .malformed), (String(text.dropLast()) + ",}", .malformed),
            (text.replacingOccurrences(of: #""alg""#, with: #""\u0061lg""#), .signatureInvalid),
            (text.replacingOccurrences(of: #"{"alg""#, with: #"{"\u0061lg":"none","alg""#), .malformed),
            (text.replacingOccurrences(of: "ES256", with: #"ES256\u0000"#), .unsupportedAlgorithm),
            (text.replacingOccurrences(of: #""ES256""#, with: #"["ES256"]"#), .malformed),
            (
                text.replacingOccurrences(
                    of: #"{"alg""#,
                    with: #"{"x":\#(String(repeating: "[", count: 9))1"#
                        + String(repeating: "]", count: 9) + #","alg""#), .malformed
            ),
        ]
        for (index, (header, code)) in headers.enumerated() {
            let jws = try store.signed(replacing: 0) { _ in Base64.encodeURL(Array(header.utf8)) }
            #expect(refusal { try store.verifier.transaction(jws) } == code, "\(index)")
        }
    }

    @Test func `an escape in a name does not hide a duplicate member, and other spellings of a bundle id are refused`()
        throws
    {
        let usual = #""signedDate":1700000000000,"environment":"Sandbox""#
        func refused(_ text: String) throws -> SignedDataError.Code? {
            refusal { try store.verifier.transaction(try store.signer.sign(Array("{\(usual),\(text)}".utf8))) }
        }
        #expect(try refused(#""bundl\u0065Id":"com.example""#) == nil)
        #expect(try refused(#""bundl\u0065Id":"com.example","bundleId":"com.attacker""#) == .payloadMalformed)
        #expect(try refused(#""bundleId":"com.example","bundleI\u0064":"com.attacker""#) == .payloadMalformed)
        #expect(try refused(#""bundleID":"com.example""#) == .payloadMalformed, "another name")
        #expect(try refused(#""bundleId":"com.example\u0000""#) == .wrongBundle)
        #expect(try refused(#""bundleId":"com.example\ud800""#) == .payloadMalformed, "half a character")
        #expect(try refused(#""bundleId":"com.exampl\u0065\u0301""#) == .wrongBundle)
        #expect(try refused(#""bundleId":"COM.EXAMPLE""#) == .wrongBundle)
        #expect(try refused(#""bundleId":["com.example"]"#) == .payloadMalformed)
        #expect(try refused(#""bundleId":"com.example","notificationTyp\u0065":"TEST""#) == .payloadMalformed)
    }

    @Test func `numbers beyond a limit are refused or kept, never truncated`() throws {
        let usual = #""signedDate":1700000000000,"environment":"Sandbox","bundleId":"com.example""#
        let numbers = [
            "1e400000000", "-1e400000000", "1e-400000000", "9223372036854775808", "-9223372036854775809",
            "18446744073709551617", String(repeating: "9", count: 5000),
            "0." + String(repeating: "0", count: 5000) + "1",
            "1.7976931348623157e309", "1E+2147483648", "4294967297", "-0",
        ]
        for number in numbers {
            for name in ["quantity", "price", "purchaseDate", "expiresDate", "offerType", "unheardOf"] {
                let jws = try store.signer.sign(Array(#"{\#(usual),"\#(name)":\#(number)}"#.utf8))
                switch Result(catching: { try store.verifier.transaction(jws).payload }) {
                case .failure(let error): #expect((error as? SignedDataError)?.code == .payloadMalformed)
                case .success(let payload):
                    #expect(payload.quantity.map { String($0) == number || number == "-0" } ?? true, "\(number)")
                    #expect(payload.expiresDate.map { $0.timeIntervalSince1970.isFinite } ?? true)
                }
            }
            let dated = #"{"environment":"Sandbox","bundleId":"com.example","signedDate":\#(number)}"#
            let jws = try store.signer.sign(Array(dated.utf8))
            let code = refusal { try store.verifier.transaction(jws) }
            let allowed: [SignedDataError.Code?] = [.payloadMalformed, .certificateExpired, nil]
            #expect(allowed.contains(code), "\(number.prefix(30))")
        }
    }

    @Test func `the cache of one verifier has no effect on another`() throws {
        let jws = try store.signer.sign(TestStore.transaction())
        #expect(refusal { try store.verifier.transaction(jws) } == nil)
        var configuration = store.configuration
        configuration.trustAnchors = TrustAnchor.apple
        #expect(refusal { try SignedDataVerifier(configuration: configuration).transaction(jws) } == .untrustedRoot)
        configuration = store.configuration
        configuration.environments = [.production]
        #expect(refusal { try SignedDataVerifier(configuration: configuration).transaction(jws) } == .wrongEnvironment)
    }

    /// A document states its environment, which must be one of the configured environments.
    @Test func `a document of one environment does not pass as one of another`() throws {
        let all: [AppStoreEnvironment] = [.sandbox, .production, .xcode, .localTesting]
        for spelled in ["sandbox", "SANDBOX", "Sandbox ", "Production\u{0}", ""] {
            let text =
                #"{"signedDate":1700000000000,"bundleId":"com.example","environment":\#(JSONValue.string(spelled).text())}"#
            let jws = try store.signer.sign(Array(text.utf8))
            #expect(refusal { try store.verifier.transaction(jws) } != nil, "\(spelled)")
        }
        for signed in all {
            var payload = TestStore.transaction()
            payload.environment = signed
            let jws = try store.signer.sign(payload)
            for accepted in all {
                var configuration = store.configuration
                configuration.environments = [accepted]
                let code = refusal { try SignedDataVerifier(configuration: configuration).transaction(jws) }
                #expect(code == (signed == accepted ? nil : .wrongEnvironment), "\(signed) for \(accepted)")
            }
        }
    }
}

import Foundation
import HostTestSupport
import Primitives
import SignedData
import StoreModel
import Testing

@testable import GooglePlay

/// Keys that the tests share, because creating an RSA key takes long.
enum Keys {
    static let google = try! RSASigningKey.generate()
    static let other = try! RSASigningKey.generate()
    static let now = Date(timeIntervalSince1970: 1_790_000_000)
}

struct SignedPurchaseDataTests {
    private let purchase = SignedPurchaseData {
        $0.orderId = "GPA.1234-5678-9012-34567"
        $0.packageName = "com.example.souk"
        $0.purchaseToken = "token"
        $0.purchaseTime = 1_790_000_000_000
    }

    @Test func `signed data is read with the key of the app only`() throws {
        let (data, signature) = try purchase.signed(by: Keys.google)
        let key = try RSAVerificationKey(Keys.google.verificationKey.der)
        #expect(try SignedPurchaseData(verifying: data, signature: signature, key: key) == purchase)
        #expect(throws: SignedDataError(.signatureInvalid, "")) {
            try SignedPurchaseData(verifying: data, signature: signature, key: Keys.other.verificationKey)
        }
        #expect(throws: SignedDataError(.signatureInvalid, "")) {
            try SignedPurchaseData(verifying: data + " ", signature: signature, key: key)
        }
    }

    @Test(arguments: ["", "AA==", "****", "AAAA", String(repeating: "A", count: 70_000)])
    func `a signature that is none is refused`(_ signature: String) throws {
        let (data, _) = try purchase.signed(by: Keys.google)
        #expect(throws: SignedDataError.self) {
            try SignedPurchaseData(verifying: data, signature: signature, key: Keys.google.verificationKey)
        }
    }

    @Test func `a signature with another digest is refused`() throws {
        let (data, _) = try purchase.signed(by: Keys.google)
        let signature = Base64.encode(try Keys.google.signature(of: Array(data.utf8), .sha256))
        #expect(throws: SignedDataError(.signatureInvalid, "")) {
            try SignedPurchaseData(verifying: data, signature: signature, key: Keys.google.verificationKey)
        }
    }

    @Test func `signed bytes that are not a purchase are refused`() throws {
        for text in ["[]", "", "{\"purchaseTime\":\"now\"}"] {
            let signature = Base64.encode(try Keys.google.signature(of: Array(text.utf8), .sha1))
            #expect(throws: SignedDataError(.payloadMalformed, "")) {
                try SignedPurchaseData(verifying: text, signature: signature, key: Keys.google.verificationKey)
            }
        }
    }
}

struct PushTokenTests {
    private let token = PushToken(audience: "https://app.example/push", email: "push@souk.invalid")
    private let keys = ["k1": Keys.google.verificationKey]

    private func signed(_ token: PushToken, by key: RSASigningKey = Keys.google, keyID: String = "k1") throws -> String
    {
        try token.signed(by: key, keyID: keyID, subject: "1", at: Keys.now)
    }

    @Test func `the token of the subscription is accepted until it expires`() throws {
        let text = try signed(token)
        try token.verify(text, keys: keys, at: Keys.now)
        try token.verify(text, keys: keys, at: Keys.now.addingTimeInterval(3600))
        #expect(throws: SignedDataError(.notCurrent, "")) {
            try token.verify(text, keys: keys, at: Keys.now.addingTimeInterval(3661))
        }
        #expect(throws: SignedDataError(.notCurrent, "")) {
            try token.verify(text, keys: keys, at: Keys.now.addingTimeInterval(-61))
        }
    }

    @Test func `a token for another audience or account, or with another key, is refused`() throws {
        var other = token
        other.audience = "https://app.example/other"
        #expect(throws: SignedDataError(.claimInvalid, "")) {
            try token.verify(signed(other), keys: keys, at: Keys.now)
        }
        other = token
        other.email = "PUSH@souk.invalid"
        #expect(throws: SignedDataError(.claimInvalid, "")) {
            try token.verify(signed(other), keys: keys, at: Keys.now)
        }
        #expect(throws: SignedDataError(.signatureInvalid, "")) {
            try token.verify(signed(token, by: Keys.other), keys: keys, at: Keys.now)
        }
        #expect(throws: SignedDataError(.unknownKey, "")) {
            try token.verify(signed(token, keyID: "k2"), keys: keys, at: Keys.now)
        }
    }

    @Test(arguments: [
        (#"{"alg":"none","kid":"k1","typ":"JWT"}"#, SignedDataError.Code.unsupportedAlgorithm),
        (#"{"alg":"HS256","kid":"k1","typ":"JWT"}"#, .unsupportedAlgorithm),
        (#"{"alg":"RS256","typ":"JWT"}"#, .malformed),
        (#"{"alg":"RS256","kid":"k1","crit":["b64"]}"#, .malformed),
        (#"{"alg":"RS256","kid":"k1"}"#, .signatureInvalid),
    ])
    func `a changed header is refused`(_ header: String, _ code: SignedDataError.Code) throws {
        let parts = try signed(token).split(separator: ".")
        let text = "\(Base64.encodeURL(Array(header.utf8))).\(parts[1]).\(parts[2])"
        #expect(throws: SignedDataError(code, "")) { try token.verify(text, keys: keys, at: Keys.now) }
        #expect(throws: SignedDataError.self) {
            try token.verify("\(Base64.encodeURL(Array(header.utf8))).\(parts[1]).", keys: keys, at: Keys.now)
        }
    }

    @Test func `a key set keeps the numbers of its keys`() throws {
        let set = JSONWebKeySet(["k1": Keys.google.verificationKey, "k2": Keys.other.verificationKey])
        let read = try JSONWebKeySet(json: set.json)
        #expect(read.keys.mapValues(\.der) == set.keys.mapValues(\.der))
        try token.verify(signed(token), keys: read.keys, at: Keys.now)
        #expect(throws: SignedDataError(.keyMalformed, "")) { try JSONWebKeySet(json: ["keys": []]) }
        let tiny: JSONValue = ["keys": [["kty": "RSA", "kid": "k", "n": "AQAB", "e": "AQAB"]]]
        #expect(throws: SignedDataError(.keyMalformed, "")) { try JSONWebKeySet(json: tiny) }
    }
}

struct ServiceAccountKeyTests {
    @Test func `a key file is read as it was written`() throws {
        let key = ServiceAccountKey(
            projectID: "souk", clientEmail: "souk@souk.invalid", clientID: "1", keyID: "k1",
            tokenURI: "http://127.0.0.1:1/token", signingKey: Keys.google)
        let file = key.file(authURI: "http://127.0.0.1:1/auth", certificatesURI: "http://127.0.0.1:1/certs")
        let read = try ServiceAccountKey(parsing: file)
        #expect(read.clientEmail == key.clientEmail)
        let token = try RS256Token(
            try read.assertion(scope: AndroidPublisher.scope, at: Keys.now),
            keys: ["k1": Keys.google.verificationKey])
        #expect(token.claims["aud"] == "http://127.0.0.1:1/token")
        #expect(token.claims["scope"]?.stringValue == AndroidPublisher.scope)
    }

    @Test(arguments: ["", "[]", "{}", #"{"type":"authorized_user"}"#, #"{"type":"service_account"}"#])
    func `another file is refused`(_ text: String) {
        #expect(throws: SignedDataError(.keyMalformed, "")) { try ServiceAccountKey(parsing: Array(text.utf8)) }
    }
}

@Suite(.outsideJudge(OutsideJudge.path(of: "openssl") != nil, "openssl is not installed"))
struct OpenSSLJudgeTests {
    @Test func `openssl verifies our RSA-SHA1 signature`() async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("play-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let message = Array("purchase".utf8)
        let files: [(String, [UInt8])] = [
            ("key.der", Keys.google.verificationKey.der), ("data", message),
            ("signature", try Keys.google.signature(of: message, .sha1)),
        ]
        for (name, bytes) in files { try Data(bytes).write(to: folder.appendingPathComponent(name)) }
        let outcome = try await OutsideJudge.run(
            try #require(OutsideJudge.path(of: "openssl")),
            [
                "dgst", "-sha1", "-verify", folder.path + "/key.der", "-keyform", "DER", "-signature",
                folder.path + "/signature", folder.path + "/data",
            ], input: "")
        #expect(outcome.output.contains("Verified OK"))
    }
}

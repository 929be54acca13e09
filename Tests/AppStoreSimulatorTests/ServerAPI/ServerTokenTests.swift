import Foundation
import HTTPCore
import Primitives
import SignedData
import StoreModel
import Testing

@testable import AppStoreSimulator

/// Authentication of the App Store Server API.
struct ServerTokenTests {
    private static let unknownTransaction = "/inApps/v1/transactions/1"

    private func isRefused(_ response: HTTPResponse) async throws -> Bool {
        guard response.status == 401 else { return false }
        #expect(response.headers["Content-Type"] == "text/plain")
        #expect(String(decoding: try await response.body.collect(upTo: 1000), as: UTF8.self) == "Unauthenticated\n")
        #expect(response.headers["WWW-Authenticate"]?.hasPrefix("Bearer error=\"invalid_token\"") == true)
        return true
    }

    @Test func `a token of the store's key is accepted, in any spelling of the scheme, also without iat`() async throws
    {
        try await TestStore.withServer { test, client in
            #expect(try await client.code(.get, Self.unknownTransaction) == .transactionIdNotFound)
            let token = try client.serverKey.token(at: test.base.now(), lifetime: 3600)
            for scheme in ["Bearer", "bearer", "BEARER"] {
                let request = HTTPRequest(
                    method: .get, url: "http://store.test" + Self.unknownTransaction,
                    headers: ["Authorization": "\(scheme) \(token)"])
                #expect(try await client.transport.send(request).status == 404)
            }
            let withoutIssuedAt = try client.token(["iat": nil as JSONValue?])
            #expect(try await client.send(.get, Self.unknownTransaction, token: withoutIssuedAt).status == 404)
        }
    }

    @Test func `without a valid token the response reveals nothing, not even which paths exist`() async throws {
        try await TestStore.withServer { test, client in
            let now = test.base.now().timeIntervalSince1970
            let good = try client.token()
            let parts = good.split(separator: ".").map(String.init)
            let header = try JSONValue(parsing: try #require(Base64.decodeURL(parts[0])))
            var none = header
            none["alg"] = "none"
            let noneText = Base64.encodeURL(none.encoded())
            let wrong: [(String, String?)] = [
                ("none", nil), ("empty", ""), ("text", "x"),
                ("other key", try client.token(key: SigningKey.generate())),
                ("unknown key", try client.token(key: SigningKey.generate(), keyID: "ABCDEFGHIJ")),
                ("other bundle", try client.token(bundle: "com.example.other")),
                ("other issuer", try client.token(issuer: "57246542-96fe-1a63-e053-0824d011072a")),
                ("alg none", "\(noneText).\(parts[1])."), ("alg none, signed", "\(noneText).\(parts[1]).\(parts[2])"),
                ("cut", String(good.dropLast(4))), ("61 minutes", try client.token(["exp": .number(now + 3661)])),
                ("other audience", try client.token(["aud": "appstoreconnect-v2"])),
                ("expired", try client.token(["exp": .number(now - 61)])),
                ("of tomorrow", try client.token(["iat": .number(now + 86400)])),
            ]
            for (name, token) in wrong {
                for path in [Self.unknownTransaction, "/inApps/v1/nowhere", "/inApps/"] {
                    let response = try await client.send(.get, path, token: token)
                    #expect(try await isRefused(response), "\(name) at \(path): \(response.status)")
                }
            }
            #expect(try await client.send(.get, Self.unknownTransaction, token: good).status == 404)
        }
    }

    @Test func `an accepted token is refused after its expiry in real time`() async throws {
        try await TestStore.withServer { test, client in
            let token = try client.serverKey.token(at: test.base.now(), lifetime: 600)
            #expect(try await client.send(.get, Self.unknownTransaction, token: token).status == 404)
            try await test.advance(.years(1))
            #expect(try await client.send(.get, Self.unknownTransaction, token: token).status == 404)
            // Clocks can differ by a minute.
            test.base.advance(by: 659)
            #expect(try await client.send(.get, Self.unknownTransaction, token: token).status == 404)
            test.base.advance(by: 1)
            #expect(try await isRefused(try await client.send(.get, Self.unknownTransaction, token: token)))
        }
    }

    @Test func `the reason does not contain the token, and cannot break out of its header`() async throws {
        try await TestStore.withServer { test, client in
            let expired = try client.serverKey.token(at: test.base.now().addingTimeInterval(-3600))
            let response = try await client.send(.get, Self.unknownTransaction, token: expired)
            let reason = try #require(response.headers["WWW-Authenticate"])
            #expect(reason.contains("has expired") && !reason.contains(expired.suffix(20)))
            let header = Base64.encodeURL(Array(#"{"alg":"ES256","kid":"a\"b\\c\nd\u00e9"}"#.utf8))
            let odd = try await client.send(.get, Self.unknownTransaction, token: "\(header).e30.AAAA")
            #expect(
                odd.headers["WWW-Authenticate"]
                    == #"Bearer error="invalid_token", error_description="#
                    + #""The token is signed with the key 'a'b?c d?', which is not known.""#)
            try odd.headers.validate()
        }
    }

    @Test func `unknown paths are 404 and unsupported methods 405, both without an error code`()
        async throws
    {
        try await TestStore.withServer { _, client in
            for (method, path, status) in [
                (.get, "/inApps/v1/nowhere", 404), (.get, "/inApps/v3/history/1", 404), (.get, "/inApps/", 404),
                (.get, "/inApps/v1/transactions/", 404), (.post, "/inApps/v1/transactions/1", 405),
                (.delete, "/inApps/v1/subscriptions/1", 405), (.get, "/inApps/v1/transactions/1/finish", 405),
            ] as [(HTTPRequest.Method, String, Int)] {
                let response = try await client.send(method, path)
                #expect(response.status == status && response.body.length == 0, "\(method) \(path)")
            }
        }
    }
}

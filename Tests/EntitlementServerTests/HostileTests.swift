import Foundation
import HTTPCore
import Primitives
import SQLStorage
import StoreModel
import Testing

@testable import EntitlementServer

/// Malicious requests reveal no secret, and change no data of others. Each refusal has a reason.
@Suite struct HostileTests {
    private static let words = [
        "'; DROP TABLE customer; --", "\" OR 1=1 --", "anna' UNION SELECT key FROM data_key --", "%' ESCAPE '", "\u{0}",
        "a\u{0}b", "\u{1}", "\u{7F}", "\u{85}", "line\nbreak", "\r\nSet-Cookie: x=1", "\u{202E}gro", "../../etc/passwd",
        "${jndi:ldap://x}", "🙈",
        String(repeating: "a", count: 256), String(repeating: "é", count: 5000), "", " ", "null", "-1",
        "99999999999999999999",
    ]

    private static func encoded(_ word: String) -> String {
        word.utf8.map { byte in "%" + (byte < 16 ? "0" : "") + String(byte, radix: 16) }.joined()
    }

    /// Returns keys, SQL and a path: strings that no response may contain.
    private static func secrets(of bench: ServerBench) throws -> [String] {
        let keys = bench.keys.values.flatMap { [$0.publicKey, $0.secretKey] }
        return keys + ["SELECT 1", "INSERT INTO", "sqlite", bench.folder.url.path]
    }

    private static func check(_ reply: ServerBench.Reply, _ what: String, _ secrets: [String]) {
        // 501: this server has no signing key.
        #expect(reply.status < 500 || reply.status == 501, "\(what): \(reply.status)")
        let text = String(decoding: reply.bytes, as: UTF8.self) + reply.headers.fields.map(\.value).joined()
        for secret in secrets { #expect(!text.contains(secret), "\(what)") }
        #expect(reply.headers["Set-Cookie"] == nil, "\(what)")
        if reply.status >= 400 {
            #expect(reply.headers["Content-Type"] == "application/problem+json", "\(what): \(reply.status)")
            #expect(reply.code != nil, "\(what)")
        }
    }

    @Test(.onSQLite) func `SQL and control characters in the path, query and headers of GET requests change nothing`()
        async throws
    {
        let bench = try await ServerBench()
        _ = try await bench.post([bench.period("1"), bench.purchase("2")])
        let before = try bench.contents()
        let secrets = try Self.secrets(of: bench)
        let reads = bench.service.endpoints.filter { $0.method == .get && $0.id != "streamEvents" }
        #expect(reads.count > 8)
        for word in Self.words {
            for endpoint in reads {
                let path = endpoint.path.replacing(/\{[a-z]+\}/, with: Self.encoded(word))
                let queries = ["", "?query=", "?cursor=", "?limit=", "?nonce=", "?state=", "?"].map { query in
                    query.isEmpty ? "" : query + Self.encoded(word)
                }
                for query in queries {
                    let reply = try await bench.send(.get, path + query, as: .secret)
                    Self.check(reply, "\(endpoint.id) \(word.prefix(20).debugDescription) \(query.prefix(8))", secrets)
                }
            }
            for name in ["Souk-Environment", "Souk-Customer-Token", "If-None-Match", "traceparent", "Authorization"] {
                let key: ServerBench.Key = name == "Authorization" ? .none : .public
                let reply = try await bench.send(.get, "/v1/customers/anna", as: key, headers: [name: word])
                Self.check(reply, "\(name) \(word.prefix(20).debugDescription)", secrets)
            }
        }
        #expect(try bench.contents() == before)
        #expect(bench.failures.withLock { $0 } == [])
        await bench.close()
    }

    @Test(.onSQLite)
    func `a control character in a path parameter of any endpoint or in a header is refused`()
        async throws
    {
        let bench = try await ServerBench()
        _ = try await bench.post([bench.period("1"), bench.purchase("2")])
        let before = try bench.contents()
        for character in ["%00", "%01", "a%00b", "%7F", "%1F", "%C2%85"] {
            for endpoint in bench.service.endpoints where endpoint.path.contains("{") {
                for match in endpoint.path.matches(of: /\{[a-z]+\}/) {
                    let path = endpoint.path.replacing(match.output, with: character)
                        .replacing(/\{[a-z]+\}/, with: "nobody")
                    let reply = try await bench.send(
                        endpoint.method, path, as: .secret, body: endpoint.method == .post ? .json([:]) : .empty)
                    #expect(reply.status == 400, "\(endpoint.id) \(path)")
                    #expect(reply.field == String(match.output.dropFirst().dropLast()), "\(endpoint.id) \(path)")
                }
            }
        }
        for word in ["\u{0}", "a\u{0}b", "a\u{1}", "\u{7F}"] {
            for name in ["Idempotency-Key", "Souk-Environment", "Souk-Customer-Token", "Authorization"] {
                let reply = try await bench.send(
                    .post, "/v1/customers/anna/grants", as: name == "Authorization" ? .none : .secret,
                    headers: [name: word], body: .json(["feature": "pro", "reason": "x"]))
                #expect([400, 401].contains(reply.status), "\(name): \(reply.status)")
            }
            let body: JSONValue = ["feature": .string(word), "reason": .string(word)]
            let reply = try await bench.send(.post, "/v1/customers/anna/grants", as: .secret, body: .json(body))
            #expect(reply.status < 500, "\(reply.status)")
        }
        #expect(try bench.contents()["fact"] == before["fact"] && bench.failures.withLock { $0 } == [])
        await bench.close()
    }

    @Test(.onSQLite)
    func `SQL and control characters in the strings of a body change no fact and no other customer's answer`()
        async throws
    {
        let bench = try await ServerBench()
        _ = try await bench.post([bench.period("1"), bench.purchase("2")])
        let (answer, facts) = (try await bench.get().bytes, try bench.contents()["fact"])
        let secrets = try Self.secrets(of: bench)
        let names = [
            "signedTransaction", "receipt", "feature", "reason", "until", "to", "originalTransactionID", "alias",
            "signedPayload", "userId", "code", "bundleID", "deviceID", "type", "id", "expiresIn", "lasts",
        ]
        let writes = bench.service.endpoints.filter { $0.method == .post }
        for word in Self.words {
            var body: JSONValue = [:]
            for name in names { body[name] = .string(word) }
            for endpoint in writes {
                let path = endpoint.path.replacingOccurrences(of: "{customer}", with: "victim")
                    .replacing(/\{[a-z]+\}/, with: Self.encoded(word))
                for body in [body, .array([.string(word)]), .string(word)] {
                    let reply = try await bench.send(.post, path, as: .secret, body: .json(body))
                    Self.check(reply, "\(endpoint.id) \(word.prefix(20).debugDescription)", secrets)
                }
            }
        }
        #expect(try bench.contents()["fact"] == facts)
        #expect(try await bench.get().bytes == answer)
        #expect(try bench.replay().differences == [])
        #expect(bench.failures.withLock { $0 } == [])
        await bench.close()
    }

    @Test(.onSQLite) func `a body that is too large, too deep or not JSON changes nothing at any endpoint`()
        async throws
    {
        let bench = try await ServerBench(configure: { $0.maximumBody = 64 << 10 })
        let before = try bench.contents()
        let secrets = try Self.secrets(of: bench)
        let bodies: [[UInt8]] = [
            [], Array("{".utf8), Array("\u{FEFF}{}".utf8), [0xFF, 0xFE, 0x00], Array("nul".utf8),
            Array("{\"feature\":1,\"feature\":2}".utf8), Array(String(repeating: "[", count: 20_000).utf8),
            Array("{\"reason\":\"\(String(repeating: "a", count: 70_000))\"}".utf8),
            Array("{\"signedTransactions\":[\(String(repeating: "\"a\",", count: 15_000))\"a\"]}".utf8),
        ]
        for endpoint in bench.service.endpoints.filter({ $0.method == .post }) {
            let path = endpoint.path.replacing(/\{[a-z]+\}/, with: "somebody")
            for body in bodies {
                let reply = try await bench.send(.post, path, as: .secret, body: .bytes(body))
                Self.check(reply, "\(endpoint.id), \(body.count) bytes", secrets)
            }
        }
        #expect(try bench.contents() == before)
        #expect(bench.failures.withLock { $0 } == [])
        await bench.close()
    }

    @Test(.onSQLite) func `data for another environment or app, or signed under another root, is not stored`()
        async throws
    {
        let bench = try await ServerBench(environments: [.production])
        let before = try bench.contents()
        let signed = [
            (try bench.purchase("1"), "environmentNotAccepted"),
            (
                try bench.purchase("1") {
                    $0.environment = .production; $0.bundleId = "com.example.stranger"
                }, "wrongBundle"
            ),
            (
                try bench.sign(
                    bench.purchasePayload("1") { $0.environment = .production }, by: ServerBench.foreignChain),
                "untrustedRoot"
            ),
        ]
        for (text, code) in signed {
            let reply = try await bench.post(text)
            #expect(reply.status == 422 && reply.code == code)
            #expect(!String(decoding: reply.bytes, as: UTF8.self).contains(text.prefix(60)))
        }
        #expect(try bench.contents()["fact"] == before["fact"] && bench.contents()["claim"] == before["claim"])
        #expect(bench.failures.withLock { $0 } == [])
        await bench.close()
    }
}

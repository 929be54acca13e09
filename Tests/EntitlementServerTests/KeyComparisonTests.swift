import HTTPCore
import Primitives
import SQLStorage
import StoreModel
import Testing

@testable import EntitlementServer

/// A client that guesses keys learns nothing from the answers and their timing.
@Suite struct KeyComparisonTests {
    /// Returns invalid keys, some of them similar to a valid one.
    private func wrongKeys(near key: String) -> [String] {
        func changed(at index: Int) -> String {
            var bytes = Array(key.utf8)
            bytes[index] = bytes[index] == UInt8(ascii: "x") ? UInt8(ascii: "y") : UInt8(ascii: "x")
            return String(decoding: bytes, as: UTF8.self)
        }
        let places = [0, "souk_secret_".utf8.count, key.utf8.count / 2, key.utf8.count - 1]
        return places.map(changed) + [key + "x", String(key.dropLast()), key.uppercased(), "x"]
            + [String(repeating: "x", count: key.utf8.count), String(repeating: "x", count: 600)]
    }

    /// Returns the parts of a response that do not depend on the request id.
    private func visibleParts(_ reply: ServerBench.Reply) -> [String] {
        let headers = reply.headers.fields.filter { $0.name != Authenticator.requestID }.map {
            "\($0.name): \($0.value)"
        }
        return ["\(reply.status)", String(decoding: reply.bytes, as: UTF8.self)] + headers
    }

    @Test func `every invalid key gets the same response, however close it is to a valid one`() async throws {
        let bench = try await ServerBench()
        _ = try await bench.post(bench.period("1"))
        let keys = try #require(bench.keys[ServerBench.app])
        let (revoked, formerKey) = try await APIKeys(database: bench.database).create(.secret, for: ServerBench.app)
        try await APIKeys(database: bench.database).revoke(revoked.id)
        let wrong = [keys.publicKey, keys.secretKey].flatMap(wrongKeys) + [formerKey]
        for (method, path) in [
            (HTTPRequest.Method.get, "/v1/customers/anna"), (.get, "/v1/customers/nobody"),
            (.post, "/v1/customers/anna/transactions"), (.get, "/v1/customers/anna/facts"), (.get, "/v1/events"),
            (.post, "/feature-provisioner/get-features"),
        ] {
            var answers: Set<[String]> = []
            for key in wrong {
                answers.insert(visibleParts(try await bench.send(method, path, as: .other("Bearer \(key)"))))
            }
            #expect(answers.count == 1 && answers.first?.first == "401", "\(path)")
        }
        await bench.close()
    }

    @Test func `a key is searched by its digest only, and an invalid key causes no other statement`() async throws {
        let box = RecorderBox()
        let bench = try await ServerBench(wrapping: box.wrap)
        let recorder = try #require(box.database)
        let key = try #require(bench.keys[ServerBench.app]).secretKey
        for tried in wrongKeys(near: key).filter({ $0.utf8.count <= 512 }) + [key] {
            recorder.reset()
            let reply = try await bench.send(.get, "/v1/customers/nobody/facts", as: .other("Bearer \(tried)"))
            #expect(reply.status == (tried == key ? 200 : 401))
            let search = try #require(recorder.statements.first)
            #expect(search.sql.contains("WHERE digest = ?1"))
            // The digests of two similar keys differ in about half of their bits, so the time of their comparison
            // reveals nothing about a key.
            #expect(search.values == [.blob(SHA256.hash(tried.utf8))])
            #expect(tried == key || recorder.statements.count == 1)
        }
        await bench.close()
    }

    @Test func `a customer token with any change in its code gets the same response`() async throws {
        let bench = try await ServerBench(configure: { $0.apps[0].requiresCustomerTokens = true })
        let issued = try await bench.send(.post, "/v1/customers/anna/tokens", as: .secret, body: .json([:]))
        let token = Array(try #require(issued.json["token"]?.stringValue).utf8)
        let code = try #require(token.firstIndex(of: UInt8(ascii: "."))) + 1
        var answers: Set<[String]> = []
        for index in code..<token.count {
            var changed = token
            // The last character has unused bits: this changes the used ones too.
            changed[index] = changed[index] == UInt8(ascii: "A") ? UInt8(ascii: "w") : UInt8(ascii: "A")
            let headers: HTTPHeaders = [Authenticator.customerToken: String(decoding: changed, as: UTF8.self)]
            answers.insert(visibleParts(try await bench.get(headers: headers)))
        }
        #expect(answers.count == 1 && answers.first?.first == "401")
        await bench.close()
    }
}

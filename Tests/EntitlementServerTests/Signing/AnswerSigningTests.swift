import BaseTestSupport
import Foundation
import HTTPCore
import Primitives
import SignedData
import StoreModel
import Testing

@testable import EntitlementServer

@Suite struct AnswerSigningTests {
    private let (current, next): (Ed25519.PrivateKey, Ed25519.PrivateKey)

    init() throws { (current, next) = (try .generate(), try .generate()) }

    private func bench() async throws -> ServerBench {
        try await ServerBench {
            $0.signingKeys = [AnswerSigningKey(current, id: "2026-11"), AnswerSigningKey(next, id: "2027-02")]
            $0.maximumBody = 5000
        }
    }

    /// Throws unless the answer to `target` is signed for `nonce`.
    private func verify(_ reply: ServerBench.Reply, _ target: String, nonce: String) throws {
        let field = try #require(reply.headers[SignedAnswer.signatureField])
        let signature = try #require(SignedAnswer.Signature(parsing: field))
        let date = try #require(reply.headers[SignedAnswer.dateField])
        let message = SignedAnswer.message(
            nonce: nonce, target: target, date: date, etag: reply.headers["ETag"], body: reply.bytes)
        let verifier = Ed25519AnswerVerifier(keys: ["2026-11": current.publicKey, "2027-02": next.publicKey])
        try verifier.verify(signature.bytes, of: message, keyID: signature.keyID)
    }

    @Test func `the signatures are those of OpenSSL`() throws {
        var random = SeededNumbers(state: 16)
        for length in [0, 1, 63, 64, 65, 250] + (0..<40).map({ _ in Int.random(in: 0...5000, using: &random) }) {
            let raw = (0..<32).map { _ in UInt8.random(in: 0...255, using: &random) }
            let message = (0..<length).map { _ in UInt8.random(in: 0...255, using: &random) }
            let key = try Ed25519.PrivateKey(raw: raw)
            let signature = AnswerSigningKey(key).signature(of: message)
            #expect(try signature == key.signature(of: message))
            #expect(key.publicKey.isValid(signature: signature, of: message))
        }
    }

    @Test func `an answer is signed if the request has a nonce`() async throws {
        let bench = try await bench()
        _ = try await bench.post(bench.purchase("1"))
        let target = "/v1/customers/anna?nonce=n-1%2B"
        let reply = try await bench.send(.get, target)
        #expect(reply.status == 200 && reply.wasReady)
        try verify(reply, target, nonce: "n-1+")
        #expect(throws: SignedDataError.self) { try verify(reply, target, nonce: "n-2") }
        #expect(throws: SignedDataError.self) { try verify(reply, "/v1/customers/ben?nonce=n-1%2B", nonce: "n-1+") }
        #expect(try await bench.get().headers[SignedAnswer.signatureField] == nil)
        await bench.close()
    }

    @Test func `the first key signs, and the date is the real time`() async throws {
        let bench = try await bench()
        bench.clock.advance(by: 86400)
        let reply = try await bench.send(.get, "/v1/customers/anna?nonce=n")
        #expect(reply.headers[SignedAnswer.signatureField]?.hasPrefix("keyid=\"2026-11\", ") == true)
        #expect(reply.headers[SignedAnswer.dateField] == RFC3339.string(from: bench.realClock.now()))
        await bench.close()
    }

    @Test func `a 304 response is signed with the ETag`() async throws {
        let bench = try await bench()
        _ = try await bench.post(bench.purchase("1"))
        let etag = try #require(try await bench.get().headers["ETag"])
        let target = "/v1/customers/anna?nonce=n"
        let reply = try await bench.send(.get, target, headers: ["If-None-Match": etag])
        #expect(reply.status == 304 && reply.headers["ETag"] == etag)
        try verify(reply, target, nonce: "n")
        await bench.close()
    }

    @Test func `refusals are signed`() async throws {
        let bench = try await bench()
        let asked: [(HTTPRequest.Method, String, ServerBench.Key, HTTPBody, Int)] = [
            (.get, "/v1/customers/anna?nonce=n", .none, .empty, 401),
            (.get, "/v1/customers/anna/facts?nonce=n", .public, .empty, 403),
            (.get, "/v1/customers/%0A?nonce=n", .public, .empty, 400),
            (.get, "/v1/nowhere?nonce=n", .public, .empty, 404),
            (.put, "/v1/customers/anna?nonce=n", .public, .empty, 405),
            (.post, "/v1/customers/anna/transactions?nonce=n", .public, .text("{"), 400),
            (.post, "/v1/customers/anna/transactions?nonce=n", .public, .bytes(.init(repeating: 0, count: 6000)), 413),
            (
                .post, "/v1/customers/anna/transactions?nonce=n", .public, .json(["signedTransaction": "x"]), 422
            ),
        ]
        for (method, target, key, body, status) in asked {
            let reply = try await bench.send(method, target, as: key, body: body)
            #expect(reply.status == status)
            try verify(reply, target, nonce: "n")
        }
        await bench.close()
    }

    @Test func `an acknowledgement is signed, and so is its repetition`() async throws {
        let bench = try await bench()
        let body = HTTPBody.json(["signedTransaction": .string(try bench.purchase("1"))])
        for nonce in ["first", "second"] {
            let target = "/v1/customers/anna/transactions?nonce=\(nonce)"
            let reply = try await bench.send(.post, target, headers: ["Idempotency-Key": "k"], body: body)
            #expect(reply.acknowledged == ["1"])
            try verify(reply, target, nonce: nonce)
        }
        #expect(try bench.count("fact") == 1)
        await bench.close()
    }

    @Test(arguments: ["", "%0A", "two%20words", String(repeating: "n", count: 129)])
    func `a nonce that cannot be signed is refused, and nothing is done`(nonce: String) async throws {
        let bench = try await bench()
        let reply = try await bench.send(
            .post, "/v1/customers/anna/transactions?nonce=\(nonce)",
            body: .json(["signedTransaction": .string(try bench.purchase("1"))]))
        #expect(reply.status == 400 && reply.field == "nonce")
        #expect(reply.headers[SignedAnswer.signatureField] == nil)
        #expect(try bench.count("fact") == 0)
        await bench.close()
    }

    @Test func `a request that was changed on the way gets a signed refusal, and nothing is done`() async throws {
        let bench = try await bench()
        let body = HTTPBody.json(["signedTransaction": .string(try bench.purchase("1"))])
        let path = "/v1/customers/anna/transactions?nonce=n&asked="
        let bytes = try #require(body.buffered)
        for (environment, sent, expected) in [
            (nil, bytes + [0x20], 400), ("sandbox", bytes, 400), (nil, [], 400), (nil, bytes, 200),
        ] as [(String?, [UInt8], Int)] {
            let target = path + SignedAnswer.requestDigest(environment: nil, body: bytes)
            let reply = try await bench.send(
                .post, target, headers: environment.map { ["Souk-Environment": $0] } ?? [:], body: .bytes(sent))
            #expect(reply.status == expected && (expected == 200 || reply.field == "asked"))
            try verify(reply, target, nonce: "n")
            #expect(try bench.count("fact") == (expected == 200 ? 1 : 0))
        }
        await bench.close()
    }

    @Test func `a server without a signing key refuses a nonce`() async throws {
        let bench = try await ServerBench()
        let reply = try await bench.send(.get, "/v1/customers/anna?nonce=n")
        #expect(reply.status == 501 && reply.code == "no_signing_key" && reply.field == "nonce")
        #expect(try await bench.send(.get, "/v1/signing-keys", as: .none).json == ["keys": []])
        await bench.close()
    }

    @Test func `the public keys are listed, the one in use first`() async throws {
        let bench = try await bench()
        let reply = try await bench.send(.get, "/v1/signing-keys", as: .none)
        let answer = try WireJSON.decode(SigningKeysAnswer.self, from: reply.bytes)
        #expect(
            answer.keys.map(\.id) == ["2026-11", "2027-02"] && answer.keys.allSatisfy { $0.algorithm == "ed25519" })
        #expect(answer.keys.map { Base64.decode($0.publicKey) } == [current.publicKey.raw, next.publicKey.raw])
        await bench.close()
    }

    @Test func `the default id of a key is derived from the key`() throws {
        #expect(AnswerSigningKey(current).id == AnswerSigningKey(try .init(raw: current.raw)).id)
        #expect(AnswerSigningKey(current).id != AnswerSigningKey(next).id)
        var text = ""
        dump(AnswerSigningKey(current), to: &text)
        #expect(!text.contains("\(current.raw[0]),") && "\(AnswerSigningKey(current, id: "a"))" == "signing key a")
    }

    @Test(arguments: ["", "a\"b", "a b", "ä"])
    func `a key id that cannot be part of a header is refused`(id: String) async throws {
        await #expect(throws: EntitlementServerError(.invalidConfiguration, "")) {
            _ = try await ServerBench { $0.signingKeys = [AnswerSigningKey(current, id: id)] }
        }
    }

    @Test func `two keys with the same id are refused`() async throws {
        await #expect(throws: EntitlementServerError(.invalidConfiguration, "")) {
            _ = try await ServerBench {
                $0.signingKeys = [AnswerSigningKey(current, id: "a"), AnswerSigningKey(next, id: "a")]
            }
        }
    }
}

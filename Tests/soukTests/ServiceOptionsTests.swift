import BaseTestSupport
import CurlTransport
import Foundation
import HTTPCore
import NetworkTestSupport
import Primitives
import SignedData
import StoreModel
import Testing

@testable import EntitlementServer

/// The options of `souk serve` for signatures, limits, logs, metrics and webhooks.
@Suite struct ServiceOptionsTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private func serve(_ options: String...) async throws -> SoukService {
        try await SoukService(
            ["serve", "--database", "sqlite:" + folder.file("ledger.sqlite"), "--bundle-id", "com.example.darkroom"]
                + options)
    }

    private func get(_ url: String, key: String? = nil) async throws -> HTTPResponse {
        var headers: HTTPHeaders = [:]
        if let key { headers.add("Authorization", "Bearer \(key)") }
        return try await CurlTransport.platformDefault().send(HTTPRequest(method: .get, url: url, headers: headers))
    }

    private func file(_ name: String, _ text: String) throws -> String {
        try Data(text.utf8).write(to: URL(fileURLWithPath: folder.file(name)))
        return folder.file(name)
    }

    @Test func `answers are signed with the key that souk made`() async throws {
        let path = folder.file("signing.pem")
        #expect(try await SoukExecutable.run(["keys", "create", "--signing", path, "--json"]).status == 0)
        let server = try await serve("--signing-key", path)
        let key = try #require(server.greeting["publicKey"]?.stringValue)
        let target = "/v1/customers/anna?nonce=n"
        let answer = try await get(server.url + target, key: key)
        let body = try await answer.body.collect(upTo: 1 << 20)
        let field = try #require(answer.headers[SignedAnswer.signatureField])
        let signature = try #require(SignedAnswer.Signature(parsing: field))
        let message = SignedAnswer.message(
            nonce: "n", target: target, date: try #require(answer.headers[SignedAnswer.dateField]),
            etag: answer.headers["ETag"], body: body)
        let text = try String(contentsOfFile: path, encoding: .utf8)
        let signer = try Ed25519.PrivateKey(Array(text.utf8))
        try Ed25519AnswerVerifier(keys: [AnswerSigningKey(signer).id: signer.publicKey]).verify(
            signature.bytes, of: message, keyID: signature.keyID)
        #expect(await server.stop() == 0)
    }

    @Test func `with --metrics-port, metrics are served only at that port`() async throws {
        let server = try await serve("--metrics-port", "0")
        let url = try #require(server.greeting["metrics"]?.stringValue)
        let metrics = try await get(url)
        #expect(metrics.status == 200 && metrics.headers["Content-Type"]?.hasPrefix("text/plain") == true)
        #expect(try await get(server.url + "/metrics").status == 404)
        #expect(await server.stop() == 0)
    }

    @Test func `a request over the rate limit of its key is refused`() async throws {
        let server = try await serve("--rate-limit", "0.001:1")
        let key = try #require(server.greeting["publicKey"]?.stringValue)
        #expect(try await get(server.url + "/v1/customers/anna", key: key).status == 200)
        #expect(try await get(server.url + "/v1/customers/anna", key: key).status == 429)
        #expect(await server.stop() == 0)
    }

    @Test func `events are posted to the webhook, signed with the secret of the file`() async throws {
        let received = CallLog<(header: String?, body: [UInt8])>()
        let receiver = AnyHTTPHandler { request in
            received.record((request.headers[WebhookSignature.field], request.body.buffered ?? []))
            return .ready(HTTPResponse(status: 204))
        }
        let secret = "0123456789abcdef0123456789abcdef"
        try await withLoopbackServer(receiver) { url in
            let server = try await serve(
                "--webhook", url + "/souk", "--webhook-secret", try file("secret", secret + "\n"))
            let path = try #require(server.greeting["secretKeyFile"]?.stringValue)
            let key = try String(contentsOfFile: path, encoding: .utf8).trimmingCharacters(in: .newlines)
            let grant = HTTPRequest(
                method: .post, url: server.url + "/v1/customers/anna/grants",
                headers: ["Authorization": "Bearer \(key)"], json: ["feature": "pro", "reason": "support"])
            #expect(try await CurlTransport.platformDefault().send(grant).status == 201)
            await received.wait { !$0.isEmpty }
            #expect(await server.stop() == 0)
        }
        let (header, body) = try #require(received.all.first)
        try WebhookSignature.check(header, of: body, at: Date(), secrets: [WebhookSecret(secret)])
        #expect(try JSONValue(parsing: body)["data"]?["customer"] == "anna")
    }

    @Test func `a client that listens to events does not prevent the server from stopping`() async throws {
        let server = try await serve()
        let path = try #require(server.greeting["secretKeyFile"]?.stringValue)
        let key = try String(contentsOfFile: path, encoding: .utf8).trimmingCharacters(in: .newlines)
        let answer = try await get(server.url + "/v1/events", key: key)
        guard case .stream(let stream) = answer.body else {
            Issue.record("events are no stream")
            return
        }
        #expect(try await stream.next() != nil)
        #expect(await server.stop() == 0)
        #expect(try await stream.next() == nil)
    }

    @Test(arguments: [
        (["--signing-key", "/nowhere"], "there is no such file"),
        (["--rate-limit", "0"], "--rate-limit is N or N:BURST"),
        (["--rate-limit", "1e-300:2"], "--rate-limit is at least 0.00001"),
        (["--rate-limit", "0.000009"], "--rate-limit is at least 0.00001"),
        (["--customer-rate-limit", "1e-20:2"], "--customer-rate-limit is at least 0.00001"),
        (["--rate-limit", "5:0"], "--rate-limit is N or N:BURST"), (["--log", "all"], "--log is refusals, requests"),
        (["--answer-memory", "-1"], "--answer-memory is a whole number from 0 to"),
        (["--webhook", "http://a/"], "at least one --webhook-secret"),
        (["--webhook-secret", "x"], "--webhook-secret goes with --webhook"),
    ])
    func `invalid options are reported before anything is created`(options: [String], sentence: String) async throws {
        let ledger = folder.file("untouched.sqlite")
        let outcome = try await SoukExecutable.run(
            ["serve", "--database", "sqlite:" + ledger, "--bundle-id", "com.example.darkroom", "--stop-with-parent"]
                + options)
        #expect(outcome.status == 2 && outcome.errors.contains(sentence), "\(outcome.errors)")
        #expect(!FileManager.default.fileExists(atPath: ledger))
    }
}

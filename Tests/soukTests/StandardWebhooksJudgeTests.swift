import BaseTestSupport
import CurlTransport
import Foundation
import HTTPCore
import HostTestSupport
import NetworkTestSupport
import Primitives
import Testing

/// The library of Standard Webhooks verifies what `souk serve` posts.
@Suite(.outsideJudge(OutsideJudge.python != nil, "SOUK_PYTHON names no interpreter with standardwebhooks"))
struct StandardWebhooksJudgeTests {
    private static let secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
    private static let former = "a secret without the prefix"

    /// A webhook as it arrived.
    private struct Received: Sendable {
        var headers: [String: String]
        var body: String

        init(_ request: HTTPRequest) {
            let fields = request.headers.fields.map { ($0.name.lowercased(), $0.value) }
            headers = Dictionary(fields, uniquingKeysWith: { $1 })
            body = String(decoding: request.body.buffered ?? [], as: UTF8.self)
        }

        func verdict(_ secret: String) async throws -> ChildProgram.Outcome {
            try await OutsideJudge.judge(
                "standard_webhooks.py",
                [
                    "secret": .string(secret), "body": .string(body),
                    "headers": .object(JSONMembers(headers.map { ($0.key, JSONValue.string($0.value)) })),
                ])
        }
    }

    /// Returns what a server with this configuration posts after a grant.
    private func received(_ settings: (_ url: String, _ secrets: JSONValue) -> JSONValue) async throws -> Received {
        let folder = try TemporaryFolder()
        let requests = CallLog<Received>()
        let receiver = AnyHTTPHandler { request in
            requests.record(Received(request))
            return .ready(HTTPResponse(status: 204))
        }
        try await withLoopbackServer(receiver) { url in
            let secrets = [
                try folder.write("secret", Self.secret + "\n"), try folder.write("former", Self.former + "\n"),
            ]
            let file = try folder.write(
                "serve.json", settings(url + "/souk", .array(secrets.map { .string($0) })).text())
            let server = try await SoukService([
                "serve", "--database", "sqlite:" + folder.file("ledger.sqlite"), "--bundle-id",
                "com.example.darkroom", "--config", file,
            ])
            let path = try #require(server.greeting["secretKeyFile"]?.stringValue)
            let key = try String(contentsOfFile: path, encoding: .utf8).trimmingCharacters(in: .newlines)
            let grant = HTTPRequest(
                method: .post, url: server.url + "/v1/customers/anna/grants",
                headers: ["Authorization": "Bearer \(key)"], json: ["feature": "pro", "reason": "Größe €"])
            #expect(try await CurlTransport.platformDefault().send(grant).status == 201)
            await requests.wait { !$0.isEmpty }
            #expect(await server.stop() == 0)
        }
        return try #require(requests.all.first)
    }

    private static func webhook(_ url: String, _ secrets: JSONValue) -> JSONValue {
        [
            "webhooks": [
                ["name": "crm", "bundleId": "com.example.darkroom", "url": .string(url), "secretFiles": secrets]
            ]
        ]
    }

    @Test func `a batch of events is verified and parsed`() async throws {
        let received = try await received { url, secrets in
            [
                "webhooks": [
                    [
                        "name": "log", "bundleId": "com.example.darkroom", "url": .string(url), "secretFiles": secrets,
                        "batchSize": 100,
                    ]
                ]
            ]
        }
        let verdict = try await received.verdict(Self.secret)
        #expect(verdict.status == 0, "\(verdict.output)\(verdict.errors)")
        #expect(verdict.json?["content"]?[0]?["data"]?["customer"] == "anna")
        #expect(received.headers["webhook-id"] == "1-1")
    }

    @Test func `a delivery is verified with each secret, and is refused if anything in it was changed`() async throws {
        let received = try await received(Self.webhook)
        let encoded = "whsec_" + Data(Self.former.utf8).base64EncodedString()
        for secret in [Self.secret, encoded] {
            let verdict = try await received.verdict(secret)
            #expect(verdict.status == 0, "\(verdict.output)\(verdict.errors)")
            #expect(verdict.json?["content"]?["data"]?["customer"] == "anna")
            #expect(verdict.json?["content"]?["id"]?.stringValue == received.headers["webhook-id"])
        }
        func problem(_ secret: String = Self.secret, _ change: (inout Received) -> Void = { _ in }) async throws
            -> String?
        {
            var copy = received
            change(&copy)
            let verdict = try await copy.verdict(secret)
            #expect(verdict.status == 1, "\(verdict.output)\(verdict.errors)")
            return verdict.json?["problem"]?.stringValue
        }
        let time = try #require(received.headers["webhook-timestamp"].flatMap { Int($0) })
        let mismatch = "No matching signature found"
        #expect(try await problem { $0.body += " " } == mismatch)
        #expect(try await problem { $0.headers["webhook-id"]? += "0" } == mismatch)
        #expect(try await problem { $0.headers["webhook-timestamp"] = String(time - 1) } == mismatch)
        #expect(
            try await problem { $0.headers["webhook-timestamp"] = String(time - 400) } == "Message timestamp too old")
        #expect(try await problem("whsec_" + Data(repeating: 7, count: 32).base64EncodedString()) == mismatch)
        #expect(try await problem { $0.headers["webhook-signature"] = nil } == "Missing required headers")
    }
}

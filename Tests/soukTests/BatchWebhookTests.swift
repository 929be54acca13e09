import BaseTestSupport
import CurlTransport
import Foundation
import HTTPCore
import HostTestSupport
import NetworkTestSupport
import Primitives
import Testing

/// A server that posts batches of events, as a process.
@Suite struct BatchWebhookTests {
    private static let secret = "0123456789abcdef0123456789abcdef"

    @Test
    func `a batch is posted again after failures and a restart, redirects are not followed, and no secret is logged`()
        async throws
    {
        let folder = try TemporaryFolder()
        let requests = CallLog<(path: String, ids: [String])>()
        let receiver = AnyHTTPHandler { request in
            let events = (try? JSONValue(parsing: request.body.buffered ?? []))?.arrayValue ?? []
            let path = request.url
            requests.record((path, events.compactMap { $0["id"]?.stringValue }))
            switch requests.all.count {
            case 1: return .ready(HTTPResponse(status: 307, headers: ["Location": "/elsewhere?stolen"]))
            default: return .ready(HTTPResponse(status: 204))
            }
        }
        var log = ""
        try await withLoopbackServer(receiver) { url in
            let secretFile = try folder.write("secret", Self.secret + "\n")
            let target = url.replacingOccurrences(of: "http://", with: "http://user:hidden-password@")
            let settings: JSONValue = [
                "webhooks": [
                    [
                        "name": "log", "bundleId": "com.example.darkroom", "batchSize": 10,
                        "url": .string(target + "/log?token=hidden-token"), "secretFiles": [.string(secretFile)],
                    ]
                ]
            ]
            let file = try folder.write("serve.json", settings.text())
            let words = [
                "serve", "--database", "sqlite:" + folder.file("ledger.sqlite"), "--bundle-id",
                "com.example.darkroom", "--config", file, "--log", "requests",
            ]
            for start in 0..<2 {
                let server = try ChildProgram(
                    SoukExecutable.path(), words, output: .captured, errors: .captured)
                let greeting = try JSONValue(parsing: await server.output.firstLine() ?? "")
                if start == 0 {
                    let path = try #require(greeting["secretKeyFile"]?.stringValue)
                    let key = try String(contentsOfFile: path, encoding: .utf8).trimmingCharacters(in: .newlines)
                    let grant = HTTPRequest(
                        method: .post, url: (greeting["listening"]?.stringValue ?? "") + "/v1/customers/anna/grants",
                        headers: ["Authorization": "Bearer \(key)"], json: ["feature": "pro", "reason": "support"])
                    #expect(try await CurlTransport.platformDefault().send(grant).status == 201)
                    await requests.wait { !$0.isEmpty }
                    // A stop before the result is stored would delay the repetition by the lease of the attempt.
                    let metrics = HTTPRequest(
                        method: .get, url: (greeting["listening"]?.stringValue ?? "") + "/metrics")
                    try await until("the result of the attempt is stored") {
                        let response = try await CurlTransport.platformDefault().send(metrics)
                        let text = String(decoding: try await response.body.collect(upTo: 1 << 20), as: UTF8.self)
                        return text.contains(#"souk_webhook_attempts_total{outcome="failed"} 1"#)
                    }
                } else {
                    await requests.wait { $0.count >= 2 }
                }
                server.terminate()
                #expect(await server.end() == 0)
                log += await server.output.text() + server.errors.text()
            }
        }
        #expect(requests.all.map(\.ids) == [["1"], ["1"]])
        #expect(requests.all.allSatisfy { $0.path.contains("/log") && !$0.path.contains("elsewhere") })
        #expect(log.contains("createGrant") || log.contains("\"status\":201"))
        for secret in ["hidden", Self.secret] { #expect(!log.contains(secret), "\(log)") }
    }

    @Test(arguments: ["\"many\"", "0", "1001", "1.5", "true"])
    func `an invalid size of batches is refused with its place`(value: String) async throws {
        let folder = try TemporaryFolder()
        let secret = try folder.write("secret", Self.secret)
        let file = try folder.write(
            "serve.json",
            """
            {"webhooks": [{"name": "log", "bundleId": "com.example.darkroom", "url": "http://127.0.0.1:1/",
            "secretFiles": ["\(secret)"], "batchSize": \(value)}]}
            """)
        let outcome = try await SoukExecutable.run([
            "serve", "--check", "--database", "sqlite:" + folder.file("ledger.sqlite"), "--bundle-id",
            "com.example.darkroom", "--config", file,
        ])
        #expect(outcome.status == 2)
        #expect(
            outcome.errors.contains("/webhooks/0/batchSize: this should be a whole number")
                || outcome.errors.contains("The batches of the webhook log can have 1 to 1000 events"),
            "\(outcome.errors)")
    }
}

import Foundation
import HTTPCore
import Primitives
import SignedData
import Testing

@testable import EntitlementServer

@Suite struct StandardWebhooksTests {
    private static let secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"

    private func signature(_ id: String, _ body: String, at seconds: Double, _ secrets: [String]) throws -> String? {
        StandardWebhooks.headers(
            of: id, for: Array(body.utf8), at: Date(timeIntervalSince1970: seconds),
            secrets: try secrets.map { try WebhookSecret($0) }
        )[StandardWebhooks.signature]
    }

    @Test func `a signature equals that of the libraries' own tests`() throws {
        let signature = try signature(
            "msg_p5jXN8AQM9LWM0D4loKWxJek", #"{"test": 2432232314}"#, at: 1_614_265_330.9, [Self.secret])
        #expect(signature == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=")
    }

    @Test func `there is a signature for each secret, with spaces between them`() throws {
        let other = "a secret without a prefix"
        let encoded = "whsec_" + Data(other.utf8).base64EncodedString()
        let both = try signature("1", "{}", at: 1, [Self.secret, other])
        let single = try [Self.secret, encoded].map { try #require(try signature("1", "{}", at: 1, [$0])) }
        #expect(both == single.joined(separator: " "))
    }

    @Test(arguments: [
        "whsec_", "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLa!!", "whsec_" + Data(count: 23).base64EncodedString(),
        "whsec_" + Data(count: 65).base64EncodedString(), "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaS",
        "whsec_\u{301}MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
    ])
    func `a prefix without a key of 24 to 64 bytes is refused, and the error does not contain it`(text: String) {
        let error = #expect(throws: EntitlementServerError.self) { try WebhookSecret(text) }
        #expect(error?.code == .invalidConfiguration)
        #expect(text == "whsec_" || error?.reason.contains(text.dropFirst(6)) == false)
    }

    @Test func `each attempt has the id of the event and its own time, and the former header as before`() async throws {
        let receiver = WebhookReceiver { _, before in before == 0 ? 500 : 200 }
        let bench = try await ServerBench.withWebhook(receiver) {
            $0.webhooks[0].secrets = [try! WebhookSecret(Self.secret)]
        }
        _ = try await bench.grant()
        try await bench.deliver()
        let first = bench.realClock.now()
        bench.realClock.advance(by: 10)
        try await bench.deliver()
        #expect(receiver.all.count == 2)
        for (received, instant) in zip(receiver.all, [first, bench.realClock.now()]) {
            let headers = received.request.headers
            #expect(headers[StandardWebhooks.id] == received.id && received.id != nil)
            #expect(headers[StandardWebhooks.timestamp] == String(Int64(instant.timeIntervalSince1970)))
            let body = String(decoding: received.body, as: UTF8.self)
            let expected = try signature(
                received.id ?? "", body, at: instant.timeIntervalSince1970, [Self.secret])
            #expect(headers[StandardWebhooks.signature] == expected)
            let former = headers[WebhookSignature.field]
            try WebhookSignature.check(
                former, of: received.body, at: instant, secrets: [WebhookSecret(Self.secret)])
            // The key of the former header is the text of the secret, with its prefix.
            #expect(former?.hasSuffix(try textSignature(of: received.body, at: instant)) == true)
        }
        await bench.close()
    }

    private func textSignature(of body: [UInt8], at instant: Date) throws -> String {
        let code = try HMACSHA256(key: Array(Self.secret.utf8))
            .code(for: Array("\(Int64(instant.timeIntervalSince1970)).".utf8) + body)
        return ",v1=" + Hex.encode(code)
    }
}

import Foundation
import HTTPCore
import Primitives

extension Webhook {
    private static let timeout = Duration.seconds(15)
    /// The largest number of bytes of a response that are read. The content is ignored.
    private static let maximumResponseBytes = 64 << 10

    /// Posts JSON, signed with each secret, and returns the status of the response.
    ///
    /// - Parameters:
    ///   - id: The id of the message, which is the same in each attempt.
    ///   - instant: The real time of the attempt.
    /// - Throws: The errors of the transport.
    func post(_ body: [UInt8], id: String, at instant: Date, over transport: any HTTPTransport) async throws -> Int {
        var headers: HTTPHeaders = [
            "Content-Type": "application/json",
            WebhookSignature.field: WebhookSignature.header(for: body, at: instant, secrets: secrets),
        ]
        headers.fields += StandardWebhooks.headers(of: id, for: body, at: instant, secrets: secrets).fields
        var request = HTTPRequest(
            method: .post, url: url, headers: headers, body: .bytes(body), timeout: Self.timeout)
        let span = CurrentTrace.send(with: &request)
        var status: Int?
        defer { span?.end(self, status) }
        let response = try await transport.send(request)
        status = response.status
        // Reads the body, so that the connection can be reused.
        _ = try? await response.body.collect(upTo: Self.maximumResponseBytes)
        return response.status
    }
}

extension OpenSpan {
    /// Ends the span of an attempt. The URL may contain a secret, so the span does not have it. An attempt without a
    /// response has no status.
    fileprivate func end(_ webhook: Webhook, _ status: Int?) {
        var attributes: [(String, Span.Value)] = [
            ("http.request.method", .text("POST")), ("souk.app", .text(webhook.app.rawValue)),
            ("souk.webhook", .text(webhook.name)),
        ]
        if let status { attributes.append(("http.response.status_code", .number(status))) }
        end("POST webhook", attributes, hasFailed: status.map { !(200..<300).contains($0) } ?? true)
    }
}

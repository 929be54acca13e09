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
        let request = HTTPRequest(
            method: .post, url: url, headers: headers, body: .bytes(body), timeout: Self.timeout)
        let response = try await transport.send(request)
        // Reads the body, so that the connection can be reused.
        _ = try? await response.body.collect(upTo: Self.maximumResponseBytes)
        return response.status
    }
}

import Foundation
import HTTPCore

/// The endpoint GET `/v1/events`: a stream of the changes of an app's customers.
struct EventsRoute: Sendable {
    private static let lastEvent = "Last-Event-ID"

    let ledger: Ledger
    let changes: ChangeSignal
    /// The number of seconds without events after which a comment is sent.
    let keepAliveInterval: TimeInterval

    var endpoints: [Endpoint<ServerHandler>] {
        [
            Endpoint(
                .get, "/v1/events", "streamEvents", "Stream the changes of customers", tag: .changes,
                parameters: [
                    .init(Self.lastEvent, in: .header, .text, "the last event received; 0 for all that are kept")
                ], answer: .text, type: "text/event-stream", handler: .authorized(.secretKey, stream))
        ]
    }

    @Sendable private func stream(_ context: RequestContext) throws -> HTTPReply {
        let seen = try context.request.headers[Self.lastEvent].map { text in
            guard let sequence = Int64(digits: text) else {
                throw Refusal.invalid(Self.lastEvent, "should be the id of an event, or 0 for all that are kept")
            }
            return sequence
        }
        let stream = try EventStream(
            ledger: ledger, changes: changes, ledgerID: context.ledgerID, after: seen,
            keepAliveInterval: keepAliveInterval,
            for: context.authorization)
        return .ready(
            HTTPResponse(
                status: 200, headers: ["Content-Type": "text/event-stream", "Cache-Control": "no-store"],
                body: .stream(stream.body)))
    }
}

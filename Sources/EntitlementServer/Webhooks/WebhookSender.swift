import Foundation
import HTTPCore
import Primitives

/// Posts an app's events to one webhook: each at least once, those of a customer in their order, again with growing pauses
/// while the receiver fails, until the last attempt makes a delivery dead.
struct WebhookSender: Sendable {
    /// Attempts under way at once, each for another customer.
    private static let width = 16
    private static let timeout = Duration.seconds(15)
    /// As much of an answer as is read; what it says decides nothing.
    private static let maximumAnswer = 64 << 10

    let webhook: Webhook
    let queue: DeliveryQueue
    let transport: any HTTPTransport
    let backoff: Backoff
    /// Real time.
    let clock: any WallClock
    /// A number from 0 to 1.
    let random: @Sendable () -> Double
    let attempts: Counter

    /// Takes in what is new and attempts what is due. Returns whether there may be more to do at once.
    func step() async throws -> Bool {
        let isMoreNew = try await queue.takeIn(at: clock.now())
        let claimed = try await queue.claim(upTo: Self.width, at: clock.now())
        try await withThrowingTaskGroup(of: Void.self) { group in
            for delivery in claimed { group.addTask { try await attempt(delivery) } }
            try await group.waitForAll()
        }
        return isMoreNew || !claimed.isEmpty
    }

    private func attempt(_ delivery: DeliveryQueue.Claimed) async throws {
        let outcome: DeliveryQueue.Outcome
        do {
            let status = try await post(delivery.event)
            outcome = (200..<300).contains(status) ? .delivered(status: status) : failed(delivery, status: status)
        } catch {
            // The service stops: nothing is known, and the next one tries again.
            try Task.checkCancellation()
            outcome = failed(delivery, error: (error as? HTTPError)?.code.rawValue ?? "failed")
        }
        try await queue.finish(delivery, outcome, at: clock.now())
        switch outcome {
        case .delivered: attempts.add("delivered")
        case .failed(_, _, let again): attempts.add(again == nil ? "dead" : "failed")
        }
    }

    private func post(_ event: LedgerEvent) async throws -> Int {
        let body = event.wire
        let signature = WebhookSignature.header(for: body, at: clock.now(), secrets: webhook.secrets)
        let request = HTTPRequest(
            method: .post, url: webhook.url,
            headers: ["Content-Type": "application/json", WebhookSignature.field: signature], body: .bytes(body),
            timeout: Self.timeout)
        let response = try await transport.send(request)
        // Read, so that the connection can be used again; an answer too long for that is not wanted.
        _ = try? await response.body.collect(upTo: Self.maximumAnswer)
        return response.status
    }

    private func failed(
        _ delivery: DeliveryQueue.Claimed, status: Int? = nil, error: String? = nil
    ) -> DeliveryQueue.Outcome {
        let pause = backoff.pause(after: delivery.attempt, asked: nil, spread: random())
        return .failed(
            status: status, error: error, again: pause.map { clock.now().addingTimeInterval($0 / .seconds(1)) })
    }
}

import Foundation
import HTTPCore
import Primitives

/// Posts an app's events to one webhook in batches, in the order of the feed. A batch is repeated with growing pauses
/// until it is delivered, and later events wait.
struct BatchSender: Sendable {
    /// The webhook. A reload can change its URL and its secrets.
    let webhook: Locked<Webhook>
    let queue: BatchQueue
    let transport: any HTTPTransport
    let backoff: Backoff
    /// The clock of real time.
    let clock: any WallClock
    let storeClock: any WallClock
    /// Returns a number from 0 to 1.
    let random: @Sendable () -> Double
    let attempts: Counter

    /// Attempts the next batch, if it is due. Returns whether it was delivered, so that there may be more to do at once.
    func step() async throws -> Bool {
        guard let batch = try await queue.claim(at: clock.now(), storeNow: storeClock.now()) else { return false }
        let outcome = try await answer(to: batch)
        try await queue.finish(batch, outcome, at: clock.now())
        guard case .delivered = outcome else {
            attempts.add("failed")
            return false
        }
        attempts.add("delivered")
        return true
    }

    private func answer(to batch: BatchQueue.Claimed) async throws -> DeliveryQueue.Outcome {
        do {
            let webhook = webhook.withLock(\.self)
            let status = try await webhook.post(batch.body, id: batch.id, at: clock.now(), over: transport)
            return (200..<300).contains(status) ? .delivered(status: status) : failed(batch, status: status)
        } catch {
            // If the service stops, the result is unknown, and the attempt is repeated after the next start.
            try Task.checkCancellation()
            return failed(batch, error: (error as? HTTPError)?.code.rawValue ?? "failed")
        }
    }

    private func failed(
        _ batch: BatchQueue.Claimed, status: Int? = nil, error: String? = nil
    ) -> DeliveryQueue.Outcome {
        let pause = backoff.pause(after: batch.attempt, asked: nil, spread: random()) ?? backoff.maximum
        return .failed(status: status, error: error, retryAt: clock.now().addingTimeInterval(pause / .seconds(1)))
    }
}

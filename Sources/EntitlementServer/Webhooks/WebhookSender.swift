import Foundation
import HTTPCore
import Primitives

/// Posts an app's events to one webhook, those of a customer in their order. A receiver can get an event more than
/// once. A failed delivery is repeated with growing pauses, and is dead after the last attempt. Damaged events are not
/// posted.
struct WebhookSender: Sendable {
    /// The number of concurrent attempts, each for another customer. Hanging attempts, which take more than a second,
    /// do not count. If more attempts than this number hang, the limit is the number of hanging attempts.
    private static let concurrentAttempts = 16
    /// The largest number of concurrent attempts, including hanging ones.
    private static let maximumAttempts = 512
    /// The interval of checks for due deliveries during attempts, in seconds.
    private static let recheck = 1.0

    /// The webhook. A reload can change its URL and its secrets.
    let webhook: Locked<Webhook>
    let queue: DeliveryQueue
    /// The signal of commits. After a commit deliveries may be due.
    let changes: ChangeSignal
    let transport: any HTTPTransport
    let backoff: Backoff
    /// The clock of real time.
    let clock: any WallClock
    /// Returns a number from 0 to 1.
    let random: @Sendable () -> Double
    let attempts: Counter

    private enum TaskResult: Sendable {
        case attempt(Result<Void, any Error>)
        case recheck
    }

    /// Creates deliveries of new events and attempts due ones. Returns whether there may be more to do at once.
    ///
    /// After finished attempts, further deliveries are claimed. So a hanging attempt does not delay the events of other
    /// customers.
    func step() async throws -> Bool {
        var isMoreNew = try await queue.enqueueEvents(at: clock.now())
        var claimed = try await queue.claim(upTo: Self.concurrentAttempts, at: clock.now())
        let hasBegun = !claimed.isEmpty
        try await withThrowingTaskGroup(of: TaskResult.self) { group in
            var (running, failure, isRecheckScheduled) = (0, nil as (any Error)?, false)
            var (hanging, hangingSince) = (0, changes.now)
            while true {
                for delivery in claimed {
                    group.addTask { .attempt(await Self.result { try await attempt(delivery) }) }
                }
                running += claimed.count
                claimed = []
                guard running > 0 else { break }
                if !isRecheckScheduled {
                    let listening = changes.listen()
                    group.addTask {
                        _ = await changes.wait(for: listening, upTo: Self.recheck)
                        return .recheck
                    }
                    isRecheckScheduled = true
                }
                // Grows with the hanging attempts, so that an event behind hundreds of them waits only for seconds.
                var limit: Int { max(Self.concurrentAttempts, hanging) }
                var free = 0
                switch try await group.next() {
                case .attempt(let result):
                    running -= 1
                    hanging = min(hanging, running)
                    free = running - hanging <= limit / 2 ? limit - (running - hanging) : 0
                    if case .failure(let error) = result { failure = failure ?? error }
                case .recheck, nil:
                    isRecheckScheduled = false
                    if changes.now - hangingSince >= .seconds(Self.recheck) {
                        (hanging, hangingSince) = (running, changes.now)
                    }
                    free = limit - (running - hanging)
                }
                free = min(free, Self.maximumAttempts - running)
                try Task.checkCancellation()
                guard failure == nil, free > 0 else { continue }
                isMoreNew = try await queue.enqueueEvents(at: clock.now())
                claimed = try await queue.claim(upTo: free, at: clock.now())
            }
            group.cancelAll()
            if let failure { throw failure }
        }
        return isMoreNew || hasBegun
    }

    private static func result(_ work: () async throws -> Void) async -> Result<Void, any Error> {
        do { return .success(try await work()) } catch { return .failure(error) }
    }

    private func attempt(_ delivery: DeliveryQueue.Claimed) async throws {
        let outcome: DeliveryQueue.Outcome
        if !delivery.event.isIntact {
            outcome = .failed(status: nil, error: "damaged", retryAt: nil)
        } else {
            outcome = try await answer(to: delivery)
        }
        try await queue.finish(delivery, outcome, at: clock.now())
        switch outcome {
        case .delivered: attempts.add("delivered")
        case .failed(_, _, let retryAt): attempts.add(retryAt == nil ? "dead" : "failed")
        }
    }

    private func answer(to delivery: DeliveryQueue.Claimed) async throws -> DeliveryQueue.Outcome {
        do {
            let event = delivery.event
            let webhook = webhook.withLock(\.self)
            let status = try await webhook.post(event.wire, id: event.id, at: clock.now(), over: transport)
            return (200..<300).contains(status) ? .delivered(status: status) : failed(delivery, status: status)
        } catch {
            // If the service stops, the result is unknown, and the attempt is repeated after the next start.
            try Task.checkCancellation()
            return failed(delivery, error: (error as? HTTPError)?.code.rawValue ?? "failed")
        }
    }

    private func failed(
        _ delivery: DeliveryQueue.Claimed, status: Int? = nil, error: String? = nil
    ) -> DeliveryQueue.Outcome {
        let pause = backoff.pause(after: delivery.attempt, asked: nil, spread: random())
        return .failed(
            status: status, error: error, retryAt: pause.map { clock.now().addingTimeInterval($0 / .seconds(1)) })
    }
}

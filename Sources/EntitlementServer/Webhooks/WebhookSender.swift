import Foundation
import HTTPCore
import Primitives

/// Posts an app's events to one webhook. Each event is posted at least once, and those of a customer in their order. A
/// failed delivery is repeated with growing pauses, and is dead after the last attempt.
struct WebhookSender: Sendable {
    /// The number of concurrent attempts, each for another customer, without those that hang for a second. It grows
    /// with the number of hanging ones.
    private static let width = 16
    /// The number of concurrent attempts, including hanging ones.
    private static let mostHanging = 512
    private static let timeout = Duration.seconds(15)
    /// The interval of checks for due deliveries during attempts, in seconds.
    private static let recheck = 1.0
    /// The part of a response that is read. Its content is ignored.
    private static let maximumAnswer = 64 << 10

    let webhook: Webhook
    let queue: DeliveryQueue
    /// The signal of commits, after which deliveries may be due.
    let changes: ChangeSignal
    let transport: any HTTPTransport
    let backoff: Backoff
    /// The clock of real time.
    let clock: any WallClock
    /// Returns a number from 0 to 1.
    let random: @Sendable () -> Double
    let attempts: Counter

    private enum Ended: Sendable {
        case attempt(Result<Void, any Error>)
        case recheck
    }

    /// Creates deliveries of new events and attempts due ones. Returns whether there may be more to do at once.
    ///
    /// Each finished attempt makes room for the next delivery. So a hanging attempt does not delay other customers'
    /// events, even new ones.
    func step() async throws -> Bool {
        var isMoreNew = try await queue.enqueueEvents(at: clock.now())
        var claimed = try await queue.claim(upTo: Self.width, at: clock.now())
        let hasBegun = !claimed.isEmpty
        try await withThrowingTaskGroup(of: Ended.self) { group in
            var (running, failure, isLooking) = (0, nil as (any Error)?, false)
            // Attempts that ran at the last mark, at most a second ago. They do not count, so hanging ones delay no
            // others.
            var (hanging, mark) = (0, changes.now)
            while true {
                for delivery in claimed {
                    group.addTask { .attempt(await Self.result { try await attempt(delivery) }) }
                }
                running += claimed.count
                claimed = []
                guard running > 0 else { break }
                if !isLooking {
                    let listening = changes.listen()
                    group.addTask {
                        _ = await changes.wait(for: listening, upTo: Self.recheck)
                        return .recheck
                    }
                    isLooking = true
                }
                // Grows with the hanging attempts, so that an event waits for seconds behind hundreds of them.
                var width: Int { max(Self.width, hanging) }
                var room = 0
                switch try await group.next() {
                case .attempt(let result):
                    running -= 1
                    hanging = min(hanging, running)
                    room = running - hanging <= width / 2 ? width - (running - hanging) : 0
                    if case .failure(let error) = result { failure = failure ?? error }
                case .recheck, nil:
                    isLooking = false
                    if changes.now - mark >= .seconds(Self.recheck) { (hanging, mark) = (running, changes.now) }
                    room = width - (running - hanging)
                }
                room = min(room, Self.mostHanging - running)
                try Task.checkCancellation()
                guard failure == nil, room > 0 else { continue }
                isMoreNew = try await queue.enqueueEvents(at: clock.now())
                claimed = try await queue.claim(upTo: room, at: clock.now())
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
        if !delivery.event.isWhole {
            outcome = .failed(status: nil, error: "damaged", again: nil)
        } else {
            outcome = try await answer(to: delivery)
        }
        try await queue.finish(delivery, outcome, at: clock.now())
        switch outcome {
        case .delivered: attempts.add("delivered")
        case .failed(_, _, let again): attempts.add(again == nil ? "dead" : "failed")
        }
    }

    private func answer(to delivery: DeliveryQueue.Claimed) async throws -> DeliveryQueue.Outcome {
        do {
            let status = try await post(delivery.event)
            return (200..<300).contains(status) ? .delivered(status: status) : failed(delivery, status: status)
        } catch {
            // The service stops: the outcome is unknown, and the next start repeats the attempt.
            try Task.checkCancellation()
            return failed(delivery, error: (error as? HTTPError)?.code.rawValue ?? "failed")
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
        // Reads the body, so that the connection can be reused.
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

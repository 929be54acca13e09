import Foundation
import HTTPCore
import Primitives

/// Posts an app's events to one webhook: each at least once, those of a customer in their order, again with growing
/// pauses while the receiver fails, until the last attempt makes a delivery dead.
struct WebhookSender: Sendable {
    /// Attempts under way at once that have not waited for a second yet, each for another customer; more while more
    /// hang.
    private static let width = 16
    /// Attempts under way at once, however long they have waited.
    private static let mostHanging = 512
    private static let timeout = Duration.seconds(15)
    /// After how many seconds is looked for what is due, while attempts are under way.
    private static let recheck = 1.0
    /// As much of an answer as is read; what it says decides nothing.
    private static let maximumAnswer = 64 << 10

    let webhook: Webhook
    let queue: DeliveryQueue
    /// Commits, after which something may be due.
    let changes: ChangeSignal
    let transport: any HTTPTransport
    let backoff: Backoff
    /// Real time.
    let clock: any WallClock
    /// A number from 0 to 1.
    let random: @Sendable () -> Double
    let attempts: Counter

    private enum Ended: Sendable {
        case attempt(Result<Void, any Error>)
        case recheck
    }

    /// Takes in what is new and attempts what is due. Returns whether there may be more to do at once.
    ///
    /// Whoever answers makes room for the next: while one attempt hangs, the events of other customers are posted,
    /// those that are written meanwhile too.
    func step() async throws -> Bool {
        var isMoreNew = try await queue.takeIn(at: clock.now())
        var claimed = try await queue.claim(upTo: Self.width, at: clock.now())
        let hasBegun = !claimed.isEmpty
        try await withThrowingTaskGroup(of: Ended.self) { group in
            var (running, failure, isLooking) = (0, nil as (any Error)?, false)
            // Attempts that were under way at the last mark, a second ago at most. They make room, so that a receiver
            // which hangs for some customers keeps no others waiting.
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
                // As many more as hang, so that an event waits for seconds behind hundreds of them.
                var width: Int { max(Self.width, hanging) }
                var room = 0
                switch try await group.next() {
                case .attempt(let result):
                    running -= 1
                    hanging = min(hanging, running)
                    // Several at once, so that they share a transaction.
                    room = running - hanging <= width / 2 ? width - (running - hanging) : 0
                    if case .failure(let error) = result { failure = failure ?? error }
                case .recheck, nil:
                    isLooking = false
                    if changes.now - mark >= .seconds(Self.recheck) { (hanging, mark) = (running, changes.now) }
                    room = width - (running - hanging)
                }
                room = min(room, Self.mostHanging - running)
                try Task.checkCancellation()
                // After a failure of the ledger's what is under way ends, and nothing else begins.
                guard failure == nil, room > 0 else { continue }
                isMoreNew = try await queue.takeIn(at: clock.now())
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
            // The service stops: nothing is known, and the next one tries again.
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

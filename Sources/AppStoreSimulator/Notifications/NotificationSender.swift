import AppStorePayloads
import Foundation
import Primitives
import StoreKitAdapter
import StoreModel

/// Sends due notifications to the app's server while the store is open. Notifications about one purchase have one lane
/// and are sent one after another. Up to `maximumAttempts` lanes are sent at the same time.
///
/// Each attempt is stored before it is made, with the instant of the next one, and its result afterwards. If the store
/// is killed in between, no notification is lost or sent more often than the schedule allows.
final class NotificationSender: Sendable {
    /// The maximum number of concurrent attempts.
    static let maximumAttempts = 8
    /// The seconds of real time before a failed write to the database is repeated.
    private static let pause = 1.0

    private struct FinishedAttempt: Sendable {
        var attempt: SendAttempt
        var result: AppStoreServerAPI.SendAttemptResult
    }

    private struct Batch: Sendable {
        var url: String?
        /// Whether the store decides refund requests itself.
        var decidesRefunds = false
        var attempts: [SendAttempt] = []
        /// The virtual instant of the next batch.
        var next: Date?
    }

    private let store: SimulatedAppStore
    private let delivery: NotificationDelivery
    /// The finished attempts whose results are not stored yet.
    private let finished = Locked<[FinishedAttempt]>([])

    init(_ store: SimulatedAppStore, _ delivery: NotificationDelivery) {
        self.store = store
        self.delivery = delivery
    }

    /// Sends notifications until the store closes its signal. Then cancels the attempts in progress, which still count.
    func run() async {
        let (signal, base) = (store.signal, store.configuration.baseClock)
        await withDiscardingTaskGroup { group in
            var busyLanes: Set<Int64> = []
            while !signal.isClosed {
                let mark = signal.mark()
                var wake: Date?
                do {
                    let batch = try await nextBatch(&busyLanes)
                    if let url = batch.url {
                        for attempt in batch.attempts { group.addTask { await self.send(attempt, to: url) } }
                    }
                    let nextRefund = batch.decidesRefunds ? try await store.decideOverdueRefunds() : nil
                    let next = [batch.next, nextRefund].compactMap(\.self).min()
                    wake = next.flatMap { store.virtualClock.anchor.base(at: $0.nextWholeMillisecond) }
                } catch {
                    wake = base.now().addingTimeInterval(Self.pause)
                }
                await signal.wait(for: SimulatedAppStore.notifications, since: mark, until: wake, on: base)
            }
            group.cancelAll()
        }
        let unsaved = finished.withLock { $0 }
        // After a failure here, `endLostAttempts` ends the attempts when the store is opened again.
        try? await store.database.write { [clock = store.virtualClock] sql in
            let db = SimulatorDatabase(sql)
            try Self.save(unsaved, SendingRules(try db.settings()), db, at: try db.now(clock))
        }
    }

    private func send(_ attempt: SendAttempt, to url: String) async {
        let result: AppStoreServerAPI.SendAttemptResult
        do { result = try await delivery.send(attempt.signedPayload, to: url) } catch { result = .other }
        finished.withLock { $0.append(FinishedAttempt(attempt: attempt, result: result)) }
        store.signal.raise([SimulatedAppStore.notifications])
    }

    /// Writes the notifications that are due, and stores the results of finished attempts and the start of new ones. One
    /// commit does all of it, unless too many notifications are due.
    private func nextBatch(_ busyLanes: inout Set<Int64>) async throws -> Batch {
        let finished = self.finished.withLock { $0 }
        let stillBusyLanes = busyLanes.subtracting(finished.map(\.attempt.lane))
        var (nextChange, batch) = try await store.writeDueNotifications { [signer = store.signer] db, settings, now in
            let rules = SendingRules(settings)
            try Self.save(finished, rules, db, at: now)
            let decidesRefunds = RefundDecider(settings) != nil
            guard let url = rules.url else { return Batch(decidesRefunds: decidesRefunds) }
            let attempts = try db.beginAttempts(
                rules, outside: stillBusyLanes, upTo: Self.maximumAttempts, signer: signer, at: now)
            return Batch(
                url: url, decidesRefunds: decidesRefunds, attempts: attempts, next: try db.nextRetry(after: now))
        }
        self.finished.withLock { $0.removeFirst(finished.count) }
        busyLanes = stillBusyLanes.union(batch.attempts.map(\.lane))
        if !finished.isEmpty { store.signal.raise([SimulatedAppStore.delivered]) }
        batch.next = [batch.next, nextChange].compactMap(\.self).min()
        return batch
    }

    private static func save(
        _ finished: [FinishedAttempt], _ rules: SendingRules, _ db: SimulatorDatabase, at now: Date
    ) throws {
        for ended in finished { try db.end(ended.attempt, ended.result, rules, at: now) }
    }
}

extension Date {
    /// The instant rounded up to the next millisecond, because clocks are read in whole milliseconds.
    fileprivate var nextWholeMillisecond: Date {
        let whole = wholeMilliseconds
        return whole < self ? whole.addingTimeInterval(0.001) : whole
    }
}

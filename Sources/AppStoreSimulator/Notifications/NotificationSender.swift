import AppStorePayloads
import Foundation
import Primitives
import StoreKitAdapter
import StoreModel

/// Sends due notifications to the app's server while the store is open. Notifications about one purchase are sent one
/// after another, those about different purchases at the same time.
///
/// Each attempt is stored before it is made, with the instant of the next one, and its result afterwards. If the store
/// is killed in between, no notification is lost or sent more often than the schedule allows.
final class NotificationSender: Sendable {
    /// The maximum number of concurrent attempts.
    static let width = 8
    /// The seconds of real time until a failed write to the database is retried.
    private static let pause = 1.0

    private struct Ended: Sendable {
        var sending: Sending
        var result: AppStoreServerAPI.SendAttemptResult
    }

    private struct Batch: Sendable {
        var url: String?
        var sendings: [Sending] = []
        /// The virtual instant of the next batch.
        var next: Date?
    }

    private let store: SimulatedAppStore
    private let delivery: NotificationDelivery
    /// The attempts whose result is not stored yet.
    private let ended = Locked<[Ended]>([])

    init(_ store: SimulatedAppStore, _ delivery: NotificationDelivery) {
        self.store = store
        self.delivery = delivery
    }

    /// Sends until the store closes its signal. Attempts in progress are then cancelled, and count as attempts.
    func run() async {
        let (signal, base) = (store.signal, store.configuration.baseClock)
        await withDiscardingTaskGroup { group in
            var busy: Set<Int64> = []
            while !signal.isClosed {
                let mark = signal.mark()
                var wake: Date?
                do {
                    let batch = try await nextBatch(&busy)
                    if let url = batch.url {
                        for sending in batch.sendings { group.addTask { await self.send(sending, to: url) } }
                    }
                    wake = batch.next.flatMap { store.virtualClock.anchor.base(at: $0.nextWholeMillisecond) }
                } catch {
                    wake = base.now().addingTimeInterval(Self.pause)
                }
                await signal.wait(for: SimulatedAppStore.notifications, since: mark, until: wake, on: base)
            }
            group.cancelAll()
        }
        let left = ended.withLock { $0 }
        // After a failure here, `endLostSendings` gives them a result when the store is opened again.
        try? await store.database.write { [clock = store.virtualClock] sql in
            let db = SimulatorDatabase(sql)
            try Self.save(left, SendingRules(try db.settings()), db, at: try db.now(clock))
        }
    }

    private func send(_ sending: Sending, to url: String) async {
        let result: AppStoreServerAPI.SendAttemptResult
        do { result = try await delivery.send(sending.signedPayload, to: url) } catch { result = .other }
        ended.withLock { $0.append(Ended(sending: sending, result: result)) }
        store.signal.raise([SimulatedAppStore.notifications])
    }

    /// Stores the results of ended attempts and the start of new ones, in one commit.
    private func nextBatch(_ busy: inout Set<Int64>) async throws -> Batch {
        let nextChange = try await store.writeDueNotifications()
        let ended = self.ended.withLock { $0 }
        let stillBusy = busy.subtracting(ended.map(\.sending.lane))
        var batch = try await store.database.write { [signer = store.signer, clock = store.virtualClock] sql in
            let db = SimulatorDatabase(sql)
            let rules = SendingRules(try db.settings())
            let now = try db.now(clock)
            try Self.save(ended, rules, db, at: now)
            guard let url = rules.url else { return Batch() }
            let sendings = try db.beginSendings(rules, outside: stillBusy, upTo: Self.width, signer: signer, at: now)
            return Batch(url: url, sendings: sendings, next: try db.nextRetry(after: now))
        }
        self.ended.withLock { $0.removeFirst(ended.count) }
        busy = stillBusy.union(batch.sendings.map(\.lane))
        if !ended.isEmpty { store.signal.raise([SimulatedAppStore.delivered]) }
        batch.next = [batch.next, nextChange].compactMap(\.self).min()
        return batch
    }

    private static func save(_ ended: [Ended], _ rules: SendingRules, _ db: SimulatorDatabase, at now: Date) throws {
        for one in ended { try db.end(one.sending, one.result, rules, at: now) }
    }
}

extension Date {
    /// The instant rounded up to the next millisecond, because clocks are read in whole milliseconds.
    fileprivate var nextWholeMillisecond: Date {
        let whole = wholeMilliseconds
        return whole < self ? whole.addingTimeInterval(0.001) : whole
    }
}

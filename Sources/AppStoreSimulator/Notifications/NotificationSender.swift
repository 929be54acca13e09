import AppStorePayloads
import Foundation
import Primitives
import StoreKitAdapter
import StoreModel

/// Sends what is due to the app's server, for as long as its store is open: notifications about one purchase one after
/// another, those about different ones side by side.
///
/// A sending is written down before it is made, with the instant of the next, and its result afterwards: a store that is
/// killed in between forgets nothing, and sends nothing more often than the schedule says.
final class NotificationSender: Sendable {
    /// Sendings under way at once.
    static let width = 8
    /// Seconds of real time before books that could not be written are tried again.
    private static let pause = 1.0

    private struct Ended: Sendable {
        var sending: Sending
        var result: AppStoreServerAPI.SendAttemptResult
    }

    private struct Turn: Sendable {
        var url: String?
        var begun: [Sending] = []
        /// The virtual instant at which there is more to do.
        var next: Date?
    }

    private let store: SimulatedAppStore
    private let delivery: NotificationDelivery
    /// Sendings that have come to an end which is not written down yet.
    private let ended = Locked<[Ended]>([])

    init(_ store: SimulatedAppStore, _ delivery: NotificationDelivery) {
        self.store = store
        self.delivery = delivery
    }

    /// Returns when the store ends what waits. Sendings under way are then cancelled, and count as attempts.
    func run() async {
        let (signal, base) = (store.signal, store.configuration.baseClock)
        await withDiscardingTaskGroup { group in
            var busy: Set<Int64> = []
            while !signal.isClosed {
                let mark = signal.mark()
                var wake: Date?
                do {
                    let turn = try await turn(&busy)
                    if let url = turn.url {
                        for sending in turn.begun { group.addTask { await self.send(sending, to: url) } }
                    }
                    wake = turn.next.flatMap { store.virtualClock.anchor.base(at: $0.nextWholeMillisecond) }
                } catch {
                    wake = base.now().addingTimeInterval(Self.pause)
                }
                await signal.wait(for: SimulatedAppStore.notifications, since: mark, until: wake, on: base)
            }
            group.cancelAll()
        }
        let left = ended.withLock { $0 }
        // Where that fails, the next run finds them without a result.
        try? await store.database.write { [clock = store.virtualClock] sql in
            let db = SimulatorDatabase(sql)
            try Self.writeDown(left, SendingRules(try db.settings()), db, at: try db.now(clock))
        }
    }

    private func send(_ sending: Sending, to url: String) async {
        let result: AppStoreServerAPI.SendAttemptResult
        do { result = try await delivery.send(sending.signedPayload, to: url) } catch { result = .other }
        ended.withLock { $0.append(Ended(sending: sending, result: result)) }
        store.signal.raise([SimulatedAppStore.notifications])
    }

    /// Writes down what has ended and what is begun, in one commit.
    private func turn(_ busy: inout Set<Int64>) async throws -> Turn {
        let watched = try await store.watchTime()
        let ended = self.ended.withLock { $0 }
        let stillBusy = busy.subtracting(ended.map(\.sending.lane))
        var turn = try await store.database.write { [signer = store.signer, clock = store.virtualClock] sql in
            let db = SimulatorDatabase(sql)
            let rules = SendingRules(try db.settings())
            let now = try db.now(clock)
            try Self.writeDown(ended, rules, db, at: now)
            guard let url = rules.url else { return Turn() }
            let begun = try db.beginSendings(rules, outside: stillBusy, upTo: Self.width, signer: signer, at: now)
            return Turn(url: url, begun: begun, next: try db.nextRetry(after: now))
        }
        self.ended.withLock { $0.removeFirst(ended.count) }
        busy = stillBusy.union(turn.begun.map(\.lane))
        if !ended.isEmpty { store.signal.raise([SimulatedAppStore.delivered]) }
        turn.next = [turn.next, watched].compactMap(\.self).min()
        return turn
    }

    private static func writeDown(_ ended: [Ended], _ rules: SendingRules, _ db: SimulatorDatabase, at now: Date) throws
    {
        for one in ended { try db.end(one.sending, one.result, rules, at: now) }
    }
}

extension Date {
    /// Clocks are read in whole milliseconds: what is due in between is seen at the next.
    fileprivate var nextWholeMillisecond: Date {
        let whole = wholeMilliseconds
        return whole < self ? whole.addingTimeInterval(0.001) : whole
    }
}

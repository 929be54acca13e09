import AppStorePayloads
import Foundation
import GooglePlay
import HTTPCore
import Primitives
import SQLStorage
import SimulatorControl
import StoreModel

/// Sends the real-time developer notifications of Google Play while the store is open, as Cloud Pub/Sub pushes messages:
/// with an OIDC token, in no order, and again until the endpoint accepts them.
///
/// Each attempt is stored before it is made, with the instant of the next one. If the store is killed in between, the
/// message is sent again.
final class PlayNotificationSender: Sendable {
    private static let maximumAttempts = 8
    /// The seconds of real time before a failed write to the database is repeated.
    private static let pause = 1.0

    private struct FinishedAttempt: Sendable {
        var record: PlayNotificationRecord
        var result: String
        var isSuccess: Bool
    }

    private let store: SimulatedAppStore
    private let play: SimulatedGooglePlay
    private let transport: any HTTPTransport
    /// The finished attempts whose results are not stored yet.
    private let finished = Locked<[FinishedAttempt]>([])

    init(_ store: SimulatedAppStore, _ play: SimulatedGooglePlay, _ transport: any HTTPTransport) {
        self.store = store
        self.play = play
        self.transport = transport
    }

    /// Sends notifications until the store closes its signal. Then cancels the attempts in progress.
    func run() async {
        let (signal, base) = (store.signal, store.configuration.baseClock)
        await withDiscardingTaskGroup { group in
            var busy: Set<Int64> = []
            while !signal.isClosed {
                let mark = signal.mark()
                var wake: Date?
                do {
                    let nextChange = try await store.settleGooglePlay()
                    let (url, attempts, nextRetry) = try await nextBatch(&busy)
                    if let url {
                        for attempt in attempts { group.addTask { await self.send(attempt, to: url) } }
                    }
                    let next = [nextChange, nextRetry].compactMap(\.self).min()
                    wake = next.flatMap { store.virtualClock.anchor.base(at: $0.addingTimeInterval(0.001)) }
                } catch {
                    wake = base.now().addingTimeInterval(Self.pause)
                }
                await signal.wait(for: SimulatedAppStore.notifications, since: mark, until: wake, on: base)
            }
            group.cancelAll()
        }
    }

    /// Stores the results of finished attempts and the start of new ones, in one commit.
    private func nextBatch(
        _ busy: inout Set<Int64>
    ) async throws -> (url: String?, attempts: [PlayNotificationRecord], next: Date?) {
        let ended = finished.withLock { $0 }
        let stillBusy = busy.subtracting(ended.map(\.record.id))
        let batch = try await store.database.write { [store, play] sql in
            let records = try PlayDatabase(SimulatorDatabase(sql), play.catalogue.packageName)
            for attempt in ended { try records.end(attempt.record, attempt.result, isSuccess: attempt.isSuccess) }
            let now = try records.db.now(store.virtualClock)
            let url = try records.db.settings()[StoreSetting.playNotificationsURL.name]?.stringValue
            let attempts = try records.beginAttempts(outside: stillBusy, upTo: Self.maximumAttempts, at: now)
            return (records.notifies ? url : nil, attempts, try records.nextRetry(after: now))
        }
        finished.withLock { $0.removeFirst(ended.count) }
        busy = stillBusy.union(batch.1.map(\.id))
        if !ended.isEmpty { store.signal.raise([SimulatedAppStore.delivered]) }
        return batch
    }

    private func send(_ record: PlayNotificationRecord, to url: String) async {
        var result = "failed"
        var isSuccess = false
        do {
            let answer = try await transport.send(try request(record, to: url))
            _ = try? await answer.body.collect(upTo: NotificationDelivery.answerLimit)
            isSuccess = PlayDatabase.accepted.contains(answer.status)
            result = "\(answer.status)"
        } catch {
            result = AppStoreServerAPI.SendAttemptResult(error).rawValue
        }
        finished.withLock { $0.append(FinishedAttempt(record: record, result: result, isSuccess: isSuccess)) }
        store.signal.raise([SimulatedAppStore.notifications])
    }

    /// The push request. The token follows real time, and its audience is the URL.
    private func request(_ record: PlayNotificationRecord, to url: String) throws -> HTTPRequest {
        let push = try PubSubPush(
            record.notification, messageId: "\(record.id)", publishTime: record.at.wholeMilliseconds,
            subscription: SimulatedGooglePlay.subscription)
        let token = try PushToken(audience: url, email: SimulatedGooglePlay.pushEmail).signed(
            by: play.pushKey, keyID: play.pushKeyID, subject: SimulatedGooglePlay.pushSubject,
            at: store.configuration.baseClock.now())
        return HTTPRequest(
            method: .post, url: url,
            headers: ["Content-Type": "application/json", "Authorization": "Bearer \(token)"],
            body: .bytes(try WireJSON.encode(push)), timeout: store.configuration.notificationTimeout)
    }
}

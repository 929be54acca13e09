import BaseTestSupport
import Foundation
import HTTPCore
import NetworkTestSupport
import Primitives
import SignedData
import StoreKitAdapter
import StoreModel
import Testing

@testable import AppStoreSimulator

/// The times and the number of attempts of notifications.
@Suite struct NotificationSenderTests {
    private static let failed = "UNSUCCESSFUL_HTTP_RESPONSE_CODE"

    @Test func `an event is signed and sent without a call of deliverNotifications`() async throws {
        let receiver = Receiver()
        try await TestStore.notifying(receiver) { test in
            let bought = try await test.buy("coins")
            await receiver.arrivals(atLeast: 1)
            try await test.store.deliverNotifications()
            let arrival = try #require(receiver.arrivals.first)
            let verified = try test.verifier().notification(arrival.signedPayload)
            #expect(verified.payload.notificationType == .oneTimeCharge)
            #expect(verified.transaction?.payload.transactionId == bought.transactionID.rawValue)
            let reported = try test.only()
            #expect(reported.uuid == arrival.uuid && reported.signedPayload == arrival.signedPayload)
            #expect(reported.account == "anna" && reported.transactionID == bought.transactionID)
            #expect(reported.attempts == [.init(at: Fixtures.start, result: "SUCCESS")])
            #expect(reported.due == nil)
        }
    }

    @Test func `a notification arrives at a real server`() async throws {
        let count = Locked(0)
        let handler = AnyHTTPHandler { request in
            count.withLock { $0 += 1 }
            return .ready(HTTPResponse(status: request.path == "/apple" ? 204 : 404))
        }
        try await withLoopbackServer(handler) { url in
            try await TestStore.notifying(loopbackTransport(), at: url + "/apple") { test in
                try await test.buy("coins")
                try await test.buy("monthly")
                try await test.store.deliverNotifications()
                #expect(try test.results() == [["SUCCESS"], ["SUCCESS"]])
            }
        }
        #expect(count.withLock { $0 } == 2)
    }

    // MARK: - The schedule

    @Test func `a failed notification is retried after 1, 12, 24, 48 and 72 hours, and then not again`() async throws {
        let receiver = Receiver { _ in 500 }
        try await TestStore.notifying(receiver) { test in
            try await test.buy("coins")
            var expected: [Date] = []
            for hours in [0, 1, 12, 24, 48, 72] {
                if hours > 0 { try await test.store.advance(.init(seconds: Double(hours) * 3600 - 1)) }
                try await test.store.deliverNotifications()
                let early = try test.only()
                #expect(early.attempts.count == expected.count + (hours == 0 ? 1 : 0))
                if hours > 0 {
                    try await test.store.advance(.init(seconds: 1))
                    try await test.store.deliverNotifications()
                }
                expected.append((expected.last ?? Fixtures.start).addingTimeInterval(Double(hours) * 3600))
                #expect(try test.only().attempts.map(\.at) == expected)
            }
            #expect(try test.only().due == nil)
            try await test.advance(.years(1))
            #expect(try await test.store.nothingWaits())
            #expect(try test.only().attempts.map(\.result) == Array(repeating: Self.failed, count: 6))
        }
        #expect(receiver.arrivals.count == 6)
        #expect(Set(receiver.arrivals.map(\.signedPayload)).count == 1)
    }

    @Test func `a failed notification reports the instant of its retry`() async throws {
        try await TestStore.notifying(Receiver { _ in 500 }) { test in
            try await test.buy("coins")
            let next = Fixtures.start.addingTimeInterval(3600)
            let left = try await test.store.deliverNotifications()
            #expect(left.waiting == 1 && left.next == next)
            #expect(try test.only().due == next)
        }
    }

    @Test func `an advance over several retries makes one attempt, and the next retry follows from there`()
        async throws
    {
        let receiver = Receiver { _ in 500 }
        try await TestStore.notifying(receiver) { test in
            try await test.buy("coins")
            try await test.store.deliverNotifications()
            try await test.advance(.days(30))
            try await test.store.deliverNotifications()
            let landed = Fixtures.start.addingTimeInterval(30 * 86400)
            #expect(try test.only().attempts.map(\.at) == [Fixtures.start, landed])
            #expect(try test.only().due == landed.addingTimeInterval(12 * 3600))
        }
        #expect(receiver.arrivals.count == 2)
    }

    @Test func `success ends the retries, at the first attempt or a later one`() async throws {
        let receiver = Receiver { _ in 500 }
        try await TestStore.notifying(receiver) { test in
            try await test.buy("coins")
            try await test.store.deliverNotifications()
            receiver.answer { _ in 200 }
            try await test.buy("coins")
            for _ in 0..<5 {
                try await test.advance(.days(4))
                try await test.store.deliverNotifications()
            }
            #expect(try test.results() == [[Self.failed, "SUCCESS"], ["SUCCESS"]])
        }
        #expect(receiver.arrivals.count == 3)
    }

    @Test func `with the sandbox's schedule, a notification is sent once`() async throws {
        let receiver = Receiver { _ in 500 }
        try await TestStore.notifying(receiver) { test in
            try await test.set(.notificationRetries, "sandbox")
            try await test.buy("coins")
            #expect(try await test.store.nothingWaits())
            try await test.advance(.years(1))
            try await test.store.deliverNotifications()
            #expect(try test.results() == [[Self.failed]])
        }
        #expect(receiver.arrivals.count == 1)
    }

    @Test func `a receiver that is down for a day gets every notification later`() async throws {
        let receiver = Receiver { _ in throw HTTPError(.connectionFailed, "Down.") }
        try await TestStore.notifying(receiver) { test in
            for account in ["anna", "ben", "cleo"] as [AccountName] {
                try await test.buy("coins", account)
                try await test.buy("weekly", account)
            }
            for _ in 0..<24 {
                try await test.advance(.hour)
                try await test.store.deliverNotifications()
            }
            #expect(try test.results().allSatisfy { $0 == Array(repeating: "SOCKET_ISSUE", count: 3) })
            receiver.answer { _ in 200 }
            try await test.advance(.days(2))
            #expect(try await test.store.nothingWaits())
            #expect(try test.results().allSatisfy { $0.last == "SUCCESS" && $0.count == 4 })
        }
        #expect(receiver.arrivals.count == 6 * 4)
    }

    // MARK: - Time

    @Test func `on a running clock, a retry and a renewal are sent without a call of deliverNotifications`()
        async throws
    {
        let receiver = Receiver { _ in 500 }
        let base = ManualClock()
        try await TestStore.notifying(receiver, rate: .real, base: base) { test in
            try await test.buy("weekly")
            await receiver.arrivals(atLeast: 1)
            receiver.answer { _ in 200 }
            await base.waiters(until: base.now().addingTimeInterval(3600))
            base.advance(by: 3600)
            await receiver.arrivals(atLeast: 2)
            await base.waiters(until: base.now().addingTimeInterval(7 * 86400 - 3600))
            base.advance(by: 7 * 86400 - 3600)
            await receiver.arrivals(atLeast: 3)
        }
        #expect(receiver.arrivals.map(\.type) == ["SUBSCRIBED", "SUBSCRIBED", "DID_RENEW"])
    }

    @Test func `an advance of the clock sends the due notifications`() async throws {
        let receiver = Receiver()
        try await TestStore.notifying(receiver) { test in
            try await test.buy("weekly")
            try await test.advance(.weeks(1))
            await receiver.arrivals(atLeast: 2)
        }
        #expect(receiver.arrivals.map(\.type) == ["SUBSCRIBED", "DID_RENEW"])
    }

    // MARK: - Order and concurrency

    @Test func `notifications of a purchase are in order, eight purchases at a time`() async throws {
        let receiver = Receiver()
        receiver.answer { [unowned receiver] arrival in
            await receiver.arrivals(atLeast: NotificationSender.maximumAttempts)
            await letOthersRun(times: (Int(arrival.transaction?.suffix(1) ?? "") ?? 0) * 20)
            return 200
        }
        try await TestStore.notifying(receiver) { test in
            try await test.set(.notifySkippedTime, "all")
            for number in 0..<20 {
                try await test.buy("weekly", AccountName(unchecked: "account \(number)"))
            }
            try await test.advance(.months(3))
            try await test.store.deliverNotifications()
            let all = try test.store.notifications(limit: 1000)
            #expect(all.count == 20 * 13)
            let reported = Dictionary(grouping: all) { $0.originalTransactionID?.rawValue }.mapValues { $0.map(\.uuid) }
            let arrived = Dictionary(grouping: receiver.arrivals, by: \.original).mapValues { $0.map(\.uuid) }
            #expect(arrived == reported)
        }
        #expect(receiver.mostOpen == NotificationSender.maximumAttempts)
    }

    @Test func `a slow response for one purchase does not delay another purchase`() async throws {
        let gate = Gate()
        let receiver = Receiver { arrival in
            if arrival.type == "SUBSCRIBED" { await gate.wait() }
            return 200
        }
        try await TestStore.notifying(receiver) { test in
            try await test.buy("weekly")
            await receiver.arrivals(atLeast: 1)
            try await test.store.cancel("weekly", for: "anna")
            for count in 2...4 {
                try await test.buy("coins")
                await receiver.arrivals(atLeast: count)
            }
            #expect(receiver.arrivals.map(\.type) == ["SUBSCRIBED"] + Array(repeating: "ONE_TIME_CHARGE", count: 3))
            gate.open()
            #expect(try await test.store.nothingWaits())
        }
        #expect(receiver.arrivals.last?.type == "DID_CHANGE_RENEWAL_STATUS")
    }

    @Test func `a failed attempt does not delay later notifications`() async throws {
        let receiver = Receiver { $0.type == "SUBSCRIBED" ? 500 : 200 }
        try await TestStore.notifying(receiver) { test in
            try await test.buy("weekly")
            try await test.store.cancel("weekly", for: "anna")
            try await test.store.deliverNotifications()
            #expect(try test.results() == [[Self.failed], ["SUCCESS"]])
        }
    }

    // MARK: - Interruptions

    @Test func `closing the store cancels an attempt in progress, which counts as failed`() async throws {
        let folder = try ScratchFolder()
        let receiver = Receiver { _ in try await untilCancelled() }
        try await TestStore.notifying(receiver, in: folder) { test in
            try await test.buy("coins")
            await receiver.arrivals(atLeast: 1)
        }
        let later = Receiver()
        try await TestStore.notifying(later, in: folder) { test in
            try await test.store.deliverNotifications()
            #expect(try test.results() == [["OTHER"]])
            #expect(later.arrivals.isEmpty)
            try await test.advance(.hour)
            try await test.store.deliverNotifications()
            #expect(try test.results() == [["OTHER", "SUCCESS"]])
        }
        #expect(later.arrivals.map(\.signedPayload) == receiver.arrivals.map(\.signedPayload))
    }

    @Test func `unsent notifications are sent when the store opens again`() async throws {
        let folder = try ScratchFolder()
        try await TestStore.notifying(Receiver(), in: folder, change: { $0.notificationTransport = nil }) { test in
            try await test.buy("coins")
            #expect(try test.only().attempts.isEmpty && test.only().signedPayload == nil)
        }
        let receiver = Receiver()
        try await TestStore.notifying(receiver, at: nil, in: folder) { _ in await receiver.arrivals(atLeast: 1) }
        #expect(receiver.arrivals.map(\.type) == ["ONE_TIME_CHARGE"])
    }

    @Test func `when the waits of a store are ended, a wait for a delivery ends too`() async throws {
        let receiver = Receiver { _ in try await untilCancelled() }
        try await TestStore.notifying(receiver) { test in
            try await test.buy("coins")
            await receiver.arrivals(atLeast: 1)
            let delivered = Task { try await test.store.deliverNotifications() }
            test.store.endWaiting()
            // The attempt can end before the test reads it.
            _ = await delivered.result
        }
    }

    // MARK: - Without a URL

    @Test func `while the URL is off nothing is recorded or sent, and waiting notifications go to the next URL`()
        async throws
    {
        let receiver = Receiver { _ in 500 }
        try await TestStore.notifying(receiver) { test in
            try await test.buy("coins")
            try await test.store.deliverNotifications()
            try await test.set(.notificationsURL, "off")
            try await test.buy("pack")
            try await test.advance(.days(1))
            await #expect(throws: SimulatorError(.notNow, "")) { try await test.store.deliverNotifications() }
            #expect(receiver.arrivals.count == 1)
            receiver.answer { _ in 200 }
            try await test.set(.notificationsURL, "http://127.0.0.1:2/")
            try await test.store.deliverNotifications()
            #expect(try test.results() == [[Self.failed, "SUCCESS"]])
        }
    }

    @Test func `a wait for a delivery fails when the URL is turned off`() async throws {
        let gate = Gate()
        let receiver = Receiver { _ in
            await gate.wait()
            return 200
        }
        try await TestStore.notifying(receiver) { test in
            try await test.buy("coins")
            await receiver.arrivals(atLeast: 1)
            let delivered = Task { try await test.store.deliverNotifications() }
            try await test.set(.notificationsURL, "off")
            await #expect(throws: SimulatorError(.notNow, "")) { try await delivered.value }
            gate.open()
        }
    }

    @Test func `a store without a transport refuses to deliver`() async throws {
        try await TestStore.with(change: { $0.notificationsURL = Receiver.url }) { test in
            try await test.buy("coins")
            await #expect(throws: SimulatorError(.notNow, "")) { try await test.store.deliverNotifications() }
            let uuid = try test.only().uuid
            await #expect(throws: SimulatorError(.notNow, "")) { try await test.store.resendNotification(uuid) }
        }
    }

    @Test func `an invalid URL is refused when the store opens`() async throws {
        await #expect(throws: SimulatorError(.invalidValue, "")) {
            try await TestStore.notifying(Receiver(), at: "ftp://example.com") { _ in }
        }
    }
}

extension SimulatedAppStore {
    /// Sends the due notifications. Returns whether no notification waits, also not for a retry.
    func nothingWaits() async throws -> Bool {
        let left = try await deliverNotifications()
        return left.waiting == 0 && left.next == nil
    }
}

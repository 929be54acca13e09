import SimulatorControl
import BaseTestSupport
import Foundation
import Primitives
import StoreKitAdapter
import StoreModel
import Testing

@testable import AppStoreSimulator

/// Faults that a tester sets: duplicates, another order, and notifications that are sent again.
@Suite struct SendingFaultTests {
    private static let failed = "UNSUCCESSFUL_HTTP_RESPONSE_CODE"

    // MARK: - Duplicates

    @Test func `with duplicates on, a delivered notification is sent again, byte for byte`() async throws {
        let receiver = Receiver()
        try await TestStore.notifying(receiver) { test in
            try await test.set(.notificationDuplicates, true)
            try await test.buy("coins")
            try await test.buy("weekly")
            #expect(try await test.store.nothingWaits())
            #expect(try test.results() == [["SUCCESS", "SUCCESS"], ["SUCCESS", "SUCCESS"]])
            try await test.advance(.years(1))
            #expect(try await test.store.nothingWaits())
            #expect(try test.results().allSatisfy { $0 == ["SUCCESS", "SUCCESS"] })
        }
        let payloads = Dictionary(grouping: receiver.arrivals, by: \.uuid)
        #expect(payloads.values.allSatisfy { $0.count == 2 && $0[0] == $0[1] })
    }

    @Test func `a failed duplicate is not retried: the notification has arrived`() async throws {
        let seen = Locked<Set<String>>([])
        let receiver = Receiver { arrival in
            seen.withLock { $0.insert(arrival.uuid).inserted } ? 200 : 500
        }
        try await TestStore.notifying(receiver) { test in
            try await test.set(.notificationDuplicates, true)
            try await test.buy("coins")
            #expect(try await test.store.nothingWaits())
            try await test.advance(.days(30))
            try await test.store.deliverNotifications()
            #expect(try test.results() == [["SUCCESS", Self.failed]])
        }
    }

    @Test func `a failed notification is not duplicated`() async throws {
        let receiver = Receiver { _ in 500 }
        try await TestStore.notifying(receiver) { test in
            try await test.set(.notificationDuplicates, true)
            try await test.buy("coins")
            try await test.store.deliverNotifications()
            #expect(try test.results() == [[Self.failed]])
        }
        #expect(receiver.arrivals.count == 1)
    }

    // MARK: - Changed order

    @Test func `with the order changed, two waiting notifications of a purchase swap places`() async throws {
        let gate = Gate()
        let receiver = Receiver { arrival in
            if arrival.type == "SUBSCRIBED" { await gate.wait() }
            return 200
        }
        try await TestStore.notifying(receiver) { test in
            try await test.set(.notificationsOutOfOrder, true)
            try await test.set(.notifySkippedTime, "all")
            try await test.buy("weekly")
            await receiver.arrivals(atLeast: 1)
            try await test.advance(.weeks(5))
            gate.open()
            try await test.store.deliverNotifications()
            let reported = try test.store.notifications().map(\.uuid)
            #expect(reported.count == 6)
            #expect(receiver.arrivals.map(\.uuid) == [0, 2, 1, 4, 3, 5].map { reported[$0] })
        }
    }

    @Test func `a notification that waits alone, or was sent before, keeps its place`() async throws {
        let receiver = Receiver { _ in 500 }
        try await TestStore.notifying(receiver) { test in
            try await test.set(.notificationsOutOfOrder, true)
            for change in ["buy", "cancel", "resume"] {
                switch change {
                case "buy": try await test.buy("weekly")
                case "cancel": try await test.store.cancel("weekly", for: "anna")
                default: try await test.store.resume("weekly", for: "anna")
                }
                try await test.store.deliverNotifications()
            }
            let first = try test.store.notifications().map(\.uuid)
            #expect(receiver.arrivals.map(\.uuid) == first)
            try await test.advance(.hour)
            try await test.store.deliverNotifications()
            #expect(receiver.arrivals.map(\.uuid) == first + first)
        }
    }

    // MARK: - Repeated sending

    @Test func `a delivered notification can be sent again, without retries`() async throws {
        let receiver = Receiver()
        try await TestStore.notifying(receiver) { test in
            try await test.buy("coins")
            try await test.store.deliverNotifications()
            receiver.answer { _ in 500 }
            let uuid = try test.only().uuid
            try await test.store.resendNotification(uuid.uppercased())
            #expect(try await test.store.nothingWaits())
            #expect(try test.results() == [["SUCCESS", Self.failed]])
        }
        #expect(Set(receiver.arrivals.map(\.signedPayload)).count == 1)
    }

    @Test func `a notification that waits for a retry can be sent at once, and its retries continue`() async throws {
        let receiver = Receiver { _ in 500 }
        try await TestStore.notifying(receiver) { test in
            try await test.buy("coins")
            try await test.store.deliverNotifications()
            try await test.store.advance(.init(seconds: 60))
            try await test.store.resendNotification(try test.only().uuid)
            try await test.store.deliverNotifications()
            let now = Fixtures.start.addingTimeInterval(60)
            #expect(try test.only().attempts.map(\.at) == [Fixtures.start, now])
            #expect(try test.only().due == now.addingTimeInterval(12 * 3600))
        }
    }

    @Test func `a notification without further retries can be sent again`() async throws {
        let receiver = Receiver { _ in 500 }
        try await TestStore.notifying(receiver) { test in
            try await test.set(.notificationRetries, "sandbox")
            try await test.buy("coins")
            try await test.store.deliverNotifications()
            receiver.answer { _ in 200 }
            try await test.store.resendNotification(try test.only().uuid)
            try await test.store.deliverNotifications()
            #expect(try test.results() == [[Self.failed, "SUCCESS"]])
        }
    }

    @Test func `a notification in progress that is requested again is sent again afterwards`() async throws {
        let gate = Gate()
        let receiver = Receiver { _ in
            await gate.wait()
            return 200
        }
        try await TestStore.notifying(receiver) { test in
            try await test.buy("coins")
            await receiver.arrivals(atLeast: 1)
            try await test.store.resendNotification(try test.only().uuid)
            gate.open()
            try await test.store.deliverNotifications()
            #expect(try test.results() == [["SUCCESS", "SUCCESS"]])
        }
    }

    @Test func `resending an unknown notification is refused`() async throws {
        try await TestStore.notifying(Receiver()) { test in
            await #expect(throws: SimulatorError(.unknownNotification, "")) {
                try await test.store.resendNotification("00000000-0000-0000-0000-000000000000")
            }
        }
    }

    // MARK: - A replaced database

    @Test func `an imported state replaces the notifications, and its attempts in progress count as failed`()
        async throws
    {
        let gate = Gate()
        let held = Receiver { _ in
            await gate.wait()
            return 200
        }
        let state = Locked(JSONValue.null)
        try await TestStore.notifying(held) { test in
            try await test.buy("coins")
            await held.arrivals(atLeast: 1)
            let exported = try await test.store.exportState()
            state.withLock { $0 = exported }
            gate.open()
            try await test.store.deliverNotifications()
        }
        let receiver = Receiver()
        try await TestStore.notifying(receiver) { test in
            try await test.buy("pack")
            try await test.store.deliverNotifications()
            try await test.store.importState(state.withLock { $0 })
            try await test.store.deliverNotifications()
            #expect(try test.results() == [["OTHER"]])
            try await test.advance(.hour)
            try await test.store.deliverNotifications()
            #expect(try test.results() == [["OTHER", "SUCCESS"]])
            let last = try #require(receiver.arrivals.last)
            #expect(last.uuid == held.arrivals.first?.uuid)
            // This store signed the notification again: the verifier does not trust the root of the other store.
            #expect(try test.verifier().notification(last.signedPayload).payload.notificationUUID == last.uuid)
            #expect(try test.readNotifications().map(\.transaction?.productId) == ["coins"])
        }
    }

    @Test func `the result of an attempt in progress is dropped after the database was replaced`() async throws {
        let gate = Gate()
        let receiver = Receiver { _ in
            await gate.wait()
            return 200
        }
        try await TestStore.notifying(receiver) { test in
            let empty = try await test.store.exportState()
            try await test.buy("coins")
            await receiver.arrivals(atLeast: 1)
            try await test.store.importState(empty)
            gate.open()
            try await test.buy("pack")
            try await test.store.deliverNotifications()
            #expect(try test.results() == [["SUCCESS"]])
            #expect(try test.only().uuid == receiver.arrivals.last?.uuid)
        }
    }

    // MARK: - Over HTTP

    @Test func `the control API lists, delivers and sends again`() async throws {
        let receiver = Receiver { _ in 500 }
        try await TestStore.notifying(receiver) { test in
            let client = StoreRoutesTests.Client(test)
            try await test.buy("coins")
            try await test.buy("weekly", "ben")
            let left = try await client.ask(
                .post, "/control/v1/notifications/deliver", as: StoreControlWire.Deliveries.self)
            #expect(left == .init(waiting: 2, next: Fixtures.start.addingTimeInterval(3600)))
            func list(_ query: String = "") async throws -> [StoreControlWire.Notification] {
                try await client.ask(
                    .get, "/control/v1/notifications\(query)", as: StoreControlWire.Notifications.self
                ).notifications
            }
            let all = try await list()
            #expect(try all == test.store.notifications())
            #expect(all.map(\.type) == ["ONE_TIME_CHARGE", "SUBSCRIBED"])
            #expect(try await list("?account=ben") == [all[1]])
            #expect(try await list("?type=ONE_TIME_CHARGE") == [all[0]])
            #expect(try await list("?after=\(all[0].number)") == [all[1]])
            #expect(try await list("?limit=1") == [all[0]])
            #expect(try await list("?type=DID_RENEW") == [])
            #expect(try await client.ask(.get, "/control/v1/notifications?account=nobody").status == 404)
            receiver.answer { _ in 200 }
            let path = "/control/v1/notifications/\(all[0].uuid)/resend"
            let again = try await client.ask(.post, path, as: StoreControlWire.Notification.self)
            #expect(again.uuid == all[0].uuid && again.due == Fixtures.start)
            _ = try await client.ask(.post, "/control/v1/notifications/deliver")
            #expect(try test.results() == [[Self.failed, "SUCCESS"], [Self.failed]])
            let unknown = try await client.ask(.post, "/control/v1/notifications/nobody/resend")
            #expect(unknown.status == 404 && unknown.json["code"] == "unknownNotification")
            try await test.set(.notificationsURL, "off")
            for path in ["/control/v1/notifications/deliver", path] {
                let refused = try await client.ask(.post, path)
                #expect(refused.status == 409 && refused.json["code"] == "notNow")
            }
        }
    }
}

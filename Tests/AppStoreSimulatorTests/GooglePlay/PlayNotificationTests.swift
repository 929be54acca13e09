import BaseTestSupport
import Foundation
import GooglePlay
import HTTPCore
import Primitives
import SimulatorControl
import StoreModel
import Testing

@testable import AppStoreSimulator

/// The endpoint of a push subscription without a socket.
private final class PushEndpoint: HTTPTransport {
    static let url = "http://127.0.0.1:1/push"

    struct Arrival: Sendable {
        var token: String
        var push: PubSubPush
        var notification: DeveloperNotification
    }

    private let state = Locked<(arrivals: [Arrival], statuses: [Int])>(([], []))
    private let changed = ChangeSignal<Int>()

    /// - Parameter statuses: The statuses of the first responses; later ones are 204.
    init(_ statuses: [Int] = []) { state.withLock { $0.statuses = statuses } }

    var arrivals: [Arrival] { state.withLock { $0.arrivals } }

    func arrivals(atLeast count: Int) async -> [Arrival] {
        while true {
            let mark = changed.mark()
            if arrivals.count >= count { return arrivals }
            await changed.wait(for: 0, since: mark)
        }
    }

    func send(_ request: HTTPRequest) async throws -> HTTPResponse {
        let push = try WireJSON.decode(PubSubPush.self, from: try await request.body.collect(upTo: 1 << 16))
        let arrival = Arrival(
            token: String((request.headers["Authorization"] ?? "").dropFirst("Bearer ".count)), push: push,
            notification: try push.notification())
        let status = state.withLock { state in
            state.arrivals.append(arrival)
            return state.statuses.isEmpty ? 204 : state.statuses.removeFirst()
        }
        changed.raise([0])
        return HTTPResponse(status: status)
    }
}

struct PlayNotificationTests {
    private func withEndpoint(
        _ endpoint: PushEndpoint, in folder: ScratchFolder? = nil, base: ManualClock = ManualClock(),
        _ body: (TestStore, PlayClient) async throws -> Void
    ) async throws {
        try await TestStore.withPlay(
            in: folder, base: base,
            change: {
                $0.playNotificationsURL = PushEndpoint.url
                $0.notificationTransport = endpoint
            }, body)
    }

    @Test func `a push request has a token that the published keys verify`() async throws {
        let endpoint = PushEndpoint()
        try await withEndpoint(endpoint) { test, _ in
            let bought = try await test.playBuy("plus", "monthly")
            let arrival = await endpoint.arrivals(atLeast: 1)[0]
            #expect(arrival.notification.subscriptionNotification?.notificationType == .purchased)
            #expect(arrival.notification.subscriptionNotification?.purchaseToken == bought.purchaseToken)
            #expect(arrival.notification.packageName == "com.example.souk_play")
            #expect(arrival.push.subscription == SimulatedGooglePlay.subscription)
            let request = HTTPRequest(method: .get, url: "/oauth2/v3/certs", headers: ["Host": "127.0.0.1"])
            let response = await test.store.handler.respond(to: request).response()
            let keys = try JSONWebKeySet(json: try await response.body.json()).keys
            let expected = PushToken(audience: PushEndpoint.url, email: SimulatedGooglePlay.pushEmail)
            try expected.verify(arrival.token, keys: keys, at: test.base.now())
        }
    }

    @Test func `time sends the events of a subscription`() async throws {
        let endpoint = PushEndpoint()
        try await withEndpoint(endpoint) { test, _ in
            let token = try await test.playSubscribe("plus", "monthly")
            try await test.advance(.months(1))
            _ = await endpoint.arrivals(atLeast: 2)
            _ = try await test.store.perform(.cancel, onPlayPurchase: token)
            try await test.advance(.months(2))
            let arrivals = await endpoint.arrivals(atLeast: 4)
            #expect(
                arrivals.compactMap { $0.notification.subscriptionNotification?.notificationType?.rawValue }
                    .sorted() == [2, 3, 4, 13])
            #expect(Set(arrivals.compactMap { $0.push.message?.messageId }).count == 4)
        }
    }

    @Test func `a one-time product and a voided purchase are notified`() async throws {
        let endpoint = PushEndpoint()
        try await withEndpoint(endpoint) { test, _ in
            let bought = try await test.playBuy("coins")
            try await test.advance(.days(3))
            let arrivals = await endpoint.arrivals(atLeast: 2)
            let product = arrivals.compactMap(\.notification.oneTimeProductNotification).first
            #expect(product?.notificationType == 1)
            #expect(product?.sku == "coins")
            let voided = arrivals.compactMap(\.notification.voidedPurchaseNotification).first
            #expect(voided?.orderId == bought.orderId)
            #expect(voided?.productType == 2)
        }
    }

    @Test func `a message that is not accepted is sent again, with growing delays`() async throws {
        let endpoint = PushEndpoint([500, 404, 302])
        try await withEndpoint(endpoint) { test, _ in
            try await test.playBuy("coins")
            for count in 1...4 {
                let arrivals = await endpoint.arrivals(atLeast: count)
                #expect(Set(arrivals.compactMap { $0.push.message?.messageId }) == ["1"])
                let stored = try await untilStored(test, attempts: count)
                #expect(stored.attempts.map(\.result) == Array(["500", "404", "302", "204"].prefix(count)))
                if count < 4 { try await test.store.advance(.init(to: stored.due)) }
            }
            #expect(try await untilStored(test, attempts: 4).due == nil)
        }
    }

    /// Waits until the result of an attempt at the first notification is stored.
    private func untilStored(_ test: TestStore, attempts: Int) async throws -> StoreControlWire.PlayNotification {
        let found = Locked<StoreControlWire.PlayNotification?>(nil)
        try await until("the result is stored") {
            let first = try await test.store.playNotifications(after: 0, limit: 1).first
            guard first?.attempts.count == attempts, first?.attempts.last?.result != nil else { return false }
            found.withLock { $0 = first }
            return true
        }
        return try #require(found.withLock { $0 })
    }

    @Test func `the delays double to ten minutes, for seven days`() {
        let start = Fixtures.start
        let delays = (1...9).map {
            PlayDatabase.Retries.next(after: $0, of: start, madeAt: start)?.timeIntervalSince(start)
        }
        #expect(delays == [10, 20, 40, 80, 160, 320, 600, 600, 600])
        let late = start.addingTimeInterval(7 * 86400 - 9)
        #expect(PlayDatabase.Retries.next(after: 1, of: start, madeAt: late) == nil)
        #expect(PlayDatabase.Retries.next(after: .max, of: start, madeAt: start) != nil)
    }

    @Test func `a notification is delivered on request, and sent again once even if it has arrived`() async throws {
        let endpoint = PushEndpoint([500])
        try await withEndpoint(endpoint) { test, _ in
            let token = try await test.playBuy("coins").purchaseToken
            let left = try await test.store.deliverPlayNotifications()
            #expect(left.waiting == 1 && left.next == test.store.virtualClock.now().addingTimeInterval(10))
            try await test.store.advance(.init(seconds: 10))
            #expect(try await test.store.deliverPlayNotifications().waiting == 0)
            _ = try await test.store.resendPlayNotification(1)
            #expect(try await test.store.deliverPlayNotifications().waiting == 0)
            let all = try await test.store.playNotifications(of: "anna")
            #expect(all.map(\.type) == ["ONE_TIME_PRODUCT_PURCHASED"])
            #expect(all[0].attempts.map(\.result) == ["500", "204", "204"])
            #expect(all[0].purchaseToken == token && all[0].productID == "coins" && all[0].account == "anna")
            await #expect(throws: SimulatorError(.unknownNotification, "")) {
                _ = try await test.store.resendPlayNotification(99)
            }
            try await test.store.createAccount("bob")
            #expect(try await test.store.playNotifications(of: "bob").isEmpty)
            await #expect(throws: SimulatorError(.unknownAccount, "")) {
                _ = try await test.store.playNotifications(of: "nobody")
            }
        }
    }

    @Test func `a failed resend of a notification that has arrived is not repeated`() async throws {
        let endpoint = PushEndpoint([200, 500])
        try await withEndpoint(endpoint) { test, _ in
            try await test.playBuy("coins")
            try await test.store.deliverPlayNotifications()
            _ = try await test.store.resendPlayNotification(1)
            #expect(try await test.store.deliverPlayNotifications().waiting == 0)
            let first = try #require(try await test.store.playNotifications().first)
            #expect(first.attempts.map(\.result) == ["200", "500"] && first.due == nil)
        }
    }

    @Test func `without a URL no notification is written, and an attempt that was lost is repeated`() async throws {
        let folder = try ScratchFolder()
        let base = ManualClock()
        try await TestStore.withPlay(in: folder, base: base) { test, _ in
            try await test.playBuy("coins", account: "bob")
            #expect(try await test.store.playNotifications(after: 0, limit: 1).isEmpty)
            await #expect(throws: SimulatorError(.notNow, "")) { try await test.store.requestPlayTestNotification() }
        }
        // The store has a URL, but no transport, so the notification waits.
        try await TestStore.withPlay(in: folder, base: base, change: { $0.playNotificationsURL = PushEndpoint.url }) {
            test, _ in
            try await test.playBuy("coins")
            #expect(try await test.store.playNotifications(after: 0, limit: 2).map(\.attempts) == [[]])
        }
        let endpoint = PushEndpoint()
        try await withEndpoint(endpoint, in: folder, base: base) { _, _ in
            #expect(await endpoint.arrivals(atLeast: 1).count == 1)
        }
    }
}

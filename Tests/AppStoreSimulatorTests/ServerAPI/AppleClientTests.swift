import AppStorePayloads
import Foundation
import HostTestSupport
import NetworkTestSupport
import Primitives
import StoreKitAdapter
import StoreModel
import Testing

@testable import AppStoreSimulator

/// Requests of Apple's own client library to a store over a real socket. Only the address is replaced.
@Suite(.serialized, .outsideJudge(OutsideJudge.python != nil, "SOUK_PYTHON is not set"))
struct AppleClientTests {
    @Test func `every method of Apple's client is called, and every answer decodes`()
        async throws
    {
        try await Self.check("sync")
    }

    @Test(
        .enabled("SOUK_PYTHON has no httpx, which Apple's asynchronous client needs") {
            try await OutsideJudge.run(OutsideJudge.python ?? "", ["-c", "import httpx"], input: "").status == 0
        })
    func `every method of Apple's asynchronous client is called, except the one that only closes it`() async throws {
        try await Self.check("async")
    }

    private static func check(_ client: String) async throws {
        // Apple's client creates tokens in real time.
        try await TestStore.notifying(Receiver(), change: { $0.baseClock = SystemClock() }) { test in
            let names = try await live(in: test)
            let verdict = try await withLoopbackServer(test.store.handler) { url in
                let api = test.store.summary.serverAPI
                return try await OutsideJudge.judge(
                    "apple_client.py",
                    [
                        "url": .string(url), "key": .string(api.privateKey), "keyID": .string(api.keyID),
                        "issuerID": .string(api.issuerID), "bundleID": .string(test.store.summary.bundleID.rawValue),
                        "root": .string(test.store.summary.rootCertificate), "client": .string(client), "names": names,
                    ])
            }
            let report = try #require(verdict.json, "\(verdict.errors)")
            #expect(report["faults"] == [], "\(report["faults"] ?? nil)")
            #expect(verdict.status == 0, "\(verdict.errors)")
            #expect(report["verified"]?.intValue ?? 0 > 30)
            try expectAnswers(report, in: test)
        }
    }

    /// Creates a running subscription, a refund and a sent test notification. Returns their ids.
    private static func live(in test: TestStore) async throws -> JSONValue {
        let original = try await test.buy("weekly")
        let coins = try await test.buy("coins")
        let pack = try await test.buy("pack")
        try await test.store.refund(pack.transactionID)
        try await test.advance(.weeks(2))
        let renewal = try #require(try await test.store.transactions(of: "anna").last { $0.productID == "weekly" })
        let token = try await test.store.requestTestNotification()
        try await test.store.deliverNotifications()
        try await test.store.setRealtimeURL(Receiver.url)
        let performanceTest = try await test.store.beginPerformanceTest(of: try #require(original.transactionID.number))
        await test.store.performanceTest.withLock { $0?.task }?.value
        return [
            "transaction": .string(renewal.transactionID.rawValue),
            "original": .string(original.transactionID.rawValue), "coins": .string(coins.transactionID.rawValue),
            "app": .string(try test.appTransactionID()), "order": .string(try #require(renewal.orderID)),
            "product": "weekly", "group": "week", "testToken": .string(token),
            "performanceTest": .string(performanceTest.lowercased),
            "now": await test.store.clockState().now.payloadValue,
        ]
    }

    /// Expects that the values of Apple's client are those of the store.
    private static func expectAnswers(_ report: JSONValue, in test: TestStore) throws {
        func answer(_ method: String, _ place: Int = 0) -> JSONValue? { report["calls"]?[method]?[place]?["answer"] }
        func count(_ method: String, _ place: Int, _ member: String) -> Int? {
            answer(method, place)?[member]?.arrayValue?.count
        }
        #expect((0..<3).map { count("get_transaction_history", $0, "signedTransactions") } == [5, 5, 3])
        #expect(count("get_refund_history", 0, "signedTransactions") == 1)
        #expect(answer("look_up_order_id")?["status"] == 0 && answer("look_up_order_id", 1)?["status"] == 1)
        #expect((0..<2).map { count("get_all_subscription_statuses", $0, "data") } == [1, 1])
        #expect(answer("extend_subscription_renewal_date")?["success"] == true)
        #expect(answer("get_status_of_subscription_renewal_date_extensions")?["succeededCount"] == 1)
        #expect(answer("get_test_notification_status")?["sendAttempts"]?[0]?["sendAttemptResult"] == "SUCCESS")
        #expect(count("get_notification_history", 0, "notificationHistory") ?? 0 >= 5)
        #expect(count("get_notification_history", 1, "notificationHistory") == 0)
        #expect(count("get_notification_history", 2, "notificationHistory") == 1)
        #expect(report["excused"]?.objectValue?.keys.map { $0 } == ["async_close"])
        func list(_ method: String, _ member: String) -> [JSONValue]? { answer(method)?[member]?.arrayValue }
        #expect(
            list("get_image_list", "imageIdentifiers")?.map { $0["imageState"] } == [
                "APPROVED", "APPROVED", "APPROVED",
            ])
        #expect(list("get_message_list", "messageIdentifiers")?.map { $0["messageState"] } == ["APPROVED", "APPROVED"])
        #expect(answer("get_default_message")?["messageIdentifier"] == "00000000-0000-0000-0000-000000000004")
        #expect(answer("get_realtime_url")?["realtimeURL"] == "https://example.com/retention")
        #expect(answer("initiate_performance_test")?["config"]?["responseTimeThreshold"] == 700)
        #expect(answer("get_performance_test_results")?["result"] == "FAIL")
        #expect(answer("get_performance_test_results")?["failures"] == ["INVALID_RESPONSE": 100])
        for (title, refusal) in Self.refusals {
            #expect(report["refusals"]?[title] == refusal, "\(title)")
        }
        #expect(report["refusals"]?.objectValue?.count == Self.refusals.count)
        let kept = report["calls"]?["send_consumption_information"]?[0]
        #expect(kept?["type"] == "NoneType")
    }

    private static let refusals: [(String, JSONValue)] = [
        ("unknown transaction", [404, 4_040_010]), ("no transaction", [400, 4_000_006]),
        ("unknown revision", [400, 4_000_005]), ("bad dates", [400, 4_000_016]),
        ("unknown extension", [404, 4_040_009]), ("another key", [401, nil]), ("no image", [400, 4_000_161]),
        ("transparent image", [400, 4_000_161]), ("small image", [400, 4_000_161]),
        ("known image", [409, 4_090_000]), ("used image", [403, 4_030_019]), ("used bullet point", [403, 4_030_019]),
        ("unknown image", [404, 4_040_014]), ("long header", [400, 4_000_162]), ("long body", [400, 4_000_163]),
        ("long alternative text", [400, 4_000_175]), ("long bullet point", [400, 4_000_219]),
        ("six bullet points", [400, 4_000_218]), ("header above no image", [400, 4_000_224]),
        ("bullet point as image", [400, 4_000_216]), ("known message", [409, 4_090_001]),
        ("unknown message", [404, 4_040_015]), ("unknown default message", [404, 4_040_015]),
        ("default message of no subscription", [400, 4_000_023]),
        ("default message of no locale", [400, 4_000_164]), ("no default message", [404, 4_040_020]),
        ("default message deleted twice", [404, 4_040_020]), ("URL without TLS", [400, 4_000_215]),
        ("long URL", [400, 4_000_215]), ("no URL", [404, 4_040_021]), ("URL deleted twice", [404, 4_040_021]),
        ("test without URL", [400, 4_000_211]), ("test of no transaction", [400, 4_000_006]),
        ("results without identifier", [400, 4_000_212]), ("results of no test", [404, 4_040_018]),
    ]
}

import BaseTestSupport
import Foundation
import GooglePlay
import HTTPCore
import Primitives
import SimulatorControl
import StoreModel
import Testing

@testable import EntitlementServer

/// The reviews of chargebacks at Google Play, which the refund desk answers.
@Suite(.onBothEngines) struct ChargebackReviewTests {
    private static let order = "GPA.1"

    private func bench(
        _ policy: String? = ServerBench.refundPolicy, quantity: Int? = nil
    ) async throws -> (ServerBench, FakeGooglePlay) {
        let (bench, play) = try await ServerBench.withPlay { configuration in
            configuration.apps[0].refundPolicy = try policy.map { try RefundPolicy(parsing: $0.utf8) }
            configuration.random = { 1 }
        }
        let start = bench.clock.now()
        try play.set("token-9", AndroidPublisher.ProductPurchaseV2.coins(at: start, order: Self.order))
        try play.set(
            .paid(Self.order, "coins", from: start, to: start) { $0.purchaseToken = "token-9" })
        #expect(try await bench.postPlay("token-9", product: "coins").status == 200)
        bench.clock.advance(by: 3600)
        return (bench, play)
    }

    private func review(
        _ order: String? = order, token: String? = "review-1", at instant: Date? = nil
    ) -> DeveloperNotification {
        DeveloperNotification {
            $0.eventTimeMillis = instant.map { Int64Text($0.milliseconds) }
            $0.pendingRefundReviewNotification = .init {
                $0.orderId = order
                $0.pendingRefundToken = token
                $0.refundReason = 7
            }
        }
    }

    private func requests(_ bench: ServerBench, _ query: String = "") async throws -> [JSONValue] {
        try await bench.refundRequests(query)
    }

    @Test func `a review is answered by the policy, once, with the token of the notification`() async throws {
        let (bench, play) = try await bench()
        let now = bench.clock.now()
        for _ in 0..<3 { #expect(try await bench.pushPlay(review(at: now)).status == 200) }
        for _ in 0..<3 { try await bench.answerRefunds() }
        let sent = play.state.withLock { $0.changes }
        #expect(sent.map(\.path) == ["GPA.1:reviewrefund"])
        #expect(
            sent.map(\.body) == [
                ["refundPreference": "APPROVE", "sampleContentProvided": false, "pendingRefundToken": "review-1"]
            ])
        let request = try #require(try await requests(bench).first)
        #expect(request["source"] == "googlePlay" && request["state"] == "sent" && request["rule"] == "rest")
        #expect(request["transactionID"] == "GPA.1" && request["productID"] == "coins" && request["status"] == 200)
        #expect(request["customers"] == ["anna"] && request["version"] == nil)
        let end = RFC3339.string(from: now.addingTimeInterval(24 * 3600))
        #expect(request["deadline"]?.stringValue == end)
        // The token is a credential.
        #expect(request["request"] == ["refundPreference": "APPROVE", "sampleContentProvided": false])
        #expect(!(try await requests(bench).map { "\($0)" }.joined().contains("review-1")))
        let export = try await bench.send(.get, "/v1/customers/anna/export", as: .secret)
        #expect(export.json["refundRequests"]?.arrayValue?.count == 1)
        #expect(!String(decoding: export.bytes, as: UTF8.self).contains("review-1"))
        await bench.close()
    }

    @Test func `a review wakes the desk`() async throws {
        let (bench, _) = try await bench()
        let changes = bench.service.parts.changes
        let commits = changes.listen(to: .refundRequests)
        #expect(try await bench.pushPlay(review(at: bench.clock.now())).status == 200)
        // The stream keeps a commit until it is read, and then ends.
        changes.end()
        var isWoken = false
        for await _ in commits { isWoken = true }
        #expect(isWoken)
        await bench.close()
    }

    @Test(arguments: [(Bool?.none, Int?.none), (true, 95_000), (false, nil)])
    func `the used part is sent only with the consent, and the preference always`(consent: Bool?, part: Int?)
        async throws
    {
        let (bench, play) = try await bench()
        if let consent { _ = try await bench.state(consent: consent) }
        #expect(try await bench.report(["transactionID": "GPA.1", "percentage": 95]).status == 200)
        _ = try await bench.pushPlay(review())
        try await bench.answerRefunds()
        let body = try #require(play.state.withLock { $0.changes.first?.body })
        #expect(body["refundPreference"] == "DECLINE")
        #expect(body["consumptionPercentageMilliunits"]?.intValue == part)
        await bench.close()
    }

    @Test func `a rule without a preference is neutral, and one that sends nothing sends nothing`() async throws {
        let neutral = #"{"refundRules": [{"name": "all", "answer": {}}]}"#
        let silent = #"{"refundRules": [{"name": "all", "answer": "none"}]}"#
        for (policy, preference) in [(neutral, JSONValue?.some("NEUTRAL")), (silent, nil)] {
            let (bench, play) = try await bench(policy)
            _ = try await bench.pushPlay(review())
            try await bench.answerRefunds()
            #expect(play.state.withLock { $0.changes.first?.body["refundPreference"] } == preference)
            #expect(try await requests(bench).first?["state"] == (preference == nil ? "silent" : "sent"))
            await bench.close()
        }
    }

    @Test func `an answer is repeated until Google accepts it, and not after the deadline`() async throws {
        let (bench, play) = try await bench()
        let start = bench.clock.now()
        _ = try await bench.pushPlay(review(at: start))
        play.state.withLock { $0.outage = (503, nil) }
        try await bench.answerRefunds()
        #expect(try await requests(bench).first?["state"] == "pending")
        #expect(try bench.service.parts.refundDesk.pendingCounts() == (1, 0))
        bench.clock.advance(to: start.addingTimeInterval(22.5 * 3600))
        #expect(try bench.service.parts.refundDesk.pendingCounts() == (1, 1))
        play.state.withLock { $0.outage = nil }
        bench.realClock.advance(by: 3600)
        try await bench.answerRefunds()
        #expect(try await requests(bench).first?["state"] == "sent")
        #expect(play.state.withLock { $0.changes.count } == 1)

        _ = try await bench.pushPlay(review(token: "review-2", at: bench.clock.now()))
        play.state.withLock { $0.outage = (503, nil) }
        try await bench.answerRefunds()
        bench.clock.advance(by: 24 * 3600)
        bench.realClock.advance(by: 24 * 3600)
        play.state.withLock { $0.outage = nil }
        try await bench.answerRefunds()
        #expect(try await requests(bench).first?["state"] == "expired")
        #expect(play.state.withLock { $0.changes.count } == 1)
        await bench.close()
    }

    @Test func `a refusal of Google is final, and names no token`() async throws {
        let (bench, play) = try await bench()
        play.state.withLock {
            $0.refusals = [GoogleAPIError(.invalidArgument, reason: "invalid", "review-1 is not a review.")]
        }
        _ = try await bench.pushPlay(review())
        for _ in 0..<2 { try await bench.answerRefunds() }
        let request = try #require(try await requests(bench).first)
        #expect(request["state"] == "failed" && request["status"] == 400)
        #expect(request["error"]?.stringValue?.contains("review-1") == false)
        #expect(play.state.withLock { $0.changes.count } == 1)
        await bench.close()
    }

    @Test func `nothing in a notification is believed`() async throws {
        let (bench, play) = try await bench()
        // An order that Google does not know, and one that Google states under another id.
        #expect(try await bench.pushPlay(review("GPA.404")).status == 200)
        try play.set(.paid("GPA.7", "coins", from: bench.clock.now(), to: bench.clock.now()))
        play.state.withLock { $0.orders["GPA.8"] = $0.orders["GPA.7"] }
        #expect(try await bench.pushPlay(review("GPA.8")).status == 200)
        #expect(try await requests(bench).isEmpty)
        for (order, token) in [(nil, "t"), ("GPA.1", nil), ("GPA.1", ""), ("GPA.1", "a b"), ("", "t")] {
            #expect(try await bench.pushPlay(review(order, token: token)).status == 400)
        }
        let long = String(repeating: "x", count: 4097)
        #expect(try await bench.pushPlay(review(token: long)).status == 400)
        #expect(try await bench.pushPlay(review(), authorization: "Bearer x").status == 401)
        // A date that cannot be true counts as the nearest one that can.
        let (paid, now) = (bench.clock.now().addingTimeInterval(-3600), bench.clock.now())
        for (number, stated, expected) in [
            (1, now.addingTimeInterval(86400), now), (2, paid.addingTimeInterval(-86400), paid),
            (3, Date(milliseconds: .max), now), (4, Date(milliseconds: .min), paid),
        ] {
            #expect(try await bench.pushPlay(review(token: "r\(number)", at: stated)).status == 200)
            let date = try await requests(bench).first?["requestedAt"]?.stringValue
            #expect(date == RFC3339.string(from: expected))
        }
        // Without an answer of Google, Pub/Sub repeats the notification.
        play.state.withLock { $0.outage = (500, nil) }
        #expect(try await bench.pushPlay(review(token: "later")).status == 503)
        #expect(try await requests(bench).count == 4)
        await bench.close()
    }

    @Test func `an erasure removes the token, and nothing is sent`() async throws {
        let (bench, play) = try await bench()
        _ = try await bench.pushPlay(review())
        #expect(try await bench.send(.delete, "/v1/customers/anna", as: .secret).status == 200)
        try await bench.answerRefunds()
        #expect(play.state.withLock { $0.changes.isEmpty })
        let request = try #require(try await requests(bench).first)
        #expect(request["state"] == "silent" && request["silence"] == "consentRefused")
        let stored = try bench.database.read {
            try $0.first("SELECT 1 AS one FROM refund_request WHERE sealed_review IS NOT NULL")
        }
        #expect(stored == nil)
        // A review of the erased purchase.
        _ = try await bench.pushPlay(review(token: "review-2"))
        try await bench.answerRefunds()
        #expect(try await requests(bench).map { $0["state"] } == ["silent", "silent"])
        #expect(play.state.withLock { $0.changes.isEmpty })
        await bench.close()
    }

    @Test func `without a policy an operator answers, also without the customer's consent`() async throws {
        let (bench, play) = try await bench(nil)
        _ = try await bench.pushPlay(review())
        try await bench.answerRefunds()
        #expect(try await requests(bench).first?["state"] == "pending")
        let prorated: JSONValue = ["answer": ["preference": "GRANT_PRORATED"], "reason": "ticket"]
        #expect(try await bench.answerRefund(prorated).status == 400)
        let decline: JSONValue = ["answer": ["preference": "DECLINE", "percentage": 40], "reason": "ticket"]
        #expect(try await bench.answerRefund(decline).status == 200)
        try await bench.answerRefunds()
        #expect(
            play.state.withLock { $0.changes.map(\.body) } == [
                ["refundPreference": "DECLINE", "sampleContentProvided": false, "pendingRefundToken": "review-1"]
            ])
        #expect(try await bench.answerRefund(decline).code == "refund_request_closed")
        await bench.close()
    }
}

/// Reviews with the simulated Google Play, whose bank follows the answer.
@Suite struct SimulatedChargebackTests {
    @Test(arguments: [("DECLINE", true), ("GRANT_FULL", false)])
    func `the simulated bank follows the preference of the desk`(preference: String, keeps: Bool) async throws {
        let policy = try RefundPolicy(
            parsing: #"{"refundRules": [{"name": "all", "answer": {"preference": "\#(preference)"}}]}"#.utf8)
        try await TwoStores.with(refundPolicy: policy) { stores in
            let tools = try await stores.buyOnAndroid("tools")
            try await stores.settle()
            _ = try await stores.store.requestPlayChargeback(tools)
            try await stores.settle()
            try await stores.bench.answerRefunds()
            #expect(try await stores.bench.refundRequests().map { $0["state"] } == ["sent"])
            try await stores.advance(.init(value: 2, unit: .day))
            try await stores.settle()
            let active = try await stores.answer().features.filter(\.isActive).map(\.name)
            #expect(active == (keeps ? ["tools"] : []))
            let outcome = try await stores.bench.refundRequests()[0]["outcome"]
            #expect(outcome == (keeps ? nil : "refunded"))
            #expect(try stores.replayDifferences() == [])
        }
    }
}

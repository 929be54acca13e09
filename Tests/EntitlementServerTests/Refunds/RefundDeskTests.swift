import AppStorePayloads
import BaseTestSupport
import Foundation
import HTTPCore
import Primitives
import StoreModel
import Testing

@testable import EntitlementServer

@Suite(.onBothEngines) struct RefundDeskTests {
    @Test func `a consumption request is answered by the first rule that applies, and recorded`() async throws {
        let store = ConsumptionReceiver()
        let bench = try await ServerBench.refunding(to: store)
        let coins = try await bench.buyCoins()
        #expect(try await bench.report(["transactionID": "1", "used": 3]).status == 200)
        try await bench.requestRefund(of: coins, reason: .unsatisfiedWithPurchase)
        #expect(try await bench.refundRequests("?state=pending").count == 1)
        try await bench.answerRefunds()
        #expect(store.sent.map(\.path) == ["/inApps/v2/transactions/consumption/1"])
        #expect(
            store.sent[0].body == [
                "customerConsented": true, "sampleContentProvided": false, "deliveryStatus": "DELIVERED",
                "consumptionPercentage": 30000, "refundPreference": "GRANT_PRORATED",
            ])
        let request = try #require(try await bench.refundRequests("?state=sent").first)
        #expect(request["rule"] == "part" && request["decidedBy"] == "policy" && request["status"] == 202)
        #expect(request["request"] == store.sent[0].body && request["customers"] == ["anna"])
        #expect(request["reason"] == "UNSATISFIED_WITH_PURCHASE" && request["attempts"] == 1)
        let deadline = bench.clock.now().addingTimeInterval(12 * 3600)
        #expect(request["deadline"] == .string(RFC3339.string(from: deadline)))
        await bench.close()
    }

    /// Returns whether the desk's background job is woken while `change` runs.
    private func isWoken(
        by change: (ServerBench) async throws -> Void, after preparation: (ServerBench) async throws -> Void = { _ in }
    ) async throws -> Bool {
        let bench = try await ServerBench.refunding(to: ConsumptionReceiver())
        try await preparation(bench)
        let changes = bench.service.parts.changes
        let commits = changes.listen(to: .refundRequests)
        try await change(bench)
        // The stream keeps a commit until it is read, and then ends.
        changes.end()
        var isWoken = false
        for await _ in commits { isWoken = true }
        await bench.close()
        return isWoken
    }

    @Test func `the desk is woken by a request, by an operator's answer, and by no other commit`() async throws {
        let isWokenByPurchase = try await isWoken { bench in _ = try await bench.buyCoins() }
        #expect(!isWokenByPurchase)
        let isWokenByRequest = try await isWoken { bench in
            try await bench.requestRefund(of: try await bench.buyCoins())
        }
        #expect(isWokenByRequest)
        let isWokenByAnswer = try await isWoken { bench in
            let reply = try await bench.answerRefund(["answer": "none", "reason": "by phone"])
            #expect(reply.status == 200)
        } after: { bench in
            try await bench.requestRefund(of: try await bench.buyCoins())
        }
        #expect(isWokenByAnswer)
    }

    @Test func `a notification that is received again is answered once, and a later request again`() async throws {
        let store = ConsumptionReceiver()
        let bench = try await ServerBench.refunding(to: store)
        let coins = try await bench.buyCoins()
        for _ in 0..<2 {
            try await bench.requestRefund(of: coins)
            bench.clock.advance(by: 60)
            try await bench.answerRefunds()
        }
        #expect(store.sent.count == 1)
        try await bench.requestRefund("r-2", of: coins)
        try await bench.answerRefunds()
        #expect(store.sent.count == 2)
        #expect(try await bench.refundRequests().map { $0["notificationUUID"] } == ["r-2", "r-1"])
        await bench.close()
    }

    @Test func `a request whose time has ended is recorded and not answered`() async throws {
        let store = ConsumptionReceiver()
        let bench = try await ServerBench.refunding(to: store)
        let coins = try await bench.buyCoins()
        let old = try bench.notification("r-1", .consumptionRequest, transaction: coins)
        bench.clock.advance(by: 12 * 3600)
        #expect(try await bench.notify(old).status == 200)
        try await bench.answerRefunds()
        #expect(store.sent.isEmpty)
        #expect(try await bench.refundRequests().map { $0["state"] } == ["expired"])
        #expect(try await bench.answerRefund(["answer": "none", "reason": "x"]).code == "refund_request_closed")
        await bench.close()
    }

    @Test func `without consent nothing is sent`() async throws {
        let store = ConsumptionReceiver()
        let bench = try await ServerBench.refunding(to: store)
        for (id, consent) in [("1", nil), ("2", false)] as [(String, Bool?)] {
            let coins = try await bench.buyCoins(id, for: "customer-\(id)", consent: consent)
            try await bench.requestRefund("r-\(id)", of: coins)
        }
        // No customer has this purchase.
        try await bench.requestRefund("r-3", of: bench.purchase("3", product: "coins", type: .consumable))
        try await bench.answerRefunds()
        #expect(store.sent.isEmpty)
        let requests = try await bench.refundRequests("?state=silent")
        #expect(requests.map { $0["silence"] } == ["consentUnknown", "consentRefused", "consentUnknown"])
        #expect(requests.map { $0["customers"] } == [[], ["customer-2"], ["customer-1"]])
        await bench.close()
    }

    @Test func `earlier refunds of the customer count, and other customers' do not`() async throws {
        let store = ConsumptionReceiver()
        let bench = try await ServerBench.refunding(to: store)
        let coins = try await bench.buyCoins("1")
        let others = try await bench.buyCoins("5", for: "ben")
        var refunded = bench.purchasePayload("2", product: "coins", type: .consumable)
        refunded.revocationDate = bench.clock.now()
        #expect(try await bench.post(bench.sign(refunded)).status == 200)
        try await bench.requestRefund("r-1", of: coins)
        try await bench.requestRefund("r-2", of: others)
        try await bench.answerRefunds()
        #expect(try await bench.refundRequests().map { $0["rule"] } == ["rest", "often"])
        await bench.close()
    }

    // MARK: - Failures

    @Test
    func `an attempt without a result is repeated after the lease with the same content, and a stored success is not`()
        async throws
    {
        let store = ConsumptionReceiver()
        let bench = try await ServerBench.refunding(to: store)
        let coins = try await bench.buyCoins()
        try await bench.requestRefund(of: coins)
        // A cancelled attempt stores no result, as if the server were killed.
        store.answer {
            withUnsafeCurrentTask { $0?.cancel() }
            throw CancellationError()
        }
        await #expect(throws: CancellationError.self) { try await bench.answerRefunds() }
        await bench.close()
        let next = try await ServerBench.refunding(to: store, beside: bench)
        // Known only after the decision.
        #expect(try await next.report(["transactionID": "1", "percentage": 100]).status == 200)
        try await next.answerRefunds()
        #expect(store.sent.count == 1)
        bench.realClock.advance(by: RefundDesk.lease)
        try await next.answerRefunds()
        #expect(store.sent.count == 2 && store.sent[0].body == store.sent[1].body)
        bench.realClock.advance(by: RefundDesk.lease)
        try await next.answerRefunds()
        #expect(store.sent.count == 2)
        await next.close()
    }

    @Test func `a failed attempt is repeated with pauses until the deadline`() async throws {
        let store = ConsumptionReceiver()
        let bench = try await ServerBench.refunding(to: store)
        try await bench.requestRefund(of: try await bench.buyCoins())
        store.answer { throw HTTPError(.connectionFailed, "The network is down.") }
        store.answer { HTTPResponse(status: 401) }
        store.answer { HTTPResponse(status: 500) }
        for attempt in 1...3 {
            try await bench.answerRefunds()
            try await bench.answerRefunds()
            #expect(store.sent.count == attempt)
            bench.realClock.advance(by: 60 * pow(2, Double(attempt - 1)))
        }
        let pending = try #require(try await bench.refundRequests("?state=pending").first)
        #expect(pending["attempts"] == 3 && pending["status"] == 500 && pending["nextAttemptAt"] != nil)
        try await bench.answerRefunds()
        #expect(store.sent.count == 4)
        #expect(try await bench.refundRequests().map { $0["state"] } == ["sent"])
        await bench.close()
    }

    @Test func `an answer that never arrives expires`() async throws {
        let store = ConsumptionReceiver()
        let bench = try await ServerBench.refunding(to: store)
        try await bench.requestRefund(of: try await bench.buyCoins())
        store.answer { HTTPResponse(status: 503) }
        try await bench.answerRefunds()
        bench.clock.advance(by: 12 * 3600)
        try await bench.answerRefunds()
        #expect(store.sent.count == 1)
        #expect(try await bench.refundRequests().map { $0["state"] } == ["expired"])
        await bench.close()
    }

    @Test func `an answer that Apple refuses is not repeated, and an operator can replace it`() async throws {
        let store = ConsumptionReceiver()
        let bench = try await ServerBench.refunding(to: store)
        try await bench.requestRefund(of: try await bench.buyCoins())
        store.answer {
            HTTPResponse(status: 400, json: ["errorCode": 4_000_035, "errorMessage": "Invalid customer consented."])
        }
        try await bench.answerRefunds()
        bench.realClock.advance(by: 86_400)
        try await bench.answerRefunds()
        let failed = try #require(try await bench.refundRequests("?state=failed").first)
        #expect(store.sent.count == 1 && failed["status"] == 400)
        #expect(failed["error"]?.stringValue?.isEmpty == false)
        let answer = try await bench.answerRefund(["answer": ["preference": "DECLINE"], "reason": "fraud"])
        #expect(answer.status == 200 && answer.json["state"] == "pending")
        try await bench.answerRefunds()
        #expect(store.sent.last?.body["refundPreference"] == "DECLINE")
        let sent = try #require(try await bench.refundRequests("?state=sent").first)
        #expect(sent["decidedBy"] == "operator" && sent["note"] == "fraud" && sent["rule"] == nil)
        await bench.close()
    }

    @Test func `of two servers, one answers`() async throws {
        guard ServerBench.engine == .postgreSQL else { return }
        let store = ConsumptionReceiver()
        let first = try await ServerBench.refunding(to: store)
        let second = try await ServerBench.refunding(to: store, beside: first)
        for id in 1...6 {
            let coins = try await first.buyCoins("\(id)", for: "customer-\(id)")
            try await first.requestRefund("r-\(id)", of: coins)
        }
        async let one: Void = first.answerRefunds()
        async let other: Void = second.answerRefunds()
        _ = try await (one, other)
        #expect(store.sent.count == 6 && Set(store.sent.map(\.path)).count == 6)
        await first.close()
        await second.close()
    }

    // MARK: - Modes

    @Test func `a dry run records its decisions and sends nothing`() async throws {
        let store = ConsumptionReceiver()
        let bench = try await ServerBench.refunding(
            #"{"dryRun": true, "refundRules": [{"name": "all", "answer": {"preference": "DECLINE"}}]}"#, to: store)
        try await bench.requestRefund(of: try await bench.buyCoins())
        try await bench.answerRefunds()
        let request = try #require(try await bench.refundRequests("?state=dryRun").first)
        #expect(request["rule"] == "all" && request["request"]?["refundPreference"] == "DECLINE")
        #expect(store.sent.isEmpty && request["answeredAt"] == nil)
        await bench.close()
    }

    @Test func `without a policy requests wait for an operator`() async throws {
        let store = ConsumptionReceiver()
        let bench = try await ServerBench.refunding(nil, to: store)
        try await bench.requestRefund(of: try await bench.buyCoins())
        try await bench.answerRefunds()
        #expect(store.sent.isEmpty)
        _ = try await bench.answerRefund(["answer": ["preference": "GRANT_FULL"], "reason": "goodwill"])
        try await bench.answerRefunds()
        #expect(store.sent.map { $0.body["refundPreference"] } == ["GRANT_FULL"])
        await bench.close()
    }

    @Test func `a policy can use version 1, which purchases of the Advanced Commerce API always have`() async throws {
        let store = ConsumptionReceiver()
        let bench = try await ServerBench.refunding(
            #"{"version": 1, "refundRules": [{"name": "all", "answer": {"preference": "GRANT_FULL"}}]}"#, to: store)
        try await bench.requestRefund(of: try await bench.buyCoins())
        try await bench.answerRefunds()
        #expect(store.sent.map(\.path) == ["/inApps/v1/transactions/consumption/1"])
        #expect(store.sent[0].body["refundPreference"] == 1 && store.sent[0].body["accountTenure"] == 1)
        await bench.close()
        let second = try await ServerBench.refunding(to: store)
        _ = try await second.buyCoins()
        var payload = second.purchasePayload("1", product: "coins", type: .consumable)
        payload.fields["advancedCommerceInfo"] = ["requestReferenceId": "7"]
        try await second.requestRefund(of: second.sign(payload))
        try await second.answerRefunds()
        #expect(store.sent.last?.path == "/inApps/v1/transactions/consumption/1")
        await second.close()
    }

    @Test func `a policy without a client of the App Store is refused, unless it is a dry run`() async throws {
        let policy = try RefundPolicy(parsing: ServerBench.refundPolicy.utf8)
        await #expect(throws: EntitlementServerError.self) {
            try await ServerBench { $0.apps[0].refundPolicy = policy }
        }
        var dry = policy
        dry.isDryRun = true
        let bench = try await ServerBench { [dry] in $0.apps[0].refundPolicy = dry }
        await bench.close()
    }

    // MARK: - Outcomes

    @Test func `the store's decisions are attached to their requests, in any order of arrival`() async throws {
        let bench = try await ServerBench.refunding(to: ConsumptionReceiver())
        let coins = try await bench.buyCoins()
        let types: [AppStoreServerAPI.NotificationType] = [
            .consumptionRequest, .refundDeclined, .consumptionRequest, .refund, .refundReversed,
        ]
        let notifications = try types.enumerated().map { index, type in
            defer { bench.clock.advance(by: 60) }
            return try bench.notification("n-\(index)", type, transaction: coins)
        }
        for order in [[0, 1, 2, 3, 4], [4, 3, 2, 1, 0], [3, 0, 4, 1, 2]] {
            let next = try await ServerBench.refunding(to: ConsumptionReceiver())
            for index in order { #expect(try await next.notify(notifications[index]).status == 200) }
            let outcomes = try await next.refundRequests().map { ($0["notificationUUID"], $0["outcome"]) }
            #expect(Set(outcomes.map { "\($0.0 ?? .null) \($0.1 ?? .null)" }).count == 2)
            for (id, outcome) in outcomes { #expect(outcome == (id == "n-0" ? "declined" : "reversed"), "\(order)") }
            await next.close()
        }
        await bench.close()
    }

    @Test func `after a decision of the store nothing is sent`() async throws {
        let store = ConsumptionReceiver()
        let bench = try await ServerBench.refunding(to: store)
        let coins = try await bench.buyCoins()
        try await bench.requestRefund(of: coins)
        bench.clock.advance(by: 60)
        #expect(try await bench.notify(bench.notification("d-1", .refundDeclined, transaction: coins)).status == 200)
        try await bench.answerRefunds()
        #expect(store.sent.isEmpty)
        #expect(try await bench.refundRequests().map { $0["silence"] } == ["alreadyDecided"])
        #expect(try await bench.answerRefund(["answer": "none", "reason": "x"]).code == "refund_request_closed")
        await bench.close()
    }

    @Test func `the metrics count what waits and what is urgent`() async throws {
        let bench = try await ServerBench.refunding(nil, to: ConsumptionReceiver())
        func metrics() async throws -> String {
            String(decoding: try await bench.send(.get, "/metrics", as: .none).bytes, as: UTF8.self)
        }
        #expect(try await metrics().contains("souk_refund_requests_pending 0\n"))
        try await bench.requestRefund(of: try await bench.buyCoins())
        #expect(try await metrics().contains("souk_refund_requests_pending 1\n"))
        #expect(try await metrics().contains("souk_refund_requests_urgent 0\n"))
        bench.clock.advance(by: 10 * 3600)
        #expect(try await metrics().contains("souk_refund_requests_urgent 1\n"))
        bench.clock.advance(by: 2 * 3600)
        try await bench.answerRefunds()
        #expect(try await metrics().contains("souk_refund_requests_pending 0\n"))
        #expect(try await metrics().contains("souk_refund_answers_total{result=\"expired\"} 1\n"))
        await bench.close()
    }
}

import AppStorePayloads
import Foundation
import HTTPCore
import Primitives
import StoreModel
import Testing

@testable import EntitlementServer

/// Reports of the app for refund requests, answers of operators, and attacks.
@Suite(.onBothEngines) struct RefundReportTests {
    private static func token(of customer: String, _ bench: ServerBench) async throws -> HTTPHeaders {
        let reply = try await bench.send(.post, "/v1/customers/\(customer)/tokens", as: .secret)
        return ["Souk-Customer-Token": try #require(reply.json["token"]?.stringValue)]
    }

    // MARK: - Reports

    @Test func `a customer states the consent with the customer's own token, and the last statement counts`()
        async throws
    {
        let bench = try await ServerBench.refunding(to: ConsumptionReceiver())
        let path = "/v1/customers/anna/refund-consent"
        #expect(try await bench.state(consent: true, as: .public).code == "missing_customer_token")
        let others = try await Self.token(of: "ben", bench)
        let body = HTTPBody.json(["consented": true])
        #expect(try await bench.send(.post, path, headers: others, body: body).code == "another_customer")
        let own = try await Self.token(of: "anna", bench)
        let stated = try await bench.send(.post, path, headers: own, body: body)
        #expect(stated.status == 200 && stated.json["consented"] == true && stated.json["customer"] == "anna")
        #expect(try await bench.state(consent: false).json["consented"] == false)
        #expect(try bench.count("refund_consent") == 1)
        for wrong in [[:], ["consented": "yes"], ["consented": .null]] as [JSONValue] {
            let reply = try await bench.send(.post, path, as: .secret, body: .json(wrong))
            #expect(reply.status == 400 && reply.field == "consented")
        }
        await bench.close()
    }

    @Test func `usage is taken from the app's own server only, and for purchases of the customer only`() async throws {
        let bench = try await ServerBench.refunding(to: ConsumptionReceiver())
        try await bench.buyCoins("1")
        try await bench.buyCoins("5", for: "ben")
        let usage: JSONValue = ["transactionID": "1", "percentage": 12.5]
        #expect(try await bench.report(usage, as: .public).code == "secret_key_required")
        let own = try await Self.token(of: "anna", bench)
        let withToken = try await bench.send(
            .post, "/v1/customers/anna/usage-reports", headers: own, body: .json(usage))
        #expect(withToken.code == "secret_key_required")
        #expect(try await bench.report(["transactionID": "5", "used": 1]).code == "unknown_purchase")
        #expect(try await bench.report(["transactionID": "77", "used": 1]).code == "unknown_purchase")
        #expect(try bench.count("usage_report") == 0)
        let reply = try await bench.report(usage)
        #expect(reply.status == 200 && reply.json == usage)
        #expect(WireSchema.usageReport.violation(reply.json) == nil)
        await bench.close()
    }

    @Test(
        arguments: [
            ("percentage", -1), ("percentage", 100.001), ("percentage", 0.0001), ("percentage", "5"), ("used", -1),
            ("used", 1.5), ("used", 1_000_000_001), ("playTime", -1), ("deliveryStatus", "delivered"),
            ("sampleContentProvided", 1), ("transactionID", 1), ("transactionID", ""),
        ] as [(String, JSONValue)])
    func `an invalid member of a usage report is refused by its name`(member: String, value: JSONValue) async throws {
        let bench = try await ServerBench.refunding(to: ConsumptionReceiver())
        try await bench.buyCoins()
        var body: JSONValue = ["transactionID": "1"]
        body[member] = value
        let reply = try await bench.report(body)
        #expect(reply.status == 400 && reply.field == member)
        #expect(try bench.count("usage_report") == 0)
        await bench.close()
    }

    // MARK: - Operators

    @Test func `an operator's answer replaces the decision until it is sent`() async throws {
        let store = ConsumptionReceiver()
        let bench = try await ServerBench.refunding(to: store)
        let coins = try await bench.buyCoins()
        try await bench.requestRefund(of: coins)
        let none = try await bench.answerRefund(["answer": "none", "reason": "wait"])
        #expect(none.json["state"] == "silent" && none.json["silence"] == "byOperator")
        try await bench.answerRefunds()
        #expect(store.sent.isEmpty)
        let body: JSONValue = [
            "answer": [
                "preference": "GRANT_PRORATED", "percentage": 40, "deliveryStatus": "DELIVERED",
                "sampleContentProvided": true,
            ], "reason": "half",
        ]
        #expect(try await bench.answerRefund(body).status == 200)
        try await bench.answerRefunds()
        #expect(store.sent.map { $0.body["consumptionPercentage"] } == [40_000])
        #expect(try await bench.answerRefund(body).code == "refund_request_closed")
        try await bench.answerRefunds()
        #expect(store.sent.count == 1)
        await bench.close()
    }

    @Test func `an operator can vouch for an unknown consent, and not overrule a refusal`() async throws {
        let store = ConsumptionReceiver()
        let bench = try await ServerBench.refunding(to: store)
        try await bench.requestRefund(of: try await bench.buyCoins(consent: nil))
        let body: JSONValue = ["answer": ["preference": "DECLINE"], "reason": "x"]
        #expect(try await bench.answerRefund(body).code == "consent_unknown")
        var vouched = body
        vouched["customerConsented"] = true
        _ = try await bench.state(consent: false)
        #expect(try await bench.answerRefund(vouched).code == "consent_refused")
        #expect(store.sent.isEmpty)
        _ = try await bench.send(.delete, "/v1/customers/anna", as: .secret)
        #expect(try await bench.answerRefund(vouched).code == "consent_refused")
        await bench.close()
        let next = try await ServerBench.refunding(to: store)
        try await next.requestRefund(of: try await next.buyCoins(consent: nil))
        #expect(try await next.answerRefund(vouched).status == 200)
        try await next.answerRefunds()
        #expect(store.sent.count == 1)
        await next.close()
    }

    @Test func `an answer that Apple would refuse, or that is malformed, is refused`() async throws {
        let bench = try await ServerBench.refunding(to: ConsumptionReceiver())
        try await bench.requestRefund(of: try await bench.buyCoins())
        for (body, field) in [
            (["answer": ["preference": "GRANT_PRORATED"], "reason": "x"], "answer/preference"),
            (["answer": ["preference": "GRANT_PRORATED", "percentage": 100], "reason": "x"], "answer/preference"),
            (["answer": ["preference": "grant"], "reason": "x"], "answer/preference"),
            (["answer": ["percentage": 101], "reason": "x"], "answer/percentage"),
            (["answer": "all", "reason": "x"], "answer"), (["reason": "x"], "answer"), (["answer": "none"], "reason"),
            (["answer": "none", "reason": ""], "reason"),
            (["answer": "none", "reason": "x", "customerConsented": 1], "customerConsented"),
        ] as [(JSONValue, String)] {
            let reply = try await bench.answerRefund(body)
            #expect(reply.status == 400 && reply.field == field, "\(body)")
        }
        #expect(try await bench.refundRequests("?state=pending").count == 1)
        await bench.close()
    }

    @Test func `an attempt in progress is not replaced`() async throws {
        let store = ConsumptionReceiver()
        let bench = try await ServerBench.refunding(to: store)
        try await bench.requestRefund(of: try await bench.buyCoins())
        let answer: JSONValue = ["answer": ["preference": "DECLINE"], "reason": "x"]
        store.answer {
            let refused = try await bench.answerRefund(answer)
            #expect(refused.code == "refund_answer_in_progress")
            return HTTPResponse(status: 202)
        }
        try await bench.answerRefunds()
        #expect(store.sent.count == 1)
        #expect(try await bench.refundRequests().map { $0["decidedBy"] } == ["policy"])
        await bench.close()
    }

    @Test func `an answer with an idempotency key is stored once`() async throws {
        let store = ConsumptionReceiver()
        let bench = try await ServerBench.refunding(to: store)
        try await bench.requestRefund(of: try await bench.buyCoins())
        let body: JSONValue = ["answer": ["preference": "DECLINE"], "reason": "x"]
        func answer() async throws -> ServerBench.Reply {
            try await bench.send(
                .post, "/v1/refund-requests/1/answer", as: .secret, headers: ["Idempotency-Key": "k"],
                body: .json(body))
        }
        let first = try await answer()
        try await bench.answerRefunds()
        let second = try await answer()
        #expect(first.status == 200 && second.bytes == first.bytes && store.sent.count == 1)
        await bench.close()
    }

    @Test func `requests are listed in pages`() async throws {
        let bench = try await ServerBench.refunding(nil, to: ConsumptionReceiver())
        for id in 1...3 { try await bench.requestRefund("r-\(id)", of: bench.purchase("\(id)")) }
        let page = try await bench.send(.get, "/v1/refund-requests?limit=2", as: .secret)
        #expect(page.json["refundRequests"]?.arrayValue?.map { $0["id"] } == ["3", "2"])
        let cursor = try #require(page.json["nextCursor"]?.stringValue)
        #expect(try await bench.refundRequests("?cursor=\(cursor)").map { $0["id"] } == ["1"])
        for query in ["?state=open", "?cursor=x", "?cursor=0"] {
            #expect(try await bench.send(.get, "/v1/refund-requests\(query)", as: .secret).status == 400)
        }
        await bench.close()
    }

    // MARK: - Attacks

    @Test func `forged and foreign notifications request nothing`() async throws {
        let bench = try await ServerBench.refunding(to: ConsumptionReceiver())
        let coins = try await bench.buyCoins()
        let forged = try bench.notification(
            "f-1", .consumptionRequest, transaction: coins, by: ServerBench.foreignChain)
        #expect(try await bench.notify(forged).status == 422)
        let foreign = try bench.purchase("1", product: "coins", type: .consumable) {
            $0.bundleId = ServerBench.otherApp.rawValue
        }
        #expect(
            try await bench.notify(bench.notification("f-2", .consumptionRequest, transaction: foreign)).status == 422)
        let forgedInside = try bench.sign(
            bench.purchasePayload("1", product: "coins", type: .consumable), by: ServerBench.foreignChain)
        let wrapped = try bench.notification("f-3", .consumptionRequest, transaction: forgedInside)
        #expect(try await bench.notify(wrapped).status == 422)
        #expect(try await bench.notify(bench.notification("f-4", .consumptionRequest)).status == 200)
        #expect(try bench.count("refund_request") == 0)
        await bench.close()
    }

    @Test func `another app and the public key cannot see or answer a request`() async throws {
        let bench = try await ServerBench.refunding(to: ConsumptionReceiver())
        try await bench.requestRefund(of: try await bench.buyCoins())
        let others = try await bench.send(.get, "/v1/refund-requests", as: .secret, of: ServerBench.otherApp)
        #expect(others.json["refundRequests"] == [])
        let body: JSONValue = ["answer": "none", "reason": "x"]
        let answer = try await bench.send(
            .post, "/v1/refund-requests/1/answer", as: .secret, of: ServerBench.otherApp, body: .json(body))
        #expect(answer.code == "unknown_refund_request")
        #expect(try await bench.answerRefund(body, as: .public).code == "secret_key_required")
        #expect(try await bench.send(.get, "/v1/refund-requests").code == "secret_key_required")
        for id in ["0", "2", "-1", "x", "99999999999999999999"] {
            #expect(try await bench.answerRefund(body, to: id).code == "unknown_refund_request", "\(id)")
        }
        #expect(try await bench.refundRequests().map { $0["state"] } == ["pending"])
        await bench.close()
    }

    // MARK: - Export, merge and erasure

    @Test func `an export contains what was reported and decided, and an erasure deletes the reports`() async throws {
        let bench = try await ServerBench.refunding(to: ConsumptionReceiver())
        let coins = try await bench.buyCoins()
        _ = try await bench.report(["transactionID": "1", "percentage": 25, "playTime": 60])
        try await bench.requestRefund(of: coins)
        _ = try await bench.answerRefund(["answer": "none", "reason": "anna called"])
        let export = try await bench.send(.get, "/v1/customers/anna/export", as: .secret).json
        #expect(export["refundConsent"]?.arrayValue?.first?["consented"] == true)
        let usage = export["usageReports"]?.arrayValue?.first
        #expect(usage?["transactionID"] == "1" && usage?["percentage"] == 25_000 && usage?["playTime"] == 60)
        #expect(export["refundRequests"]?.arrayValue?.first?["note"] == "anna called")
        #expect(try await bench.send(.delete, "/v1/customers/anna", as: .secret).status == 200)
        #expect(try bench.count("refund_consent") == 0 && bench.count("usage_report") == 0)
        let request = try #require(try await bench.refundRequests().first)
        #expect(request["note"] == "erased" && request["customers"] != ["anna"])
        await bench.close()
    }

    @Test func `a merge moves usage, and the newer statement about the consent counts`() async throws {
        for (isNewerFirst, expected) in [(true, true), (false, false)] {
            let bench = try await ServerBench.refunding(to: ConsumptionReceiver())
            try await bench.buyCoins("1", for: "anonymous-1", consent: nil)
            _ = try await bench.report(["transactionID": "1", "used": 1], of: "anonymous-1")
            let statements = [("anna", true), ("anonymous-1", false)]
            for (customer, consent) in isNewerFirst ? statements.reversed() : statements {
                _ = try await bench.state(consent: consent, of: customer)
                bench.clock.advance(by: 60)
            }
            let merged = try await bench.send(
                .post, "/v1/customers/anna/aliases", as: .secret, body: .json(["alias": "anonymous-1"]))
            #expect(merged.status == 200)
            let export = try await bench.send(.get, "/v1/customers/anna/export", as: .secret).json
            #expect(export["refundConsent"]?.arrayValue?.map { $0["consented"] } == [.bool(expected)])
            #expect(export["usageReports"]?.arrayValue?.count == 1)
            #expect(try bench.count("refund_consent") == 1)
            await bench.close()
        }
    }
}

import Foundation
import HTTPCore
import Primitives
import SQLStorage
import StoreModel
import Testing

@testable import EntitlementServer

/// SQLite plans without statistics, and may scan a whole ledger although an index exists. That is slow only in a large
/// ledger, so these tests check the plans themselves.
@Suite struct QueryPlanTests {
    @Test(.onSQLite) func `the statements of requests and background jobs find their rows without scanning a ledger`()
        async throws
    {
        let box = RecorderBox()
        let receiver = WebhookReceiver { _, before in before == 0 ? 500 : 200 }
        let secret = try WebhookSecret(ServerBench.webhookSecret)
        let bench = try await ServerBench(
            configure: {
                $0.answerMemory = 0
                $0.apps[0].credits = CreditTests.table
                $0.console = .loopback
                $0.webhooks = [
                    Webhook(name: "crm", app: ServerBench.app, url: "http://a/", secrets: [secret]),
                    Webhook(
                        name: "log", app: ServerBench.app, url: "http://a/log", secrets: [secret], batchSize: 2),
                ]
                $0.webhookTransport = receiver
                $0.webhookBackoff = .none
            }, wrapping: box.wrap)
        let recorder = try #require(box.database)
        recorder.reset()

        let signed = try bench.period("1") { $0.appAccountToken = CustomerID("anna").appAccountToken }
        let headers: HTTPHeaders = ["Idempotency-Key": "1"]
        _ = try await bench.post([signed], renewals: [bench.renewalInfo()], headers: headers)
        _ = try await bench.post([bench.period("2", of: "1"), bench.purchase("3")])
        _ = try await bench.post([bench.purchase("3")], for: "ben")
        _ = try await bench.get("anna")
        _ = try await bench.get("nobody")
        _ = try await bench.grant()
        _ = try await bench.send(.delete, "/v1/customers/anna/grants/x", as: .secret)
        _ = try await bench.send(.get, "/v1/customers/anna/facts", as: .secret)
        let visitor = try await ConsoleVisitor.signedIn(at: bench)
        for path in [
            "", "?query=an", "/customer?id=anna", "/customer?id=anna&purchase=1", "/fact?id=anna&sequence=1", "/audit",
            "/audit?id=anna", "/operations",
        ] {
            #expect(try await visitor.get(path).status == 200)
        }
        for job in bench.service.jobs where job.name == "figures" { while try await job.step() {} }
        for path in ["mrr", "churn?by=month", "retention?by=month&group=product", "lifetime-value?group=country"] {
            #expect(try await bench.send(.get, "/v1/figures/\(path)", as: .secret).status == 200)
        }
        for (path, fields) in [
            ("/grants", [("id", "anna"), ("feature", "more"), ("reason", "x")]),
            ("/transfers", [("id", "ben"), ("purchase", "3"), ("to", "heir")]),
            ("/credits", [("id", "heir"), ("credit", "coins"), ("amount", "9"), ("reason", "x")]),
            ("/redemptions", [("id", "heir"), ("credit", "coins"), ("type", "filter"), ("item", "cat")]),
            ("/merges", [("id", "heir"), ("alias", "anonymous-1")]), ("/exports", [("id", "heir")]),
        ] { _ = try await visitor.act(path, fields) }
        _ = try await visitor.act("/erasures", [("id", "heir")], adding: [("confirm", "heir")])
        bench.clock.advance(by: 60 * 86400)
        _ = try await bench.get("anna")
        try await bench.deliver()
        #expect(try await visitor.get("/operations").text.contains("Repeat"))
        let review = try await visitor.review("/deliveries/replay", [("delivery", "all")])
        _ = try await visitor.post("/deliveries/replay", review.fields)
        try await bench.deliver()
        _ = try await bench.deliveries("?state=dead")
        _ = try await bench.send(.post, "/v1/webhook-deliveries/1/replay", as: .secret)
        _ = try await bench.send(.post, "/v1/webhook-deliveries/replay", as: .secret)
        try await EventListener(bench, after: "0").stream.cancel()
        _ = try await bench.send(.get, "/metrics", as: .none)
        _ = try await bench.post(bench.period("4"), for: "carl")
        _ = try await bench.present(receipt: bench.receipt([bench.receiptPurchase("5")]), for: "dora")
        _ = try await bench.validate(bench.receipt([bench.receiptPurchase("6")]))
        _ = try await bench.notify(
            bench.notification(transaction: bench.period("7"), renewal: bench.renewalInfo(of: "7")))
        _ = try await bench.state(consent: true, of: "dora")
        _ = try await bench.report(["transactionID": "5", "used": 1], of: "dora")
        try await bench.requestRefund(of: bench.purchase("5"))
        _ = try await bench.refundRequests("?state=pending")
        _ = try await bench.answerRefund(["answer": "none", "reason": "x"])
        try await bench.answerRefunds()
        _ = try bench.service.ledger.hasLapsed("4", in: LedgerID(app: ServerBench.app, environment: .sandbox))
        _ = try await bench.send(.get, "/v1/customers/dora/export", as: .secret)
        _ = try await bench.send(.delete, "/v1/customers/dora", as: .secret)
        bench.clock.advance(by: 60 * 86400)
        _ = try await bench.service.reload { $0.apps[0].features = FeatureMap(features: ["gold": ["pro.monthly"]]) }
        for job in bench.service.jobs { while try await job.step() {} }

        let statements = Set(recorder.statements.map(\.sql)).filter { !$0.hasPrefix("EXPLAIN") }
        #expect(statements.count > 20)
        for sql in statements {
            for step in try await plan(of: sql, in: bench.database) {
                #expect(!step.hasPrefix("SCAN") || step == "SCAN CONSTANT ROW", "\(step): \(sql)")
                #expect(!step.hasSuffix("(app=? AND environment=?)"), "\(step): \(sql)")
                // A search by `rowid < ?` reads all earlier rows. Only a DELETE may do so, since it removes them.
                #expect(!step.hasSuffix("(rowid<?)") || sql.hasPrefix("DELETE"), "\(step): \(sql)")
            }
        }
        await bench.close()
    }

    @Test(.onSQLite) func `a scan of a ledger is found in its query plan`() async throws {
        let bench = try await ServerBench()
        let scan = "SELECT * FROM fact WHERE app = ?1 AND environment = ?2"
        #expect(try await plan(of: scan, in: bench.database).contains { $0.hasSuffix("(app=? AND environment=?)") })
        #expect(try await plan(of: "SELECT * FROM customer", in: bench.database).contains { $0.hasPrefix("SCAN") })
        await bench.close()
    }

    private func plan(of sql: String, in database: any SQLDatabase) async throws -> [String] {
        let count = (1...20).last { sql.contains("?\($0)") } ?? 0
        return try await database.write { connection in
            try connection.query("EXPLAIN QUERY PLAN \(sql)", Array(repeating: .null, count: count))
                .map { try $0["detail"] }
        }
    }
}

import Foundation
import HTTPCore
import Primitives
import StoreModel
import Testing

@testable import EntitlementServer

@Suite(.onBothEngines) struct WebPurchaseTests {
    private static let secret = "0123456789abcdef0123456789abcdef"
    private static let former = "fedcba9876543210fedcba9876543210"

    private func bench(_ environments: [StoreEnvironment] = [.sandbox]) async throws -> ServerBench {
        try await ServerBench(
            environments: environments,
            configure: { configuration in
                let secrets = [Self.secret, Self.former].compactMap { try? WebhookSecret($0) }
                configuration.webPurchases = [
                    .init(name: "shop", app: ServerBench.app, environment: .sandbox, secrets: secrets)
                ]
            })
    }

    private func purchase(
        _ bench: ServerBench, _ id: TransactionID = "order-1", _ change: (inout WebPurchase) -> Void = { _ in }
    ) -> WebPurchase {
        let now = bench.clock.now()
        var purchase = WebPurchase(
            customer: "anna", transactionID: id, productID: "pro.monthly", kind: .autoRenewableSubscription,
            purchasedAt: now, expiresAt: now.addingTimeInterval(30 * 86400),
            price: Price(amount: 5, currency: "EUR"), autoRenews: true, occurredAt: now)
        change(&purchase)
        return purchase
    }

    private func post(
        _ bench: ServerBench, _ body: [UInt8], by secret: String = secret, after seconds: Double = 0,
        source: String = "shop"
    ) async throws -> ServerBench.Reply {
        let header = WebhookSignature.header(
            for: body, at: bench.realClock.now() + seconds, secrets: [try WebhookSecret(secret)])
        return try await bench.send(
            .post, "/v1/webhooks/\(source)", as: .none, headers: [WebhookSignature.field: header], body: .bytes(body))
    }

    private func post(_ bench: ServerBench, _ purchase: WebPurchase) async throws -> ServerBench.Reply {
        try await post(bench, try WireJSON.encode(purchase))
    }

    @Test func `a web purchase belongs to its customer`() async throws {
        let bench = try await bench()
        let reply = try await post(bench, purchase(bench))
        #expect(reply.status == 200 && reply.acknowledged == ["order-1"])
        let answer = try await bench.get().customer()
        #expect(answer.features.map(\.name) == ["pro"])
        let subscription = try #require(answer.subscriptions.first)
        #expect(subscription.source == .web && subscription.autoRenews == true && subscription.state == .active)
        #expect(subscription.price == Price(amount: 5, currency: "EUR"))
        #expect(answer.managementURL == nil)
        let facts = try await bench.send(.get, "/v1/customers/anna/facts", as: .secret).json["facts"]?.arrayValue
        #expect(facts?.count == 2 && facts?.allSatisfy { $0["source"] == "web" } == true)
        await bench.close()
    }

    @Test(arguments: [["order-1", nil], [nil, "order-1", "sub-7"], ["sub-7", "sub-8", nil]])
    func `a payment belongs to one purchase, however often it is reported`(originals: [TransactionID?]) async throws {
        let bench = try await bench()
        for (index, original) in originals.enumerated() {
            for customer: CustomerID in ["anna", "ben"] {
                bench.clock.advance(by: 1)
                let reported = purchase(bench, "order-1") {
                    $0.customer = customer
                    $0.originalTransactionID = original
                }
                let reply = try await post(bench, reported)
                let isFirst = index == 0 || original ?? "order-1" == originals[0] ?? "order-1"
                #expect(reply.status == (isFirst ? 200 : 422), "\(index) \(reply)")
                if !isFirst { #expect(reply.code == "boundToAnotherPurchase") }
            }
        }
        #expect(try bench.count("purchase") == 1)
        await bench.close()
    }

    @Test func `a renewal, a cancellation and a refund can be reported in any order`() async throws {
        let bench = try await bench()
        let first = purchase(bench)
        bench.clock.advance(by: 29 * 86400)
        let second = purchase(bench, "order-2") { $0.originalTransactionID = "order-1" }
        bench.clock.advance(by: 86400)
        var cancelled = second
        cancelled.autoRenews = false
        cancelled.occurredAt = bench.clock.now()
        for reported in [cancelled, first, second, cancelled] { #expect(try await post(bench, reported).status == 200) }
        let subscription = try #require(try await bench.get().customer().subscriptions.first)
        #expect(subscription.expiresAt == second.expiresAt && subscription.autoRenews == false)
        bench.clock.advance(by: 60)
        var refunded = cancelled
        refunded.revokedAt = bench.clock.now()
        refunded.occurredAt = bench.clock.now()
        _ = try await post(bench, refunded)
        bench.clock.advance(by: 86400)
        #expect(try await bench.get().active() == [])
        await bench.close()
    }

    @Test func `a web shop can sell a consumable`() async throws {
        let bench = try await bench()
        let coins = purchase(bench) { purchase in
            purchase.productID = "coins"
            purchase.kind = .consumable
            purchase.quantity = 3
            purchase.expiresAt = nil
        }
        _ = try await post(bench, coins)
        #expect(try await bench.get().customer().purchases.map(\.quantity) == [3])
        await bench.close()
    }

    @Test func `a repeated report adds no fact`() async throws {
        let bench = try await bench()
        let body = try WireJSON.encode(purchase(bench))
        for _ in 0..<2 { #expect(try await post(bench, body).status == 200) }
        #expect(try bench.count("fact") == 2 && bench.count("claim") == 1)
        await bench.close()
    }

    @Test func `the former secret is accepted while it is replaced`() async throws {
        let bench = try await bench()
        let body = try WireJSON.encode(purchase(bench))
        #expect(try await post(bench, body, by: Self.former).status == 200)
        await bench.close()
    }

    @Test func `a request without a current signature changes nothing`() async throws {
        let bench = try await bench()
        let body = try WireJSON.encode(purchase(bench))
        let none = try await bench.send(.post, "/v1/webhooks/shop", as: .none, body: .bytes(body))
        #expect(none.status == 401 && none.code == "missing_signature")
        let odd = try await bench.send(
            .post, "/v1/webhooks/shop", as: .none, headers: [WebhookSignature.field: "hello"], body: .bytes(body))
        #expect(odd.status == 401 && odd.code == "malformed_signature")
        let other = try await post(bench, body, by: String(repeating: "x", count: 32))
        #expect(other.status == 401 && other.code == "signature_invalid" && other.field == WebhookSignature.field)
        let old = try await post(bench, body, after: -301)
        #expect(old.status == 401 && old.code == "signature_not_current")
        let unknown = try await post(bench, body, source: "nobody")
        #expect(unknown.status == 404 && unknown.code == "unknown_source")
        // Signatures age in real time.
        bench.clock.advance(by: 365 * 86400)
        #expect(try bench.count("fact") == 0 && bench.count("customer") == 0)
        #expect(try await post(bench, body).status == 200)
        await bench.close()
    }

    @Test func `an invalid purchase is refused with the name of its field`() async throws {
        let bench = try await bench()
        let wrong: [(String, (inout WebPurchase) -> Void)] = [
            ("transactionID", { $0.transactionID = "1000" }), ("expiresAt", { $0.expiresAt = nil }),
            ("originalTransactionID", { $0.originalTransactionID = "7" }), ("quantity", { $0.quantity = 0 }),
            ("kind", { $0.kind = .init(rawValue: "gift") }),
        ]
        for (field, change) in wrong {
            let reply = try await post(bench, purchase(bench, "order-1", change))
            #expect(reply.status == 400 && reply.field == field)
        }
        let missing = try await post(bench, Array(#"{"customer":"anna"}"#.utf8))
        #expect(missing.status == 400 && missing.field == "transactionID")
        #expect(try await post(bench, Array("[]".utf8)).status == 400)
        #expect(try bench.count("fact") == 0)
        await bench.close()
    }

    @Test func `a purchase that is bound to its first customer is refused from others`() async throws {
        let bench = try await ServerBench(configure: { configuration in
            configuration.apps[0].transferMode = .keepWithOriginal
            configuration.webPurchases = [
                .init(
                    name: "shop", app: ServerBench.app, environment: .sandbox,
                    secrets: [Self.secret].compactMap { try? WebhookSecret($0) })
            ]
        })
        _ = try await post(bench, purchase(bench))
        let reply = try await post(bench, purchase(bench) { $0.customer = "ben" })
        #expect(reply.status == 422 && reply.code == "boundToAnotherCustomer")
        await bench.close()
    }

    @Test func `the example of the documentation is accepted`() async throws {
        let file = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent(
            "../../../Documentation/FactsIn.md")
        let text = try String(contentsOf: file, encoding: .utf8)
        let json = try #require(text.components(separatedBy: "```json purchase.json\n").dropFirst().first)
        let body = Array(try #require(json.components(separatedBy: "\n```").first).utf8)
        let bench = try await bench()
        #expect(try await post(bench, body).status == 200)
        await bench.close()
    }

    @Test func `an invalid source of web purchases is refused at the start`() async throws {
        let secrets = [try WebhookSecret(Self.secret)]
        let wrong: [[EntitlementService.Configuration.WebPurchaseSource]] = [
            [.init(name: "a", app: "com.example.nobody", environment: .sandbox, secrets: secrets)],
            [.init(name: "a", app: ServerBench.app, environment: .production, secrets: secrets)],
            [.init(name: "a", app: ServerBench.app, environment: .sandbox, secrets: [])],
            [.init(name: "", app: ServerBench.app, environment: .sandbox, secrets: secrets)],
            Array(
                repeating: .init(name: "a", app: ServerBench.app, environment: .sandbox, secrets: secrets), count: 2),
        ]
        for sources in wrong {
            await #expect(throws: EntitlementServerError(.invalidConfiguration, "")) {
                _ = try await ServerBench(configure: { $0.webPurchases = sources })
            }
        }
    }
}

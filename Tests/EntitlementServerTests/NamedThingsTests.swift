import BaseTestSupport
import Foundation
import HTTPCore
import Primitives
import StoreModel
import Testing

@testable import EntitlementServer

/// The names of credits, items, features, products, codes, shops, orders, customers and idempotency keys.
@Suite struct NamedThingsTests {
    @Test(arguments: UnicodeForms.pairs)
    func `a type of credit is found only under the bytes of its name`(pair: UnicodeForms) async throws {
        let credit = CreditTable.Credit(products: ["coins.100": 100], prices: [pair.composed: 5])
        let bench = try await ServerBench { $0.apps[0].credits = CreditTable(credits: [pair.composed: credit]) }
        _ = try await bench.post([try bench.coins("1")])
        let (own, other) = (IdentityTests.escaped(pair.composed), IdentityTests.escaped(pair.other))
        func redeem(_ credit: String, _ id: String, _ type: String) async throws -> ServerBench.Reply {
            let item: JSONValue = ["id": .string(id), "type": .string(type)]
            return try await bench.send(
                .post, "/v1/customers/anna/credits/\(credit)/redeem", as: .secret, body: .json(["items": [item]]))
        }
        #expect(try await redeem(own, "cat", pair.composed).json["balance"] == 95)
        #expect(try await bench.credit(other).status == 404)
        #expect(try await redeem(other, "dog", pair.composed).status == 404)
        #expect(try await redeem(own, "dog", pair.other).field == "items/0/type")
        #expect(try await redeem(own, pair.other, pair.composed).field == "items/0/id")
        #expect(try await bench.credit(own).json["balance"] == 95)
        await bench.close()
    }

    @Test(arguments: UnicodeForms.pairs)
    func `a feature and a product must be in form NFC`(pair: UnicodeForms) async throws {
        let bench = try await ServerBench()
        let promotion: JSONValue = ["code": "SPRING", "feature": .string(pair.other)]
        for reply in [
            try await bench.grant(pair.other),
            try await bench.send(.post, "/v1/promotions", as: .secret, body: .json(promotion)),
        ] {
            #expect(reply.status == 400 && reply.field == "feature")
            #expect(reply.json["detail"]?.stringValue?.contains("NFC") == true)
        }
        #expect(try await bench.grant(pair.composed).status == 201)
        let signed = try await bench.post(try bench.purchase("1", product: pair.other))
        #expect(signed.status == 422 && signed.code == "payloadMalformed")
        #expect(try await bench.post(try bench.purchase("2", product: pair.composed)).status == 200)
        await bench.close()
    }

    @Test(arguments: UnicodeForms.pairs)
    func `two orders of a shop whose ids differ only in their Unicode form are two purchases`(pair: UnicodeForms)
        async throws
    {
        let bench = try await IdentityTests.bench()
        func postPurchase(_ id: String, source: String = "caf\u{E9}") async throws -> ServerBench.Reply {
            let now = bench.clock.now()
            let purchase = WebPurchase(
                customer: "anna", transactionID: TransactionID(unchecked: "order \(id)"), productID: "coins.100",
                kind: .consumable, purchasedAt: now, occurredAt: now)
            let body = try WireJSON.encode(purchase)
            let header = WebhookSignature.header(
                for: body, at: bench.realClock.now(), secrets: [try WebhookSecret(IdentityTests.secret)])
            return try await bench.send(
                .post, "/v1/webhooks/\(IdentityTests.escaped(source))", as: .none,
                headers: [WebhookSignature.field: header], body: .bytes(body))
        }
        for id in [pair.composed, pair.other, pair.composed] {
            let reply = try await postPurchase(id)
            #expect(reply.status == 200)
            #expect(reply.acknowledged?.first?.hasSameBytes(as: "order \(id)") == true)
        }
        #expect(try await bench.credit().json["balance"] == 200)
        #expect(try await bench.get().customer().purchases.count == 2)
        #expect(try await postPurchase("x", source: "cafe\u{301}").code == "unknown_source")
        await bench.close()
    }

    @Test func `a promotional code must be in ASCII, and its case does not matter`() async throws {
        let bench = try await ServerBench()
        func make(_ code: String) async throws -> ServerBench.Reply {
            try await bench.send(
                .post, "/v1/promotions", as: .secret, body: .json(["code": .string(code), "feature": "sale"]))
        }
        func redeem(_ code: String) async throws -> ServerBench.Reply {
            try await bench.send(
                .post, "/v1/customers/anna/promotions", as: .secret, body: .json(["code": .string(code)]))
        }
        #expect(try await make("Kiss-Sale").json["code"] == "KISS-SALE")
        // A change of case or of the Unicode form can turn each of these strings into the code.
        for code in ["\u{212A}iss-Sale", "Ki\u{DF}-Sale", "Ki\u{17F}s-Sale", "K\u{131}ss-Sale", "Ki\u{FB06}-Sale"] {
            #expect(try await redeem(code).code == "invalid_field", "\(code)")
            #expect(try await make(code).code == "invalid_field", "\(code)")
            let path = "/v1/promotions/\(IdentityTests.escaped(code))"
            #expect(try await bench.send(.delete, path, as: .secret).status == 404, "\(code)")
        }
        #expect(try await redeem("kiss-sale").status == 200)
        await bench.close()
    }

    @Test(arguments: UnicodeForms.pairs)
    func `idempotency keys are compared by their bytes`(pair: UnicodeForms) async throws {
        let bench = try await ServerBench()
        for (key, grants) in [(pair.composed, 1), (pair.other, 2), (pair.composed, 2), (pair.other, 2)] {
            let reply = try await bench.grant("gift", headers: ["Idempotency-Key": key])
            #expect(reply.status == 201)
            #expect(try bench.count("customer_grant") == grants)
        }
        await bench.close()
    }

    @Test func `an idempotency key whose bytes were not UTF-8 is refused`() async throws {
        let bench = try await ServerBench()
        let reply = try await bench.grant("gift", headers: ["Idempotency-Key": "a\u{FFFD}"])
        #expect(reply.status == 400 && reply.field == "Idempotency-Key")
        #expect(try bench.count("customer_grant") == 0)
        await bench.close()
    }

    @Test(arguments: UnicodeForms.pairs)
    func `customer ids and aliases are compared by their bytes`(pair: UnicodeForms) async throws {
        let bench = try await ServerBench()
        let (one, two) = ("anonymous-\(pair.composed)", "anonymous-\(pair.other)")
        _ = try await bench.post(try bench.purchase("1"), for: IdentityTests.escaped(one))
        _ = try await bench.post(try bench.purchase("2", product: "more"), for: IdentityTests.escaped(two))
        #expect(try await bench.alias(one).status == 200)
        #expect(try await bench.get().active() == ["tools"])
        #expect(try await bench.get(IdentityTests.escaped(two)).active() == ["more"])
        #expect(try await bench.alias(two, to: IdentityTests.escaped(one)).status == 200)
        #expect(try await bench.get().active() == ["more", "tools"])
        #expect(try bench.count("alias") == 2 && bench.replay().differences == [])
        await bench.close()
    }
}

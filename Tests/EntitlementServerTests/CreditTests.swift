import Foundation
import HTTPCore
import Primitives
import StoreModel
import Testing

@testable import EntitlementServer

extension ServerBench {
    /// Returns a signed purchase of `quantity` packs of a hundred coins.
    func coins(_ id: String, quantity: Int = 1, revoked: Bool = false) throws -> String {
        try purchase(id, product: "coins.100", type: .consumable) {
            $0.quantity = quantity
            if revoked { $0.revocationDate = clock.now() }
        }
    }

    func credit(_ type: String = "coins", for customer: String = "anna") async throws -> Reply {
        try await send(.get, "/v1/customers/\(customer)/credits/\(type)", as: .secret)
    }

    func redeem(
        _ items: [(String, String)], for customer: String = "anna", headers: HTTPHeaders = [:]
    ) async throws -> Reply {
        let items = items.map { ["id": .string($0), "type": .string($1)] as JSONValue }
        return try await send(
            .post, "/v1/customers/\(customer)/credits/coins/redeem", as: .secret, headers: headers,
            body: .json(["items": .array(items)]))
    }
}

@Suite(.onBothEngines) struct CreditTests {
    static let table = CreditTable(
        credits: ["coins": .init(products: ["coins.100": 100], prices: ["filter": 5, "frame": 60])])

    private func bench() async throws -> ServerBench { try await ServerBench { $0.apps[0].credits = Self.table } }

    @Test func `consumables add to a credit, and redemptions spend it`() async throws {
        let bench = try await bench()
        #expect(try await bench.credit().json["balance"]?.intValue == 0)
        _ = try await bench.post([bench.coins("1"), bench.coins("2", quantity: 2)])
        let spent = try await bench.redeem([("cat", "filter"), ("oak", "frame")])
        #expect(spent.status == 200 && spent.json["balance"]?.intValue == 235)
        #expect(spent.json["items"]?.arrayValue?.compactMap { $0["cost"]?.intValue } == [5, 60])
        let left = try await bench.credit().json
        #expect(left["earned"]?.intValue == 300 && left["spent"]?.intValue == 65 && left["balance"]?.intValue == 235)
        #expect(left["prices"] == ["filter": 5, "frame": 60])
        await bench.close()
    }

    @Test func `an item is paid once, also when one request redeems it twice`() async throws {
        let bench = try await bench()
        _ = try await bench.post(bench.coins("1"))
        let twice = try await bench.redeem([("cat", "filter"), ("cat", "filter")])
        #expect(twice.json["items"]?.arrayValue?.compactMap { $0["cost"]?.intValue } == [5, 0])
        let again = try await bench.redeem([("cat", "filter"), ("cat", "frame")])
        #expect(again.json["balance"]?.intValue == 95)
        await bench.close()
    }

    @Test func `a redemption that the credit does not cover changes nothing`() async throws {
        let bench = try await bench()
        _ = try await bench.post(bench.coins("1"))
        let reply = try await bench.redeem([("a", "frame"), ("b", "frame")])
        #expect(reply.status == 409 && reply.code == "insufficient_credit")
        #expect(try await bench.credit().json["balance"]?.intValue == 100)
        #expect(try bench.count("redemption") == 0)
        await bench.close()
    }

    @Test func `a refund takes the credit back, below zero, and items stay redeemed`() async throws {
        let bench = try await bench()
        _ = try await bench.post(bench.coins("1"))
        _ = try await bench.redeem([("a", "frame")])
        bench.clock.advance(by: 1)
        _ = try await bench.post(bench.coins("1", revoked: true))
        #expect(try await bench.credit().json["balance"]?.intValue == -60)
        #expect(try await bench.redeem([("b", "filter")]).code == "insufficient_credit")
        #expect(try await bench.redeem([("a", "frame")]).status == 200)
        await bench.close()
    }

    @Test func `concurrent redemptions spend no more than the credit`() async throws {
        let bench = try await bench()
        _ = try await bench.post(bench.coins("1"))
        let paid = try await withThrowingTaskGroup(of: Int.self) { group in
            for index in 0..<30 {
                group.addTask { try await bench.redeem([("item-\(index)", "filter")]).status == 200 ? 1 : 0 }
            }
            return try await group.reduce(0, +)
        }
        #expect(paid == 20)
        #expect(try await bench.credit().json["balance"]?.intValue == 0)
        await bench.close()
    }

    @Test func `a repeated redemption gets the first answer`() async throws {
        let bench = try await bench()
        _ = try await bench.post(bench.coins("1"))
        let first = try await bench.redeem([("a", "filter")], headers: ["Idempotency-Key": "k"])
        let again = try await bench.redeem([("a", "filter")], headers: ["Idempotency-Key": "k"])
        #expect(first.bytes == again.bytes && first.json["items"]?[0]?["cost"]?.intValue == 5)
        #expect(
            try await bench.redeem([("b", "filter")], headers: ["Idempotency-Key": "k"]).code == "idempotency_mismatch")
        await bench.close()
    }

    @Test func `an invalid redemption is refused with the name of its field`() async throws {
        let bench = try await bench()
        #expect(try await bench.credit("gems").code == "unknown_credit")
        #expect(try await bench.redeem([]).field == "items")
        #expect(try await bench.redeem([("a", "ghost")]).field == "items/0/type")
        #expect(try await bench.redeem([("a", "filter"), ("", "filter")]).field == "items/1/id")
        #expect(try await bench.redeem((0...100).map { ("\($0)", "filter") }).field == "items")
        let open = try await bench.send(.get, "/v1/customers/anna/credits/coins")
        #expect(open.code == "missing_customer_token")
        #expect(try bench.count("redemption") == 0)
        await bench.close()
    }

    @Test(arguments: [
        (#"{"credits":[]}"#, "/credits"), (#"{"credits":{"a/b":{}}}"#, "/credits/a~1b/products"),
        (#"{"credits":{"c":{"products":{"p":-1},"prices":{}}}}"#, "/credits/c/products/p"),
        (#"{"credits":{"c":{"products":{},"prices":{"x":1.5}}}}"#, "/credits/c/prices/x"),
        (#"{"credits":{"":{}}}"#, "/credits/"),
    ])
    func `an error in a credit table has its JSON pointer`(text: String, pointer: String) throws {
        let json = try JSONValue(parsing: text)
        let error = #expect(throws: FeatureMapError.self) { try CreditTable(json: json) }
        #expect(error?.pointer == pointer)
    }
}

@Suite struct PromotionTests {
    private func make(_ promotion: JSONValue, _ bench: ServerBench) async throws -> ServerBench.Reply {
        try await bench.send(.post, "/v1/promotions", as: .secret, body: .json(promotion))
    }

    private func redeem(
        _ code: String, for customer: String = "anna", _ bench: ServerBench
    ) async throws -> ServerBench.Reply {
        try await bench.send(
            .post, "/v1/customers/\(customer)/promotions", as: .secret, body: .json(["code": .string(code)]))
    }

    @Test func `a repeated request with the same idempotency key returns the first promotion`() async throws {
        let bench = try await ServerBench()
        func make(_ feature: JSONValue, key: String) async throws -> ServerBench.Reply {
            try await bench.send(
                .post, "/v1/promotions", as: .secret, headers: ["Idempotency-Key": key],
                body: .json(["feature": feature]))
        }
        let first = try await make("pro", key: "k1")
        #expect(first.status == 201)
        #expect(try await make("pro", key: "k1").bytes == first.bytes)
        #expect(try bench.count("promotion") == 1)
        #expect(try await make("other", key: "k1").status == 422)
        #expect(try await make("pro", key: "k2").json["code"] != first.json["code"])
        #expect(try bench.count("promotion") == 2)
        await bench.close()
    }

    @Test func `a code gives its feature for its time, once to each customer`() async throws {
        let bench = try await ServerBench()
        #expect(try await make(["code": "summer-26", "feature": "pro", "lasts": "P1M"], bench).status == 201)
        let reply = try await redeem("Summer-26", bench)
        #expect(try reply.active() == ["pro"])
        #expect(try reply.customer().features.first?.because == "granted: code SUMMER-26")
        #expect(try await redeem("SUMMER-26", bench).bytes == reply.bytes)
        #expect(try bench.count("customer_grant") == 1)
        bench.clock.advance(by: 32 * 86400)
        #expect(try await bench.get().active() == [])
        #expect(try await redeem("summer-26", for: "ben", bench).active() == ["pro"])
        await bench.close()
    }

    @Test func `a code is redeemed only as often as allowed, even concurrently`() async throws {
        let bench = try await ServerBench()
        _ = try await make(["code": "RARE", "feature": "pro", "limit": 7], bench)
        let statuses = try await withThrowingTaskGroup(of: Int.self) { group in
            for index in 0..<20 {
                group.addTask { try await redeem("RARE", for: "customer-\(index)", bench).status }
            }
            return try await group.reduce(into: [Int]()) { $0.append($1) }
        }
        #expect(statuses.filter { $0 == 200 }.count == 7 && statuses.filter { $0 == 409 }.count == 13)
        #expect(try bench.count("customer_grant") == 7)
        await bench.close()
    }

    @Test func `an expired, withdrawn or unknown code gives nothing`() async throws {
        let bench = try await ServerBench()
        let end = RFC3339.string(from: bench.clock.now().addingTimeInterval(60))
        _ = try await make(["code": "SOON", "feature": "pro", "redeemableUntil": .string(end)], bench)
        _ = try await make(["code": "ENDED", "feature": "pro"], bench)
        #expect(try await bench.send(.delete, "/v1/promotions/ended", as: .secret).status == 204)
        #expect(try await bench.send(.delete, "/v1/promotions/ended", as: .secret).status == 404)
        bench.clock.advance(by: 60)
        #expect(try await redeem("SOON", bench).code == "code_not_redeemable")
        #expect(try await redeem("ENDED", bench).code == "unknown_code")
        #expect(try await redeem("NEVER", bench).code == "unknown_code")
        #expect(try await bench.get().active() == [])
        #expect(try bench.count("customer") == 0)
        await bench.close()
    }

    @Test func `codes are generated, listed and unique`() async throws {
        let bench = try await ServerBench()
        let made = try await make(["feature": "pro"], bench).json["code"]?.stringValue
        #expect(made?.count == 12)
        #expect(try await make(["code": "ABCD", "feature": "pro"], bench).status == 201)
        #expect(try await make(["code": "abcd", "feature": "pro"], bench).code == "code_taken")
        _ = try await redeem("ABCD", bench)
        let list = try await bench.send(.get, "/v1/promotions?limit=1", as: .secret)
        let page = try WireJSON.decode(PromotionList.self, from: list.bytes)
        let next = try await bench.send(.get, "/v1/promotions?cursor=\(page.nextCursor ?? "")", as: .secret)
        let rest = try WireJSON.decode(PromotionList.self, from: next.bytes)
        let all = page.promotions + rest.promotions
        #expect(Set(all.map(\.code)) == ["ABCD", made] && rest.nextCursor == nil)
        #expect(all.first { $0.code == "ABCD" }?.redemptions == 1)
        await bench.close()
    }

    @Test(arguments: [
        (#"{"feature":""}"#, "feature"), (#"{"code":"a b c d","feature":"pro"}"#, "code"),
        (#"{"code":"abc","feature":"pro"}"#, "code"), (#"{"feature":"pro","limit":0}"#, "limit"),
        (#"{"feature":"pro","until":"2001-01-01T00:00:00Z"}"#, "until"),
        (#"{"feature":"pro","lasts":"P1M","until":"2100-01-01T00:00:00Z"}"#, "until"),
        (#"{"feature":"pro","lasts":"soon"}"#, "lasts"), (#"{}"#, "feature"),
    ])
    func `an invalid promotion is refused with the name of its field`(body: String, field: String) async throws {
        let bench = try await ServerBench()
        let reply = try await bench.send(
            .post, "/v1/promotions", as: .secret, body: .bytes(Array(body.utf8)))
        #expect(reply.status == 400 && reply.field == field)
        #expect(try bench.count("promotion") == 0)
        await bench.close()
    }
}

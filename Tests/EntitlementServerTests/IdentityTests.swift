import BaseTestSupport
import Foundation
import HTTPCore
import Primitives
import StoreModel
import Testing

@testable import EntitlementServer

/// Sends names in two Unicode forms, and bytes that are not UTF-8, to every route. The routes come from the router, so
/// new ones are tested too.
@Suite struct IdentityTests {
    static let secret = "0123456789abcdef0123456789abcdef"

    static func bench(requiringTokens: Bool = false) async throws -> ServerBench {
        let offers = try OfferBench.offers(OfferBench.rules, key: .generate())
        return try await ServerBench { configuration in
            configuration.apps[0].offers = offers
            configuration.apps[0].credits = CreditTests.table
            configuration.apps[0].requiresCustomerTokens = requiringTokens
            configuration.webPurchases = [
                .init(
                    name: "caf\u{E9}", app: ServerBench.app, environment: .sandbox,
                    secrets: [secret].compactMap { try? WebhookSecret($0) })
            ]
        }
    }

    static func customerEndpoints(_ bench: ServerBench) -> [Endpoint<ServerHandler>] {
        bench.service.endpoints.filter { $0.path.contains("{customer}") }
    }

    static func escaped(_ text: String) -> String { PercentEncoding.encode(text) }

    /// Returns the path of an endpoint about `customer`. The type of credit exists; other parameters are unknown ids.
    static func path(_ endpoint: Endpoint<ServerHandler>, about customer: String) -> String {
        endpoint.path.replacingOccurrences(of: "{customer}", with: escaped(customer))
            .replacingOccurrences(of: "{type}", with: "coins").replacing(/\{[a-z]+\}/, with: "other")
    }

    /// Returns a body that an endpoint accepts. `number` makes the values unique.
    static func body(_ endpoint: Endpoint<ServerHandler>, _ number: Int, _ bench: ServerBench) throws -> HTTPBody {
        guard endpoint.method != .get, endpoint.method != .delete else { return .empty }
        let json: JSONValue =
            switch endpoint.id {
            case "postTransactions": ["signedTransaction": .string(try bench.purchase("presented-\(number)"))]
            case "postAlias": ["alias": .string("anonymous-\(number)")]
            case "postTransfer": ["to": "receiver", "originalTransactionID": .string("owned-\(number / 1000)")]
            case "postGrant": ["feature": "gift", "reason": "support"]
            case "postCreditGrant": ["amount": 7, "reason": "support"]
            case "redeemCredit": ["items": [["id": "cat", "type": "filter"]]]
            case "postOfferSignature": ["productID": "pro.monthly", "offerID": "half"]
            case "redeemPromotion": ["code": "SPRING-SALE"]
            default: [:]
            }
        return .json(json)
    }

    // MARK: - Two Unicode forms

    @Test func `a customer id in another Unicode form is another customer, on every route`() async throws {
        let bench = try await Self.bench()
        let code: JSONValue = ["code": "SPRING-SALE", "feature": "sale"]
        #expect(try await bench.send(.post, "/v1/promotions", as: .secret, body: .json(code)).status == 201)
        let endpoints = Self.customerEndpoints(bench)
        #expect(endpoints.count > 10)
        for (index, pair) in UnicodeForms.pairs.enumerated() {
            let (owner, other, stranger) = ("\(index) \(pair.composed)", "\(index) \(pair.other)", "\(index) stranger")
            let signed = [try bench.purchase("owned-\(index)"), try bench.coins("coins-of-owned-\(index)")]
            #expect(try await bench.post(signed, for: Self.escaped(owner)).status == 200)
            let before = try await Self.all(about: owner, bench)
            #expect(before.contains("owned-\(index)"))
            for (number, endpoint) in endpoints.enumerated() {
                var replies: [ServerBench.Reply] = []
                for (turn, name) in [other, stranger].enumerated() {
                    let body = try Self.body(endpoint, index * 1000 + number * 2 + turn, bench)
                    replies.append(
                        try await bench.send(endpoint.method, Self.path(endpoint, about: name), as: .secret, body: body)
                    )
                }
                let what = "\(endpoint.id) \(pair)"
                #expect(replies[0].status == replies[1].status && replies[0].code == replies[1].code, "\(what)")
                #expect(replies[0].status < 500, "\(what)")
                #expect(!String(decoding: replies[0].bytes, as: UTF8.self).contains("owned-\(index)"), "\(what)")
            }
            #expect(try await Self.all(about: owner, bench) == before, "\(pair)")
        }
        #expect(try bench.replay().differences == [])
        #expect(bench.failures.withLock { $0 } == [])
        await bench.close()
    }

    /// Returns the answers of all GET endpoints about a customer.
    static func all(about customer: String, _ bench: ServerBench) async throws -> String {
        var all: [String] = []
        for endpoint in customerEndpoints(bench) where endpoint.method == .get {
            let reply = try await bench.send(.get, path(endpoint, about: customer), as: .secret)
            #expect(reply.status == 200)
            all.append(String(decoding: reply.bytes, as: UTF8.self))
        }
        return all.joined(separator: "\n")
    }

    @Test func `a token is valid for the bytes of one name, on every route`() async throws {
        let bench = try await Self.bench(requiringTokens: true)
        let guarded = Self.customerEndpoints(bench).filter { endpoint in
            if case .authorized(.secretKey, _, _) = endpoint.handler { return false }
            return true
        }
        #expect(guarded.count >= 6)
        for (index, pair) in UnicodeForms.pairs.enumerated() {
            for (own, other) in [(pair.composed, pair.other), (pair.other, pair.composed)] {
                let token = try await bench.token(for: Self.escaped(own))
                let headers: HTTPHeaders = ["Souk-Customer-Token": token]
                for (number, endpoint) in guarded.enumerated() {
                    func ask(_ name: String) async throws -> ServerBench.Reply {
                        try await bench.send(
                            endpoint.method, Self.path(endpoint, about: name), headers: headers,
                            body: try Self.body(endpoint, (index + 1) * 1000 + number, bench))
                    }
                    let reply = try await ask(other)
                    #expect(reply.status == 403, "\(endpoint.id) \(pair)")
                    #expect(![401, 403].contains(try await ask(own).status), "\(endpoint.id) \(pair)")
                }
                for path in ["/feature-provisioner/get-features", "/subscriptions-tracker/get-subscriptions"] {
                    let user: JSONValue = ["type": "merchant-str", "value": .string(other)]
                    let reply = try await bench.send(
                        .post, path, headers: headers, body: .json(["customerId": user]))
                    #expect(reply.status == 403, "\(path) \(pair)")
                }
            }
        }
        #expect(bench.failures.withLock { $0 } == [])
        await bench.close()
    }

    @Test func `customer ids in two Unicode forms are listed, found and paged as two customers`() async throws {
        let bench = try await Self.bench()
        var names: [String] = []
        for (index, pair) in UnicodeForms.pairs.enumerated() {
            for text in [pair.composed, pair.other] {
                names.append("\(index) \(text)")
                _ = try await bench.grant(to: Self.escaped("\(index) \(text)"))
            }
        }
        let expected = names.map { Array($0.utf8) }.sorted { $0.lexicographicallyPrecedes($1) }
        for limit in [1, 7, 100] {
            var (found, cursor): ([String], String?) = ([], nil)
            repeat {
                var query = "limit=\(limit)"
                if let cursor { query += "&cursor=\(Self.escaped(cursor))" }
                let reply = try await bench.send(.get, "/v1/customers?\(query)", as: .secret)
                let page = try WireJSON.decode(CustomerList.self, from: reply.bytes)
                found += page.customers.map(\.customer.rawValue)
                cursor = page.nextCursor
            } while cursor != nil
            #expect(found.map { Array($0.utf8) } == expected, "\(limit)")
        }
        for name in names {
            let reply = try await bench.send(.get, "/v1/customers?query=\(Self.escaped(name))", as: .secret)
            let found = try WireJSON.decode(CustomerList.self, from: reply.bytes).customers.map(\.customer.rawValue)
            #expect(found.count == 1 && found[0].hasSameBytes(as: name))
        }
        await bench.close()
    }

    @Test func `random customer ids in two Unicode forms have two answers, from memory and from the database`()
        async throws
    {
        let bench = try await Self.bench()
        var numbers = SeededNumbers(state: 31)
        for round in 0..<UnicodeForms.rounds(60, cost: 20) {
            let pair = UnicodeForms.random(using: &numbers)
            let (owner, other) = ("\(round) \(pair.composed)", "\(round) \(pair.other)")
            guard owner.utf8.count <= 255, other.utf8.count <= 255 else { continue }
            _ = try await bench.grant("gift-\(round)", to: Self.escaped(owner))
            for _ in 0..<2 {
                #expect(try await bench.get(Self.escaped(owner)).active() == ["gift-\(round)"], "\(pair)")
                #expect(try await bench.get(Self.escaped(other)).active() == [], "\(pair)")
            }
        }
        await bench.close()
    }

    // MARK: - Bytes that are not UTF-8

    @Test(.onSQLite)
    func `a percent-escape that is not UTF-8 is refused in every path parameter, and in the queries of lists`()
        async throws
    {
        let bench = try await Self.bench()
        let before = try bench.contents()
        for endpoint in bench.service.endpoints {
            for parameter in endpoint.path.matches(of: /\{[a-z]+\}/) {
                for bytes in ["%FF", "%FE", "a%C3", "%C0%80", "%ED%A0%80"] {
                    let path = endpoint.path.replacingCharacters(in: parameter.range, with: bytes)
                        .replacing(/\{[a-z]+\}/, with: "other")
                    let reply = try await bench.send(
                        endpoint.method, path, as: .secret, body: try Self.body(endpoint, 1, bench))
                    #expect(reply.status == 400, "\(endpoint.method) \(path)")
                }
            }
            guard endpoint.method == .get, endpoint.id != "streamEvents", !endpoint.path.contains("{") else { continue }
            let reply = try await bench.send(.get, endpoint.path + "?cursor=%FF&query=%FE", as: .secret)
            #expect([200, 400].contains(reply.status), "\(endpoint.id)")
        }
        for query in ["cursor=%FF", "query=%FE", "limit=%C3", "nonce=%FF"] {
            for path in ["/v1/customers", "/v1/customers/anna/facts", "/v1/promotions", "/v1/webhook-deliveries"] {
                #expect(try await bench.send(.get, "\(path)?\(query)", as: .secret).status == 400, "\(path)?\(query)")
            }
        }
        #expect(try bench.contents() == before)
        await bench.close()
    }

    @Test(.onSQLite) func `a body with bytes that are not UTF-8 is refused by every route that reads a body`()
        async throws
    {
        let bench = try await Self.bench()
        let before = try bench.contents()
        for endpoint in bench.service.endpoints where endpoint.method == .post && !endpoint.path.contains("replay") {
            let path = endpoint.path.replacingOccurrences(of: "{source}", with: "none")
            for bytes in [[0xFF], [0xC3], [0xED, 0xA0, 0x80]] as [[UInt8]] {
                let body = Array("{\"feature\":\"a".utf8) + bytes + Array("\",\"reason\":\"x\",\"alias\":\"y\"}".utf8)
                let reply = try await bench.send(
                    .post, path.replacing(/\{[a-z]+\}/, with: "coins"), as: .secret, body: .bytes(body))
                #expect([400, 404].contains(reply.status), "\(endpoint.id)")
            }
        }
        #expect(try bench.contents() == before)
        await bench.close()
    }
}

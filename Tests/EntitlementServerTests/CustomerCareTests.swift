import Foundation
import HTTPCore
import Primitives
import StoreModel
import Testing

@testable import EntitlementServer

extension ServerBench {
    func alias(
        _ alias: String, to customer: String = "anna", as key: Key = .secret, token: String? = nil
    ) async throws -> Reply {
        try await send(
            .post, "/v1/customers/\(customer)/aliases", as: key,
            headers: token.map { ["Souk-Customer-Token": $0] } ?? [:],
            body: .json(["alias": .string(alias)]))
    }

    func token(for customer: String = "anna", of app: BundleID = app, lasts: String = "PT1H") async throws -> String {
        let reply = try await send(
            .post, "/v1/customers/\(customer)/tokens", as: .secret, of: app, body: .json(["lasts": .string(lasts)]))
        return try #require(reply.json["token"]?.stringValue)
    }

    func transfer(_ original: String, from customer: String = "anna", to other: String) async throws -> Reply {
        try await send(
            .post, "/v1/customers/\(customer)/transfer", as: .secret,
            body: .json(["to": .string(other), "originalTransactionID": .string(original)]))
    }

    func find(_ query: String?, cursor: String? = nil, limit: Int = 50) async throws -> [String] {
        try await findPage(query, cursor: cursor, limit: limit).customers.map(\.customer.rawValue)
    }

    func findPage(_ query: String?, cursor: String? = nil, limit: Int = 50) async throws -> CustomerList {
        var url = "/v1/customers?limit=\(limit)"
        let allowed = CharacterSet.alphanumerics
        for (name, value) in [("query", query), ("cursor", cursor)] {
            if let value = value?.addingPercentEncoding(withAllowedCharacters: allowed) { url += "&\(name)=\(value)" }
        }
        let reply = try await send(.get, url, as: .secret)
        return try WireJSON.decode(CustomerList.self, from: reply.bytes)
    }
}

@Suite(.onBothEngines) struct AliasTests {
    @Test func `a merged alias moves its data and remains an alias`() async throws {
        let bench = try await ServerBench()
        _ = try await bench.post(bench.purchase("1"), for: "anonymous-1")
        _ = try await bench.grant("gift", to: "anonymous-1")
        _ = try await bench.get("anonymous-1")
        let merged = try await bench.alias("anonymous-1")
        #expect(merged.status == 200)
        #expect(try merged.active() == ["gift", "tools"])
        #expect(try merged.customer().customer == "anna")
        let asked = try await bench.get("anonymous-1")
        #expect(try asked.customer().customer == "anna" && asked.active() == ["gift", "tools"])
        #expect(try await bench.post(bench.purchase("2", product: "more"), for: "anonymous-1").status == 200)
        #expect(try await bench.get().active() == ["gift", "more", "tools"])
        #expect(try bench.count("customer") == 1)
        await bench.close()
    }

    @Test func `a purchase bound to an alias belongs to its customer, before and after the merge`() async throws {
        let bench = try await ServerBench()
        let anonymous: CustomerID = "anonymous-1"
        let bound = try bench.purchase("1") { $0.appAccountToken = anonymous.appAccountToken }
        #expect(try await bench.post(bound, for: "anonymous-1").status == 200)
        #expect(try await bench.post(bound, for: "anna").code == "boundToAnotherCustomer")
        #expect(try await bench.alias("anonymous-1").active() == ["tools"])
        #expect(try await bench.post(bound, for: "anna").acknowledged == ["1"])
        #expect(try await bench.post(bound, for: "ben").code == "boundToAnotherCustomer")
        let later = try bench.purchase("2", product: "more") { $0.appAccountToken = anonymous.appAccountToken }
        #expect(try await bench.post(later, for: "anna").active() == ["more", "tools"])
        await bench.close()
    }

    @Test func `a purchase that waits for an unknown alias moves to the customer of the alias`() async throws {
        let bench = try await ServerBench()
        let anonymous: CustomerID = "anonymous-1"
        let bound = try bench.purchase("1") { $0.appAccountToken = anonymous.appAccountToken }
        #expect(try await bench.post(bound, for: "ben").active() == ["tools"])
        #expect(try await bench.alias("anonymous-1").active() == ["tools"])
        #expect(try await bench.get("ben").active() == [])
        await bench.close()
    }

    @Test func `a repeated merge changes nothing, and an alias belongs to one customer`() async throws {
        let bench = try await ServerBench()
        _ = try await bench.post(bench.purchase("1"), for: "anonymous-1")
        let first = try await bench.alias("anonymous-1")
        let again = try await bench.alias("anonymous-1")
        #expect(again.bytes == first.bytes)
        #expect(try await bench.alias("anna", to: "anna").bytes == first.bytes)
        let taken = try await bench.alias("anonymous-1", to: "ben")
        #expect(taken.status == 409 && taken.code == "alias_taken")
        #expect(try await bench.alias("anna", to: "anonymous-1").status == 200)
        #expect(try bench.count("alias") == 1)
        #expect(try await bench.get("ben").active() == [])
        await bench.close()
    }

    @Test func `the aliases of an alias move with it`() async throws {
        let bench = try await ServerBench()
        _ = try await bench.post(bench.purchase("1"), for: "anonymous-1")
        _ = try await bench.alias("anonymous-1", to: "anonymous-2")
        _ = try await bench.alias("anonymous-2", to: "anna")
        #expect(try await bench.get("anonymous-1").customer().customer == "anna")
        #expect(try await bench.get("anna").active() == ["tools"])
        await bench.close()
    }

    @Test func `with a customer's token only anonymous names can be merged`() async throws {
        let bench = try await ServerBench()
        _ = try await bench.post(bench.purchase("1"), for: "ben")
        let token = try await bench.token()
        let stolen = try await bench.alias("ben", as: .public, token: token)
        #expect(stolen.status == 403 && stolen.code == "secret_key_required" && stolen.field == "alias")
        #expect(try await bench.get("ben").active() == ["tools"])
        #expect(try await bench.alias("anonymous-1", as: .public, token: token).status == 200)
        #expect(try await bench.alias("anonymous-2", as: .public).code == "missing_customer_token")
        #expect(try await bench.alias("anonymous-2", to: "ben", as: .public, token: token).code == "another_customer")
        await bench.close()
    }
}

@Suite struct CustomerTokenTests {
    @Test func `an app that requires tokens refuses a public key without one`() async throws {
        let bench = try await ServerBench { $0.apps[0].requiresCustomerTokens = true }
        let signed = try bench.purchase("1")
        #expect(try await bench.get().code == "missing_customer_token")
        #expect(try await bench.post(signed).code == "missing_customer_token")
        let token = try await bench.token()
        let own: HTTPHeaders = ["Souk-Customer-Token": token]
        #expect(try await bench.post(signed, headers: own).acknowledged == ["1"])
        #expect(try await bench.get(headers: own).active() == ["tools"])
        let other = try await bench.get("ben", headers: own)
        #expect(other.status == 403 && other.code == "another_customer")
        let provisioning = try await bench.send(
            .post, "/feature-provisioner/get-features",
            headers: own, body: .json(["customerId": ["type": "merchant-str", "value": "ben"]]))
        #expect(provisioning.code == "another_customer")
        #expect(try await bench.send(.get, "/v1/customers/ben", as: .secret).status == 200)
        await bench.close()
    }

    @Test func `a token expires in real time and belongs to one app`() async throws {
        let bench = try await ServerBench { $0.apps[0].requiresCustomerTokens = true }
        let token = try await bench.token(lasts: "PT1M")
        let own: HTTPHeaders = ["Souk-Customer-Token": token]
        bench.clock.advance(by: 86400)
        #expect(try await bench.get(headers: own).status == 200)
        bench.realClock.advance(by: 61)
        #expect(try await bench.get(headers: own).code == "customer_token_expired")
        let foreign = try await bench.token(of: ServerBench.otherApp)
        #expect(try await bench.get(headers: ["Souk-Customer-Token": foreign]).code == "unknown_customer_token")
        await bench.close()
    }

    @Test func `a token with any change is refused`() async throws {
        let bench = try await ServerBench { $0.apps[0].requiresCustomerTokens = true }
        let token = try await bench.token()
        for place in token.indices where place != token.index(before: token.endIndex) {
            var changed = token
            changed.replaceSubrange(place...place, with: token[place] == "A" ? "B" : "A")
            #expect(try await bench.get(headers: ["Souk-Customer-Token": changed]).code == "unknown_customer_token")
        }
        for text in ["", ".", "a.b", String(repeating: "a", count: 2000), token + "." + token] {
            #expect(try await bench.get(headers: ["Souk-Customer-Token": text]).status == 401)
        }
        await bench.close()
    }

    @Test func `tokens are issued with secret keys only, for 90 days at most, and survive a restart`() async throws {
        let bench = try await ServerBench { $0.apps[0].requiresCustomerTokens = true }
        let refused = try await bench.send(.post, "/v1/customers/anna/tokens", body: .json([:]))
        #expect(refused.code == "secret_key_required")
        let long = try await bench.send(
            .post, "/v1/customers/anna/tokens", as: .secret, body: .json(["lasts": "P91D"]))
        #expect(long.status == 400 && long.field == "lasts")
        let token = try await bench.token()
        let key = try #require(bench.keys[ServerBench.app]).publicKey
        await bench.close()
        let next = try await ServerBench(folder: bench.folder) { $0.apps[0].requiresCustomerTokens = true }
        let reply = try await next.send(
            .get, "/v1/customers/anna", as: .other("Bearer \(key)"), headers: ["Souk-Customer-Token": token])
        #expect(reply.status == 200)
        await next.close()
    }
}

@Suite struct TransferTests {
    @Test func `a transferred purchase stays with its new customer, despite its token and later claims`() async throws {
        let bench = try await ServerBench()
        let signed = try bench.purchase("1") { $0.appAccountToken = CustomerID("anna").appAccountToken }
        _ = try await bench.post(signed, for: "anna")
        let moved = try await bench.transfer("1", to: "ben")
        #expect(moved.status == 200)
        #expect(try moved.customer().customer == "ben" && moved.active() == ["tools"])
        #expect(try await bench.get("anna").active() == [])
        #expect(try await bench.post(signed, for: "cleo").code == "boundToAnotherCustomer")
        bench.clock.advance(by: 1)
        var again = bench.purchasePayload("1") { $0.appAccountToken = CustomerID("anna").appAccountToken }
        again.purchaseDate = again.purchaseDate?.addingTimeInterval(-1)
        _ = try await bench.post(bench.sign(again), for: "ben")
        #expect(try await bench.get("ben").active() == ["tools"])
        #expect(try await bench.get("anna").active() == [])
        await bench.close()
    }

    @Test func `a customer can transfer only its own purchases`() async throws {
        let bench = try await ServerBench()
        _ = try await bench.post(bench.purchase("1"), for: "anna")
        let reply = try await bench.transfer("1", from: "ben", to: "cleo")
        #expect(reply.status == 404 && reply.code == "unknown_purchase")
        #expect(try await bench.transfer("2", to: "ben").status == 404)
        #expect(try await bench.get("anna").active() == ["tools"])
        #expect(try bench.count("customer") == 1)
        await bench.close()
    }

    @Test(arguments: TransferMode.allCases)
    func `a second customer gets a purchase as the app's transfer mode says`(mode: TransferMode) async throws {
        let bench = try await ServerBench { $0.apps[0].transferMode = mode }
        let tools = try bench.purchase("1")
        let month = try bench.period("2", days: 30)
        _ = try await bench.post([tools, month], for: "anna")
        let reply = try await bench.post([tools, month], for: "ben")
        let isMoved = mode == .transfer || mode == .share
        #expect(reply.acknowledged == (isMoved ? ["1", "2"] : []))
        #expect(try reply.active() == (isMoved ? ["pro", "tools"] : []))
        #expect(try await bench.get("anna").active() == (mode == .transfer ? [] : ["pro", "tools"]))

        bench.clock.advance(by: 31 * 86400)
        let over = try await bench.post([tools, month], for: "cleo")
        switch mode {
        case .transfer, .share: #expect(over.acknowledged == ["1", "2"])
        case .transferIfInactive: #expect(over.acknowledged == ["2"])
        case .keepWithOriginal: #expect(over.acknowledged == [])
        }
        let rejected = over.json["rejected"]?.arrayValue ?? []
        #expect(rejected.allSatisfy { $0["code"]?.stringValue == "boundToAnotherCustomer" })
        #expect(try await bench.post([tools], for: mode == .transfer ? "cleo" : "anna").acknowledged == ["1"])
        await bench.close()
    }

    @Test func `changing the transfer mode moves no purchase`() async throws {
        let bench = try await ServerBench { $0.apps[0].transferMode = .share }
        for customer in ["anna", "ben"] { _ = try await bench.post(bench.period("1"), for: customer) }
        await bench.close()
        let next = try await ServerBench(folder: bench.folder)
        try await next.append(next.period("2", of: "1"))
        let claimed = try next.database.read { try $0.query("SELECT customer FROM holder ORDER BY customer").count }
        #expect(claimed == 2)
        let replay = LedgerReplay(database: next.database, apps: ReplayTests.apps, clock: next.clock)
        #expect(try replay.run().differences == [])
        await next.close()
    }

    @Test func `a shared purchase that is bound later belongs to one customer`() async throws {
        let bench = try await ServerBench { $0.apps[0].transferMode = .share }
        let open = bench.purchasePayload("1")
        for customer in ["anna", "ben"] { _ = try await bench.post(bench.sign(open), for: customer) }
        #expect(try bench.count("holder") == 2)
        bench.clock.advance(by: 1)
        var bound = open
        bound.appAccountToken = CustomerID("anna").appAccountToken
        bound.signedDate = bench.clock.now()
        _ = try await bench.post(bench.sign(bound), for: "anna")
        #expect(try await bench.get("ben").active() == [])
        #expect(try bench.count("holder") == 1)
        await bench.close()
    }
}

@Suite(.onBothEngines) struct SearchTests {
    @Test(arguments: [999, 1000, 1001])
    func `customers with many aliases are found once each, in the order of their ids`(count: Int) async throws {
        let bench = try await ServerBench()
        for customer in ["anna", "ben", "carl", "dora"] { _ = try await bench.grant(to: customer) }
        try await bench.database.write { connection in
            for number in 0..<count {
                // The aliases have another order than their customers.
                try connection.execute(
                    """
                    INSERT INTO alias (app, environment, alias, customer, app_account_token, created_at)
                    VALUES (?1, 'sandbox', ?2, ?3, ?4, 0)
                    """,
                    [
                        .text(ServerBench.app.rawValue), .text("device-\(10_000 + number)"),
                        .text(["dora", "ben", "anna"][number * 3 / count]), .text("token-\(number)"),
                    ])
            }
        }
        var (found, cursor): ([String], String?) = ([], nil)
        repeat {
            let page = try await bench.findPage("device-", cursor: cursor, limit: 1)
            found += page.customers.map(\.customer.rawValue)
            cursor = page.nextCursor
        } while cursor != nil
        #expect(found == ["anna", "ben", "dora"])
        #expect(try await bench.find("device-10000") == ["dora"])
        #expect(try await bench.find("device-2") == [])
        #expect(try await bench.find("devicd") == [])
        await bench.close()
    }

    @Test func `customers are found by id, alias, transaction id and web order line item id`() async throws {
        let bench = try await ServerBench()
        _ = try await bench.post(bench.period("10") { $0.webOrderLineItemId = "order-7" }, for: "anna")
        _ = try await bench.post(bench.period("11", of: "10"), for: "anna")
        _ = try await bench.post(bench.purchase("20"), for: "annabel")
        _ = try await bench.alias("anonymous-x", to: "ben")
        #expect(try await bench.find(nil) == ["anna", "annabel", "ben"])
        #expect(try await bench.find("anna") == ["anna", "annabel"])
        #expect(try await bench.find("anonymous") == ["ben"])
        #expect(try await bench.find("11") == ["anna"])
        #expect(try await bench.find("10") == ["anna"])
        #expect(try await bench.find("order-7") == ["anna"])
        #expect(try await bench.find("1") == [])
        #expect(try await bench.find("zoe") == [])
        #expect(try await bench.find("%' OR 1=1 --") == [])
        let entry = try #require(try await bench.findPage("ben").customers.first)
        #expect(entry.aliases == ["anonymous-x"] && entry.firstSeenAt == bench.clock.now() && entry.erasedAt == nil)
        await bench.close()
    }

    @Test func `the pages of the list contain each customer once`() async throws {
        let bench = try await ServerBench()
        let names = (0..<23).map { "customer-\($0)" } + ["é", "\u{10FFFF}", "日本"]
        for name in names {
            let path = try #require(name.addingPercentEncoding(withAllowedCharacters: .alphanumerics))
            _ = try await bench.grant(to: path)
        }
        var found: [String] = []
        var cursor: String?
        repeat {
            let page = try await bench.findPage(nil, cursor: cursor, limit: 5)
            found += page.customers.map(\.customer.rawValue)
            cursor = page.nextCursor
        } while cursor != nil
        #expect(found.count == names.count && Set(found) == Set(names))
        #expect(try await bench.send(.get, "/v1/customers").code == "secret_key_required")
        #expect(try await bench.send(.get, "/v1/customers?query=%00", as: .secret).field == "query")
        #expect(try await bench.send(.get, "/v1/customers?limit=0", as: .secret).field == "limit")
        await bench.close()
    }
}

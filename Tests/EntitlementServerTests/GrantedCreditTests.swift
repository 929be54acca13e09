import Foundation
import HTTPCore
import HostTestSupport
import Primitives
import SQLStorage
import StoreModel
import Testing

@testable import EntitlementServer

extension ServerBench {
    func give(
        _ amount: Int, _ type: String = "coins", to customer: String = "anna", reason: String = "an apology",
        as key: Key = .secret, headers: HTTPHeaders = [:]
    ) async throws -> Reply {
        try await send(
            .post, "/v1/customers/\(customer)/credits/\(type)/grants", as: key, headers: headers,
            body: .json(["amount": .number(amount), "reason": .string(reason)]))
    }

    fileprivate func balance(of customer: String = "anna") async throws -> Int? {
        try await credit(for: customer).json["balance"]?.intValue
    }
}

/// Credit that operators give.
@Suite(.onBothEngines) struct GrantedCreditTests {
    private func bench() async throws -> ServerBench {
        try await ServerBench.withConsole { $0.apps[0].credits = CreditTests.table }
    }

    @Test func `credit of an operator can be spent, before that of purchases`() async throws {
        let bench = try await bench()
        let given = try await bench.give(50)
        #expect(given.status == 201 && given.json["balance"]?.intValue == 50 && given.json["earned"]?.intValue == 50)
        #expect(try await bench.redeem([("a", "frame")]).code == "insufficient_credit")
        _ = try await bench.post(bench.coins("1"))
        #expect(try await bench.redeem([("a", "frame")]).json["balance"]?.intValue == 90)
        let left = try await bench.credit().json
        #expect(left["earned"]?.intValue == 150 && left["spent"]?.intValue == 60)
        // The purchase paid only 10, so its new owner has the other 90.
        _ = try await bench.transfer("1", from: "anna", to: "ben")
        #expect(try await bench.balance(of: "ben") == 90)
        #expect(try await bench.balance() == 0)
        #expect(try bench.replay().differences == [])
        await bench.close()
    }

    @Test func `a transfer of a purchase leaves the credit of operators`() async throws {
        let bench = try await bench()
        _ = try await bench.post(bench.coins("1"))
        _ = try await bench.give(20)
        _ = try await bench.transfer("1", from: "anna", to: "ben")
        #expect(try await bench.balance() == 20)
        #expect(try await bench.balance(of: "ben") == 100)
        await bench.close()
    }

    @Test func `a refund is taken from the credit of operators too`() async throws {
        let bench = try await bench()
        _ = try await bench.post(bench.coins("1"))
        _ = try await bench.redeem([("a", "frame")])
        bench.clock.advance(by: 1)
        _ = try await bench.post(bench.coins("1", revoked: true))
        #expect(try await bench.balance() == -60)
        #expect(try await bench.give(65).json["balance"]?.intValue == 5)
        #expect(try await bench.redeem([("b", "filter")]).json["balance"]?.intValue == 0)
        #expect(try bench.replay().differences == [])
        await bench.close()
    }

    @Test func `a merge adds the credit of both customers, and an item that both redeemed stays paid twice`()
        async throws
    {
        let bench = try await bench()
        for (customer, amount) in [("anna", 70), ("anonymous-1", 10)] {
            _ = try await bench.give(amount, to: customer)
            _ = try await bench.redeem([("cat", "filter")], for: customer)
        }
        _ = try await bench.alias("anonymous-1")
        #expect(try await bench.balance() == 70)
        #expect(try await bench.redeem([("oak", "frame"), ("dog", "filter")]).json["balance"]?.intValue == 5)
        #expect(try await bench.redeem([("elm", "frame")]).code == "insufficient_credit")
        #expect(try bench.count("granted_credit") == 2)
        #expect(try bench.replay().differences == [])
        await bench.close()
    }

    @Test func `after an erasure the pseudonym has the credit, without the reason`() async throws {
        let bench = try await bench()
        let name = "customer-of-whom-nothing-is-to-stay"
        _ = try await bench.give(70, to: name, reason: "for \(name)")
        _ = try await bench.redeem([("cat", "filter")], for: name)
        let erased = try await bench.send(.delete, "/v1/customers/\(name)", as: .secret)
        let pseudonym = try #require(erased.json["pseudonym"]?.stringValue)
        let rows = try bench.database.read { connection in
            try connection.query("SELECT customer, reason FROM granted_credit").map {
                "\(try $0["customer"] as String) \(try $0["reason"] as String)"
            }
        }
        #expect(rows == ["\(pseudonym) erased"])
        #expect(try await bench.balance(of: name) == 0)
        #expect(try await bench.give(1, to: pseudonym).code == "customer_erased")
        let bodies = try bench.database.read { connection in
            try connection.query("SELECT body FROM event").map {
                String(decoding: try $0["body"] as [UInt8], as: UTF8.self)
            }
        }
        #expect(!bodies.joined().contains(name))
        #expect(try bench.replay().differences == [])
        if ServerBench.engine == .sqlite {
            for file in try FileManager.default.contentsOfDirectory(atPath: bench.folder.url.path) {
                let data = try Data(contentsOf: bench.folder.url.appendingPathComponent(file))
                #expect(data.range(of: Data(name.utf8)) == nil, "\(file)")
            }
        }
        await bench.close()
    }

    @Test func `a repeated request gives credit once, and an event reports the credit`() async throws {
        let bench = try await bench()
        _ = try await bench.post(bench.purchase("9"))
        let first = try await bench.give(50, headers: ["Idempotency-Key": "k"])
        let again = try await bench.give(50, headers: ["Idempotency-Key": "k"])
        #expect(first.status == 201 && first.bytes == again.bytes)
        #expect(try await bench.give(51, headers: ["Idempotency-Key": "k"]).code == "idempotency_mismatch")
        #expect(try await bench.balance() == 50)
        try await bench.numberEvents()
        let events = try bench.service.ledger.events(
            of: LedgerID(app: ServerBench.app, environment: .sandbox), after: 0, limit: 100)
        let bodies = try events.filter { $0.type == "customer.credited" }.map { try JSONValue(parsing: $0.body) }
        #expect(bodies == [["customer": "anna", "credit": "coins", "amount": 50, "balance": 50]])
        await bench.close()
    }

    @Test func `only a secret key gives credit, and an invalid credit grant is refused with the name of its field`()
        async throws
    {
        let bench = try await bench()
        #expect(try await bench.give(1, as: .public).code == "secret_key_required")
        #expect(try await bench.give(1, "gems").code == "unknown_credit")
        for amount in [0, -1, 1_000_000_001, .max] { #expect(try await bench.give(amount).field == "amount") }
        for reason in ["", "a\u{0}b", String(repeating: "x", count: 1001)] {
            #expect(try await bench.give(1, reason: reason).field == "reason")
        }
        #expect(try bench.count("granted_credit") == 0)
        #expect(try bench.count("customer") == 0)
        #expect(try await bench.give(1_000_000_000).status == 201)
        await bench.close()
    }

    @Test func `concurrent credit grants and redemptions lose nothing and spend nothing twice`() async throws {
        let bench = try await bench()
        _ = try await bench.give(5)
        let paid = try await withThrowingTaskGroup(of: Int.self) { group in
            for index in 0..<30 {
                group.addTask {
                    if index % 3 == 0 { #expect(try await bench.give(5).status == 201) }
                    return try await bench.redeem([("item-\(index)", "filter")]).status == 200 ? 5 : 0
                }
            }
            return try await group.reduce(0, +)
        }
        #expect(try await bench.balance() == 55 - paid)
        #expect(try bench.replay().differences == [])
        await bench.close()
    }

    @Test(arguments: [
        ("UPDATE redemption SET granted = granted - 1", "redemption 1"),
        ("DELETE FROM granted_credit", "customer anna"),
        ("UPDATE granted_credit SET amount = 4", "customer anna"),
        ("UPDATE redemption SET granted = 9223372036854775807, debt = 1", "redemption 1"),
        ("UPDATE granted_credit SET credit = 'gems'", "customer anna"),
    ])
    func `replay finds edited credit of operators`(statement: String, subject: String) async throws {
        let bench = try await bench()
        _ = try await bench.give(50)
        _ = try await bench.redeem([("cat", "filter")])
        #expect(try bench.replay().differences == [])
        try await bench.database.write { _ = try $0.execute(statement) }
        let report = try bench.replay()
        #expect(report.differences.contains { $0.subject == subject }, "\(report.differences)")
        await bench.close()
    }

    @Test func `an export contains the credit of operators`() async throws {
        let bench = try await bench()
        _ = try await bench.give(50)
        _ = try await bench.redeem([("cat", "filter")])
        let export = try await bench.send(.get, "/v1/customers/anna/export", as: .secret).json
        let grant = try #require(export["grantedCredit"]?[0])
        #expect(grant["credit"] == "coins" && grant["amount"] == 50 && grant["reason"] == "an apology")
        #expect(grant["grantedAt"]?.stringValue != nil && grant["id"]?.stringValue != nil)
        #expect(export["redemptions"]?[0]?["granted"] == 5 && export["redemptions"]?[0]?["cost"] == 5)
        await bench.close()
    }

    @Test func `in the console credit is reviewed, given once, and shown with its origin`() async throws {
        let bench = try await bench()
        _ = try await bench.post(bench.coins("1"))
        let visitor = try await ConsoleVisitor.signedIn(at: bench)
        let fields = [("id", "anna"), ("credit", "coins"), ("amount", "50"), ("reason", "a late delivery")]
        let review = try await visitor.review("/credits", fields)
        #expect(review.text.contains("gets 50 of the credit") && review.text.contains("100 is there now, and 150 will"))
        #expect(try bench.count("granted_credit") == 0)
        for _ in 0..<2 {
            let reply = try await visitor.post("/credits", review.fields)
            #expect(reply.location == "/console/customer?environment=sandbox&id=anna&done=credited")
        }
        #expect(try await bench.balance() == 150)
        let page = try await visitor.customer("anna", [("done", "credited")]).text
        for words in [
            "The credit was given.", "<td>150</td><td>100</td><td>50</td><td>0</td>", "a late delivery",
            "gave 50 of the credit <code><bdi>coins<", "Purchases that gave credit",
        ] { #expect(page.contains(words), "\(words)") }
        let changed = review.fields.map { $0.0 == "amount" ? ("amount", "60") : $0 }
        #expect(try await visitor.post("/credits", changed).status == 422)
        for (field, value, status) in [
            ("amount", "0", 400), ("amount", "-5", 400), ("amount", "1.5", 400), ("amount", "", 400),
            ("amount", "99999999999999999999", 400), ("amount", "1000000001", 400), ("reason", "", 400),
            ("credit", "gems", 404), ("id", "nobody", 404),
        ] {
            let wrong = fields.map { $0.0 == field ? (field, value) : $0 } + [("request", "r")]
            for path in ["/credits/review", "/credits"] {
                #expect(try await visitor.submit(path, wrong).status == status, "\(field) \(value)")
            }
        }
        #expect(try bench.count("granted_credit") == 1)
        let reader = try await ConsoleVisitor.signedIn(at: bench, as: .readOnly).customer().text
        #expect(reader.contains("a late delivery") && !reader.contains("Give credit"))
        await bench.close()
    }
}

@Suite
struct CreditTableTests {
    @Test func `the console lists the newest purchases of all kinds of credit first`() async throws {
        let bench = try await ServerBench.withConsole {
            $0.apps[0].credits = CreditTable(credits: [
                "coins": .init(products: ["coins.100": 100], prices: [:]),
                "gems": .init(products: ["gems.10": 10], prices: [:]),
            ])
        }
        func purchase(_ number: Int, _ product: String) throws -> String {
            try bench.purchase("\(number)", product: product, type: .consumable) {
                $0.purchaseDate = bench.clock.now().addingTimeInterval(Double(number - 200))
            }
        }
        // More gems than the page lists, and then one coin pack.
        let gems = try (1...100).map { try purchase($0, "gems.10") }
        for signed in [gems, [try purchase(101, "coins.100")]] {
            #expect(try await bench.post(signed).status == 200)
        }
        let page = try await ConsoleVisitor.signedIn(at: bench, as: .readOnly).customer("anna").text
        let table = try #require(page.components(separatedBy: "Purchases that gave credit").last)
        let listed = table.matches(of: /<tr><th scope="row"><code><bdi>([0-9]+)</).compactMap { Int($0.output.1) }
        #expect(listed.prefix(100) == Array((2...101).reversed())[...])
        await bench.close()
    }
}

/// Servers of an earlier release on the same PostgreSQL, which do not know the credit of operators.
@Suite(.enabled(if: PostgresCluster.isAvailable, "PostgreSQL is not installed"))
struct GrantedCreditOfEarlierServersTests {
    @Test func `an earlier server cannot delete a customer with credit, and its erasure keeps the credit`() async throws
    {
        try await ServerBench.$engine.withValue(.postgreSQL) {
            let bench = try await ServerBench { $0.apps[0].credits = CreditTests.table }
            _ = try await bench.give(50)
            await #expect(throws: SQLError.self) {
                try await bench.database.write { try $0.execute("DELETE FROM customer WHERE id = 'anna'") }
            }
            #expect(try await bench.balance() == 50)
            try await bench.database.write {
                _ = try $0.execute("UPDATE customer SET id = 'erased-1' WHERE id = 'anna'")
            }
            let holder = try bench.database.read {
                try $0.first("SELECT customer FROM granted_credit")?["customer"] as String?
            }
            #expect(holder == "erased-1")
            await bench.close()
        }
    }
}

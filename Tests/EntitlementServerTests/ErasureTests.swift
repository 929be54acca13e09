import AppStorePayloads
import Foundation
import HTTPCore
import Primitives
import SQLStorage
import StoreModel
import Testing

@testable import EntitlementServer

@Suite(.onBothEngines) struct ErasureTests {
    private func erase(_ customer: String = "anna", in bench: ServerBench) async throws -> ServerBench.Reply {
        try await bench.send(.delete, "/v1/customers/\(customer)", as: .secret)
    }

    private func export(_ customer: String, _ bench: ServerBench) async throws -> JSONValue {
        try await bench.send(.get, "/v1/customers/\(customer)/export", as: .secret).json
    }

    /// Returns the rows of all tables but `fact` as text.
    private func everything(_ bench: ServerBench) throws -> String {
        try bench.database.read { connection in
            let tables = try connection.query("SELECT name FROM sqlite_schema WHERE type = 'table'").map {
                try $0["name"] as String
            }
            return try tables.filter { $0 != "fact" }.flatMap { table in
                try connection.query("SELECT * FROM \(table)").map { "\(table): \($0)" }
            }.joined(separator: "\n")
        }
    }

    @Test(.onSQLite) func `an erased customer is unknown, and products, amounts and dates stay under a pseudonym`()
        async throws
    {
        let bench = try await ServerBench { $0.apps[0].credits = CreditTests.table }
        let token = CustomerID("anna").appAccountToken
        _ = try await bench.post(bench.period("1") { $0.appAccountToken = token })
        _ = try await bench.post(bench.coins("2"), headers: ["Idempotency-Key": "k"])
        _ = try await bench.redeem([("portrait-of-anna", "filter")])
        _ = try await bench.grant("gift")
        _ = try await bench.alias("anonymous-1")
        let reply = try await erase(in: bench)
        #expect(reply.status == 200 && reply.json["erasedPurchases"]?.intValue == 2)
        let pseudonym = try #require(reply.json["pseudonym"]?.stringValue)

        #expect(try await bench.get("anna").active() == [])
        #expect(try await bench.get("anonymous-1").active() == [])
        let left = try await bench.get(pseudonym).customer()
        let active = left.features.filter(\.isActive).map(\.name)
        #expect(active == ["gift", "pro"])
        #expect(left.subscriptions.first?.price == Price(milliunits: 4990, currency: "USD"))
        #expect(try await bench.find(nil) == [pseudonym])
        #expect(try await bench.find("1") == [pseudonym])

        let exported = try await export(pseudonym, bench)
        #expect(exported["facts"]?.arrayValue?.count == 2)
        let facts = try #require(exported["facts"]?.arrayValue)
        #expect(facts.allSatisfy { fact in fact["payload"] == nil && fact["sourceBytes"] == nil })
        #expect(exported["grants"]?[0]?["reason"]?.stringValue == "erased")
        let rows = try everything(bench).lowercased()
        for name in ["anna", "anonymous-1", token.uuidString.lowercased()] { #expect(!rows.contains(name)) }
        #expect(try bench.count("data_key") == 0)
        await bench.close()
    }

    @Test(.onSQLite) func `a customer with only a waiting purchase is exported and erased`() async throws {
        let bench = try await ServerBench { $0.apps[0].credits = CreditTests.table }
        let token = CustomerID("anna").appAccountToken
        let stated = try bench.purchase("1", product: "coins.10") { $0.appAccountToken = token }
        _ = try await bench.notify(bench.notification(transaction: stated))
        let names = try [
            everything(bench),
            bench.database.read { try "\($0.query("SELECT app_account_token FROM fact"))" },
        ]
        #expect(names.contains { $0.lowercased().contains(token.uuidString.lowercased()) })
        let facts = try await bench.send(.get, "/v1/customers/anna/facts", as: .secret)
        #expect(facts.json["facts"]?.arrayValue?.count == 1)
        #expect(try await export("anna", bench)["facts"]?.arrayValue?.count == 1)
        #expect(try await erase(in: bench).status == 200)
        #expect(try !everything(bench).lowercased().contains(token.uuidString.lowercased()))
        #expect(
            try bench.database.read { try $0.query("SELECT 1 FROM fact WHERE app_account_token IS NOT NULL") }.isEmpty)
        #expect(try bench.count("data_key") == 0)

        let second = CustomerID("ben").appAccountToken
        let waiting = try bench.purchase("2") { $0.appAccountToken = second }
        _ = try await bench.notify(bench.notification("n2", transaction: waiting))
        #expect(try await erase("ben", in: bench).status == 200)
        #expect(try await erase("nobody-of-this-name", in: bench).status == 404)
        await bench.close()
    }

    @Test(arguments: TransferMode.allCases)
    func `a purchase transferred to an erased customer returns to the owner that presents it`(mode: TransferMode)
        async throws
    {
        let bench = try await ServerBench { $0.apps[0].transferMode = mode }
        let owner = "6f1f9a0e-3a2d-4a5b-9c60-2f5f6a7b8c9d"
        let signed = try bench.period("1") { $0.appAccountToken = UUID(uuidString: owner) }
        _ = try await bench.post(signed, for: owner)
        #expect(try await bench.transfer("1", from: owner, to: "helen").status == 200)
        #expect(try await erase("helen", in: bench).status == 200)
        for other in ["helen", "ben"] {
            #expect(try await bench.post(signed, for: other).code == "boundToAnotherCustomer", "\(other)")
        }
        #expect(try await bench.post(signed, for: owner).status == 200)
        #expect(try await bench.get(owner).active() == ["pro"])
        bench.clock.advance(by: 29 * 86400)
        let renewed = try bench.period("2", of: "1") { $0.appAccountToken = UUID(uuidString: owner) }
        _ = try await bench.notify(bench.notification(transaction: renewed))
        bench.clock.advance(by: 3 * 86400)
        #expect(try await bench.get(owner).active() == ["pro"])
        try await bench.numberEvents()
        let report = try LedgerReplay(database: bench.database, apps: ReplayTests.apps, clock: bench.clock).run()
        #expect(report.differences.isEmpty, "\(report.differences)")
        await bench.close()
    }

    @Test func `requests that change a pseudonym are refused`() async throws {
        let bench = try await ServerBench { $0.apps[0].credits = CreditTests.table }
        _ = try await bench.post(bench.period("1"))
        let pseudonym = try #require(try await erase(in: bench).json["pseudonym"]?.stringValue)
        _ = try await bench.post(bench.purchase("2"), for: "ben")
        let path = "/v1/customers/\(pseudonym)"
        let refused = [
            try await bench.post(bench.purchase("3"), for: pseudonym),
            try await bench.grant("gift", to: pseudonym),
            try await bench.alias("anonymous-1", to: pseudonym),
            try await bench.transfer("2", from: "ben", to: pseudonym),
            try await bench.transfer("1", from: pseudonym, to: "ben"),
            try await bench.send(
                .post, "\(path)/credits/coins/redeem", as: .secret,
                body: .json(["items": [["id": "cat", "type": "filter"]]])),
        ]
        for reply in refused { #expect(reply.status == 409 && reply.code == "customer_erased", "\(reply)") }
        bench.clock.advance(by: 400 * 86400)
        #expect(try await bench.get(pseudonym).active() == [])
        #expect(try bench.replay().differences == [])
        await bench.close()
    }

    @Test func `sources are stored encrypted and returned decrypted`() async throws {
        let bench = try await ServerBench()
        let signed = try bench.purchase("1") { $0.appAccountToken = CustomerID("anna").appAccountToken }
        _ = try await bench.post(signed)
        let facts = try await bench.send(.get, "/v1/customers/anna/facts", as: .secret)
        #expect(facts.json["facts"]?[0]?["payload"]?["productId"]?.stringValue == "tools")
        let exported = try await export("anna", bench)
        #expect(exported["facts"]?[0]?["sourceBytes"]?.stringValue == signed)
        let stored = try bench.database.read { connection in
            try connection.query("SELECT source_bytes FROM fact").map { try $0["source_bytes"] as [UInt8] }
        }
        // The header contains no personal data and is stored in another table.
        let personal = Array(signed.utf8.drop { $0 != UInt8(ascii: ".") })
        #expect(
            stored.allSatisfy { bytes in !bytes.starts(with: personal.prefix(40)) && bytes.count >= personal.count })
        await bench.close()
    }

    @Test(.onSQLite) func `an erasure removes only the name from shared purchases`() async throws {
        let bench = try await ServerBench { $0.apps[0].transferMode = .share }
        for customer in ["anna", "ben"] { _ = try await bench.post(bench.purchase("1"), for: customer) }
        #expect(try await erase(in: bench).json["erasedPurchases"]?.intValue == 0)
        #expect(try await bench.get("ben").active() == ["tools"])
        #expect(try await export("ben", bench)["facts"]?[0]?["payload"] != nil)
        let rows = try everything(bench)
        #expect(!rows.contains("anna"))
        await bench.close()
    }

    @Test func `the source of a shared purchase is deleted with its last customer`() async throws {
        let bench = try await ServerBench { $0.apps[0].transferMode = .share }
        for customer in ["anna", "ben", "cleo"] { _ = try await bench.post(bench.purchase("1"), for: customer) }
        for (customer, purchases) in [("ben", 0), ("anna", 0), ("cleo", 1)] {
            #expect(try await erase(customer, in: bench).json["erasedPurchases"]?.intValue == purchases, "\(customer)")
            #expect(try bench.replay().differences == [])
        }
        #expect(try bench.count("data_key") == 0)
        await bench.close()
    }

    @Test func `a customer that claims an erased purchase again keeps it when others present a receipt`() async throws {
        let bench = try await ServerBench()
        let signed = try bench.purchase("3", product: "pro.monthly") {
            $0.appAccountToken = CustomerID("anna").appAccountToken
        }
        let receipt = try bench.receipt([bench.receiptPurchase("3")])
        _ = try await bench.post(signed)
        let refused = try await bench.present(receipt: receipt, for: "mallory")
        #expect(refused.json["rejected"]?[0]?["code"]?.stringValue == "boundToAnotherCustomer")
        _ = try await erase(in: bench)
        _ = try await bench.post(signed)
        let again = try await bench.present(receipt: receipt, for: "mallory")
        #expect(again.json["rejected"]?[0]?["code"]?.stringValue == "boundToAnotherCustomer")
        #expect(try await bench.get("mallory").active() == [])
        #expect(try bench.replay().differences == [])
        await bench.close()
    }

    @Test(.onSQLite) func `later facts of an erased purchase are stored without their source`() async throws {
        let bench = try await ServerBench()
        _ = try await bench.post(bench.period("1") { $0.appAccountToken = CustomerID("anna").appAccountToken })
        let pseudonym = try #require(try await erase(in: bench).json["pseudonym"]?.stringValue)
        bench.clock.advance(by: 29 * 86400)
        let renewal = try bench.period("2", of: "1") { $0.appAccountToken = CustomerID("anna").appAccountToken }
        try await bench.append(renewal)
        #expect(try await bench.get(pseudonym).customer().subscriptions.first?.state == .active)
        bench.clock.advance(by: 20 * 86400)
        #expect(try await bench.get(pseudonym).active() == ["pro"])
        #expect(try await export(pseudonym, bench)["facts"]?.arrayValue?.allSatisfy { $0["payload"] == nil } == true)
        let rows = try everything(bench)
        #expect(!rows.contains(CustomerID("anna").appAccountToken.uuidString.lowercased()))
        await bench.close()
    }

    @Test(arguments: TransferMode.allCases)
    func `a customer that presents an erased purchase gets it`(mode: TransferMode) async throws {
        let bench = try await ServerBench { $0.apps[0].transferMode = mode }
        let signed = try bench.purchase("1") { $0.appAccountToken = CustomerID("anna").appAccountToken }
        _ = try await bench.post(signed)
        _ = try await erase(in: bench)
        #expect(try await bench.post(signed).active() == ["tools"])
        bench.clock.advance(by: 1)
        let revoked = try bench.purchase("1") { $0.revocationDate = $0.signedDate }
        _ = try await bench.post(revoked)
        #expect(try await bench.get().active() == [])
        let facts = try await export("anna", bench)["facts"]
        #expect(facts?[0]?["payload"] != nil)
        await bench.close()
    }

    /// The later facts are the same period signed again, a renewal from the store, and a renewal that the new customer
    /// presents.
    @Test(arguments: TransferMode.allCases)
    func `the presenter of an erased purchase keeps it after later facts`(
        mode: TransferMode
    ) async throws {
        let bench = try await ServerBench { $0.apps[0].transferMode = mode }
        func renewal(_ id: String) throws -> String {
            try bench.period(id, of: "1") { $0.appAccountToken = CustomerID("anna").appAccountToken }
        }
        let first = try bench.period("1") { $0.appAccountToken = CustomerID("anna").appAccountToken }
        _ = try await bench.post(first)
        _ = try await erase(in: bench)
        #expect(try await bench.post(first, for: "ben").active() == ["pro"])
        bench.clock.advance(by: 1)
        let again = try bench.period("1") { $0.appAccountToken = CustomerID("anna").appAccountToken }
        #expect(try await bench.post(again, for: "ben").active() == ["pro"])
        bench.clock.advance(by: 29 * 86400)
        try await bench.append(renewal("2"))
        bench.clock.advance(by: 2 * 86400)
        #expect(try await bench.get("ben").active() == ["pro"])
        bench.clock.advance(by: 26 * 86400)
        #expect(try await bench.post(renewal("3"), for: "ben").active() == ["pro"])
        #expect(try bench.replay().differences == [])
        #expect(try await erase("ben", in: bench).json["erasedPurchases"]?.intValue == 1)
        if ServerBench.engine == .sqlite {
            #expect(try !everything(bench).contains(CustomerID("anna").appAccountToken.uuidString.lowercased()))
        }
        await bench.close()
    }

    @Test(arguments: TransferMode.allCases)
    func `a purchase after an erasure stays with its presenter until the erased customer returns`(mode: TransferMode)
        async throws
    {
        let bench = try await ServerBench { $0.apps[0].transferMode = mode }
        let token = CustomerID("anna").appAccountToken
        _ = try await bench.post(bench.purchase("1"))
        _ = try await erase(in: bench)
        bench.clock.advance(by: 1)
        let first = try bench.period("5") { $0.appAccountToken = token }
        #expect(try await bench.post(first, for: "ben").active() == ["pro"])
        bench.clock.advance(by: 29 * 86400)
        let renewal = try bench.period("6", of: "5") { $0.appAccountToken = token }
        #expect(try await bench.post(renewal, for: "ben").active() == ["pro"])
        #expect(try bench.replay().differences == [])
        _ = try await bench.post(renewal)
        #expect(try await bench.get().active() == ["pro"])
        #expect(try bench.replay().differences == [])
        await bench.close()
    }

    @Test
    func `after the erasure of a token's customer, a new presenter does not change an earlier presenter's features`()
        async throws
    {
        let bench = try await ServerBench { $0.apps[0].transferMode = .share }
        let signed = try bench.period("1") { $0.appAccountToken = CustomerID("anna").appAccountToken }
        #expect(try await bench.post(signed, for: "ben").active() == ["pro"])
        #expect(try await bench.post(signed).active() == ["pro"])
        _ = try await erase(in: bench)
        #expect(try bench.replay().differences == [])
        let before = try await bench.get("ben").active()
        bench.clock.advance(by: 29 * 86400)
        let renewal = try bench.period("2", of: "1") { $0.appAccountToken = CustomerID("anna").appAccountToken }
        _ = try await bench.post(renewal, for: "eve")
        #expect(try await bench.get("ben").active() == before)
        #expect(try bench.replay().differences == [])
        await bench.close()
    }

    @Test func `a customer is erased once, and an unknown one is not found`() async throws {
        let bench = try await ServerBench()
        #expect(try await erase(in: bench).code == "unknown_customer")
        _ = try await bench.post(bench.purchase("1"))
        let pseudonym = try #require(try await erase(in: bench).json["pseudonym"]?.stringValue)
        #expect(try await erase(in: bench).status == 404)
        #expect(try await erase(pseudonym, in: bench).status == 404)
        #expect(try await bench.alias(pseudonym, to: "ben").code == "alias_taken")
        #expect(try await bench.send(.get, "/v1/customers/anna/export", as: .secret).status == 404)
        #expect(try await bench.send(.delete, "/v1/customers/anna").code == "secret_key_required")
        await bench.close()
    }

    @Test func `an export contains a customer's answer, aliases, facts, claims, grants, redemptions and events`()
        async throws
    {
        let bench = try await ServerBench { $0.apps[0].credits = CreditTests.table }
        _ = try await bench.post([bench.period("1"), bench.coins("2")], renewals: [bench.renewalInfo()])
        _ = try await bench.grant("gift")
        _ = try await bench.redeem([("a", "filter")])
        _ = try await bench.alias("anonymous-1")
        let held = try await export("anonymous-1", bench)
        #expect(held["customer"]?.stringValue == "anna" && held["aliases"] == ["anonymous-1"])
        #expect(held["facts"]?.arrayValue?.count == 3 && held["claims"]?.arrayValue?.count == 2)
        #expect(held["grants"]?[0]?["reason"]?.stringValue == "support")
        #expect(held["redemptions"]?[0]?["item"]?.stringValue == "a")
        #expect(held["events"]?.arrayValue?.isEmpty == false)
        #expect(held["answer"]?["customer"]?.stringValue == "anna")
        await bench.close()
    }
}

extension ServerBench {
    /// Appends a fact that comes from the store, without a claim of a customer.
    func append(_ signed: String) async throws {
        let segments = signed.split(separator: ".")
        let bytes = try #require(Base64.decodeURL(String(segments[1])))
        let payload = try JWSTransactionDecodedPayload(json: JSONValue(parsing: bytes))
        let fact = PresentedFact(
            content: .transaction(try TransactionFact(payload, digest: SHA256.hash(bytes))), environment: .sandbox,
            source: Array(signed.utf8), index: 0)
        _ = try await service.ledger.record([fact], of: Self.app, by: nil, answering: .sandbox, as: nil) { _, _ in
            KeptAnswer(status: 200, contentType: "text/plain", body: [])
        }
    }
}

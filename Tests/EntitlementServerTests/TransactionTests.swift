import Foundation
import HTTPCore
import StoreModel
import Testing

@testable import EntitlementServer

@Suite(.onBothEngines) struct TransactionTests {
    @Test func `a purchase is stored, is acknowledged and gives its feature`() async throws {
        let bench = try await ServerBench()
        let reply = try await bench.post(bench.period())
        #expect(reply.status == 200)
        #expect(reply.acknowledged == ["1"])
        #expect(reply.json["rejected"]?.arrayValue == [])
        #expect(reply.headers["Souk-Environment"] == "sandbox")
        let answer = try reply.customer()
        #expect(answer.customer == "anna" && answer.environment == .sandbox)
        #expect(try reply.active() == ["pro"])
        #expect(answer.subscriptions.first?.state == .active)
        #expect(answer.subscriptions.first?.price?.currency == "USD")
        #expect(answer.validUntil == bench.clock.now().addingTimeInterval(30 * 86400))
        #expect(try await bench.get().customer() == answer)
        #expect(try bench.count("fact") == 1)
        await bench.close()
    }

    @Test func `one request can contain purchases of several product types`() async throws {
        let bench = try await ServerBench()
        let reply = try await bench.post([
            bench.period("1"), bench.purchase("2"), bench.purchase("3", product: "coins", type: .consumable),
        ])
        #expect(reply.acknowledged == ["1", "2", "3"])
        #expect(try reply.active() == ["pro", "tools"])
        #expect(try reply.customer().purchases.map(\.productID) == ["tools", "coins"])
        await bench.close()
    }

    @Test func `an invalid transaction does not affect valid ones of the same request`() async throws {
        let bench = try await ServerBench()
        let good = try bench.period("1")
        let tampered = good.dropLast(6) + "AAAAAA"
        let foreign = try bench.sign(bench.purchasePayload("2"), by: ServerBench.foreignChain)
        let reply = try await bench.post([String(tampered), good, foreign, "no.jws"])
        #expect(reply.status == 200)
        #expect(reply.acknowledged == ["1"])
        let rejected = try #require(reply.json["rejected"]?.arrayValue)
        #expect(rejected.map { $0["index"]?.intValue } == [0, 2, 3])
        #expect(rejected.map { $0["code"]?.stringValue } == ["signatureInvalid", "untrustedRoot", "malformed"])
        #expect(rejected.allSatisfy { $0["retryable"]?.boolValue == false && $0["detail"]?.stringValue != nil })
        await bench.close()
    }

    @Test(arguments: [1e297, 253_402_300_800, -1e12])
    func `a date out of range is refused`(seconds: Double) async throws {
        let bench = try await ServerBench()
        let impossible = Date(timeIntervalSince1970: seconds)
        let reply = try await bench.post([
            bench.period { $0.expiresDate = impossible },
            bench.purchase("2") { $0.purchaseDate = impossible },
            bench.purchase("3") { $0.revocationDate = impossible },
        ])
        let rejected = try #require(reply.json["rejected"]?.arrayValue)
        #expect(rejected.map { $0["code"]?.stringValue } == Array(repeating: "payloadMalformed", count: 3))
        #expect(try bench.count("fact") == 0)
        await bench.close()
    }

    @Test func `the same transaction again changes nothing`() async throws {
        let bench = try await ServerBench()
        let signed = try bench.period()
        let first = try await bench.post(signed)
        let etag = try await bench.get().headers["ETag"]
        bench.clock.advance(by: 3600)
        let second = try await bench.post([signed, signed])
        #expect(second.acknowledged == ["1"])
        #expect(try second.customer() == first.customer())
        #expect(try await bench.get().headers["ETag"] == etag)
        #expect(try bench.count("fact") == 1 && bench.count("claim") == 1)
        await bench.close()
    }

    @Test func `a refund is the same transaction signed again`() async throws {
        let bench = try await ServerBench()
        let bought = bench.purchasePayload("1")
        _ = try await bench.post(bench.sign(bought))
        bench.clock.advance(by: 86400)
        var refunded = bought
        refunded.signedDate = bench.clock.now()
        refunded.revocationDate = bench.clock.now()
        #expect(try await bench.post(bench.sign(refunded)).active() == [])
        #expect(try bench.count("fact") == 2)
        let again = try await bench.post(bench.sign(bought))
        #expect(try again.active() == [])
        #expect(again.acknowledged == ["1"])
        bench.clock.advance(by: 86400)
        var reversed = bought
        reversed.signedDate = bench.clock.now()
        #expect(try await bench.post(bench.sign(reversed)).active() == ["tools"])
        await bench.close()
    }

    @Test func `facts may come in any order`() async throws {
        let (one, other) = (try await ServerBench(), try await ServerBench())
        let first = try one.period("1")
        let off = try one.renewalInfo(renews: false)
        one.clock.advance(by: 30 * 86400)
        other.clock.advance(by: 30 * 86400)
        let second = try one.period("2", of: "1")
        let on = try one.renewalInfo(renews: true)
        _ = try await one.post([first], renewals: [off])
        _ = try await one.post([second], renewals: [on])
        _ = try await other.post([second], renewals: [on])
        _ = try await other.post([first], renewals: [off])
        #expect(try await one.get().customer() == other.get().customer())
        #expect(try await one.get().customer().subscriptions.first?.autoRenews == true)
        #expect(try await one.get().customer().subscriptions.count == 1)
        await one.close()
        await other.close()
    }

    @Test func `a renewal info changes how a subscription continues`() async throws {
        let bench = try await ServerBench()
        let reply = try await bench.post([bench.period()], renewals: [bench.renewalInfo(renews: false)])
        #expect(try reply.customer().features.first?.because == "active subscription, does not renew")
        #expect(try bench.count("fact") == 2)
        await bench.close()
    }

    @Test func `a renewal info of an unknown subscription is rejected by its index`() async throws {
        let bench = try await ServerBench()
        let reply = try await bench.post([bench.period("1")], renewals: [bench.renewalInfo(of: "99"), "x"])
        #expect(reply.acknowledged == ["1"])
        let rejected = try #require(reply.json["rejected"]?.arrayValue)
        #expect(rejected.map { $0["index"]?.intValue } == [1, 2])
        #expect(rejected.map { $0["code"]?.stringValue } == ["unknownTransaction", "malformed"])
        #expect(try bench.count("fact") == 1)
        await bench.close()
    }

    @Test func `environments have ledgers of their own`() async throws {
        let bench = try await ServerBench(environments: [.production, .sandbox])
        let sandbox = try bench.purchase("1")
        let production = try bench.purchase("1") { $0.environment = .production }
        let reply = try await bench.post(sandbox)
        #expect(reply.acknowledged == ["1"])
        #expect(reply.headers["Souk-Environment"] == "production")
        #expect(try reply.active() == [])
        let asked = try await bench.get("anna", headers: ["Souk-Environment": "sandbox"])
        #expect(asked.headers["Souk-Environment"] == "sandbox")
        #expect(try asked.active() == ["tools"])
        #expect(try asked.customer().environment == .sandbox)
        #expect(try await bench.post([sandbox, production]).active() == ["tools"])
        #expect(try bench.count("fact") == 2)
        await bench.close()
    }

    @Test func `apps have ledgers of their own`() async throws {
        let bench = try await ServerBench()
        _ = try await bench.post(bench.purchase("1"))
        let foreign = try bench.purchase("1") { $0.bundleId = ServerBench.otherApp.rawValue }
        #expect(try await bench.post(foreign, of: ServerBench.otherApp).acknowledged == ["1"])
        #expect(try bench.count("fact") == 2 && bench.count("customer") == 2)
        await bench.close()
    }

    @Test func `acknowledged transactions survive a restart`() async throws {
        let folder = try ServerBench.Folder()
        let first = try await ServerBench(folder: folder)
        let answer = try await first.post(first.period()).customer()
        let etag = try await first.get().headers["ETag"]
        let key = try #require(first.keys[ServerBench.app])
        await first.close()

        let second = try await ServerBench(folder: folder)
        #expect(second.keys.isEmpty)
        let reply = try await second.send(.get, "/v1/customers/anna", as: .other("Bearer \(key.publicKey)"))
        #expect(try reply.customer() == answer)
        #expect(reply.headers["ETag"] == etag && reply.wasReady)
        await second.close()
    }

    @Test func `a new feature map at the next start changes the answers`() async throws {
        let folder = try ServerBench.Folder()
        let first = try await ServerBench(folder: folder)
        _ = try await first.post(first.period())
        let key = try #require(first.keys[ServerBench.app]).publicKey
        await first.close()
        let second = try await ServerBench(folder: folder) {
            $0.apps[0].features = FeatureMap(features: ["everything": ["pro.monthly"]])
        }
        let reply = try await second.send(.get, "/v1/customers/anna", as: .other("Bearer \(key)"))
        #expect(try reply.active() == ["everything"])
        await second.close()
    }

    @Test func `acknowledged transactions of concurrent requests are in the ledger`() async throws {
        let bench = try await ServerBench()
        let signed = try (1...60).map { try bench.purchase("\($0)", product: "product.\($0 % 7)") }
        let acknowledged = try await withThrowingTaskGroup(of: [String].self) { group in
            for (index, transaction) in (signed + signed).enumerated() {
                group.addTask { try await bench.post(transaction, for: "customer-\(index % 5)").acknowledged ?? [] }
            }
            return try await group.reduce(into: Set<String>()) { $0.formUnion($1) }
        }
        #expect(acknowledged == Set((1...60).map(String.init)))
        #expect(try bench.count("fact") == 60)
        let owned = try bench.database.read { connection in
            try connection.query("SELECT customer FROM holder").count
        }
        #expect(owned == 60)
        for index in 0..<5 {
            let ledgerID = LedgerID(app: ServerBench.app, environment: .sandbox)
            let customer = CustomerID(unchecked: "customer-\(index)")
            let answer = try await bench.get(customer.rawValue).customer()
            let state = try bench.database.read { connection in
                try LedgerTransaction(
                    connection, ledgerID: ledgerID, rules: ActiveRules.Entry(), now: bench.clock.now()
                )
                .state(of: customer)
            }
            let expected = EntitlementReducer(features: ServerBench.map).customer(
                customer, in: .sandbox, state, at: bench.clock.now())
            #expect(answer == expected)
        }
        await bench.close()
    }
}

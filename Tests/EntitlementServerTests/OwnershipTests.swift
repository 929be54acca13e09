import AppStorePayloads
import Foundation
import HTTPCore
import StoreModel
import Testing

@testable import EntitlementServer

@Suite(.onBothEngines) struct OwnershipTests {
    @Test func `a purchase without a token belongs to its last presenter`() async throws {
        let bench = try await ServerBench()
        let signed = try bench.purchase("1")
        #expect(try await bench.post(signed, for: "anna").active() == ["tools"])
        #expect(try await bench.post(signed, for: "ben").active() == ["tools"])
        #expect(try await bench.get("anna").active() == [])
        #expect(try await bench.post(signed, for: "anna").active() == ["tools"])
        #expect(try await bench.get("ben").active() == [])
        #expect(try bench.count("fact") == 1 && bench.count("claim") == 1)
        await bench.close()
    }

    @Test func `a purchase bound to a known customer is refused from others`() async throws {
        let bench = try await ServerBench()
        let signed = try bench.purchase("1") { $0.appAccountToken = CustomerID("anna").appAccountToken }
        #expect(try await bench.post(signed, for: "anna").status == 200)
        let reply = try await bench.post(signed, for: "ben")
        #expect(reply.status == 422 && reply.code == "boundToAnotherCustomer")
        #expect(try await bench.get("anna").active() == ["tools"])
        #expect(try bench.count("claim") == 1 && bench.count("customer") == 1)
        let among = try await bench.post([signed, bench.purchase("2", product: "more")], for: "ben")
        #expect(among.acknowledged == ["2"])
        #expect(among.json["rejected"]?[0]?["code"]?.stringValue == "boundToAnotherCustomer")
        #expect(try among.active() == ["more"])
        await bench.close()
    }

    @Test func `a renewal without a token is bound to the customer of its purchase`() async throws {
        let bench = try await ServerBench()
        let token = CustomerID("anna").appAccountToken
        _ = try await bench.post(bench.period("1") { $0.appAccountToken = token }, for: "anna")
        let renewal = try bench.period("2", of: "1")
        #expect(try await bench.post(renewal, for: "ben").code == "boundToAnotherCustomer")
        #expect(try await bench.post(renewal, for: "anna").acknowledged == ["2"])
        await bench.close()
    }

    @Test(arguments: [0, 1 << 20])
    func `a token of an unknown customer binds nothing until a request about that customer`(memory: Int) async throws {
        let bench = try await ServerBench { $0.answerMemory = memory }
        let id = "6f9619ff-8b86-d011-b42d-00cf4fc964ff"
        let signed = try bench.purchase("1") { $0.appAccountToken = UUID(uuidString: id) }
        let open = try bench.purchase("2", product: "more")
        #expect(try await bench.post([signed, open], for: "anna").active() == ["more", "tools"])
        #expect(try await bench.get("anna").active() == ["more", "tools"])
        #expect(try await bench.get(id).active() == ["tools"])
        #expect(try await bench.get("anna").active() == ["more"])
        #expect(try await bench.get("anna").wasReady)
        #expect(try await bench.get(id).wasReady)
        #expect(try await bench.post(signed, for: "anna").code == "boundToAnotherCustomer")
        #expect(try await bench.post(signed, for: id).active() == ["tools"])
        #expect(try await bench.get("anna").active() == ["more"])
        await bench.close()
    }

    /// Anybody can compute the token of a customer id, and use the token as an id too.
    @Test(arguments: [false, true])
    func `a customer whose id is another customer's token keeps no purchase of that customer`(isAlias: Bool)
        async throws
    {
        let bench = try await ServerBench()
        let token = CustomerID("anna").appAccountToken
        let uuid = CustomerID(unchecked: token.uuidString.lowercased()).rawValue
        let owner = isAlias ? "customer-1" : "anna"
        let signed = try bench.purchase("1") { $0.appAccountToken = token }
        #expect(try await bench.post(signed, for: uuid).active() == ["tools"])
        #expect(try await bench.get(uuid).active() == ["tools"])
        if isAlias { _ = try await bench.alias("anna", to: owner) }
        #expect(try await bench.post(signed, for: "anna").active() == ["tools"])
        #expect(try await bench.get(uuid).active() == [])
        #expect(try await bench.post(signed, for: uuid).code == "boundToAnotherCustomer")
        #expect(try await bench.get(owner).active() == ["tools"])

        let later = try bench.purchase("2", product: "more") { $0.appAccountToken = token }
        #expect(try await bench.post(later, for: uuid).code == "boundToAnotherCustomer")
        #expect(try await bench.post(later, for: "anna").active() == ["more", "tools"])
        #expect(try bench.replay().differences == [])
        await bench.close()
    }

    /// Foundation parses `+f` as `0f`, so both names would have the same UUID.
    @Test func `a name that is nearly a UUID is not the customer of that UUID`() async throws {
        let bench = try await ServerBench()
        let (id, near) = ("0f9619ff-8b86-d011-b42d-00cf4fc964ff", "+f9619ff-8b86-d011-b42d-00cf4fc964ff")
        let signed = try bench.purchase("1") { $0.appAccountToken = UUID(uuidString: id) }
        _ = try await bench.notify(bench.notification(transaction: signed))
        #expect(try await bench.get(near).active() == [])
        #expect(try await bench.get(id).active() == ["tools"])
        #expect(try await bench.post(signed, for: near).code == "boundToAnotherCustomer")
        #expect(CustomerID(rawValue: near) != CustomerID(rawValue: near.uppercased()))
        #expect(CustomerID.canonical(near.uppercased()) == near.uppercased())
        await bench.close()
    }

    @Test func `a transferred purchase is refused from the former customer with its token`() async throws {
        let bench = try await ServerBench()
        let signed = try bench.purchase("1") { $0.appAccountToken = CustomerID("anna").appAccountToken }
        _ = try await bench.post(signed)
        #expect(try await bench.transfer("1", to: "ben").status == 200)
        #expect(try await bench.post(signed).code == "boundToAnotherCustomer")
        #expect(try await bench.post(signed, for: "ben").active() == ["tools"])
        await bench.close()
    }

    @Test func `a fact with an older token is bound by the newest token`() async throws {
        let bench = try await ServerBench()
        let old = try bench.purchase("1") { $0.appAccountToken = CustomerID("anna").appAccountToken }
        #expect(try await bench.post(old).active() == ["tools"])
        bench.clock.advance(by: 60)
        let new = try bench.purchase("1") { $0.appAccountToken = CustomerID("ben").appAccountToken }
        #expect(try await bench.post(new, for: "ben").active() == ["tools"])
        #expect(try await bench.post(old).code == "boundToAnotherCustomer")
        #expect(try await bench.post(old, for: "ben").active() == ["tools"])
        #expect(try await bench.get().active() == [])
        #expect(try bench.replay().differences == [])
        await bench.close()
    }

    @Test func `purchases of a customer id that is a token move to the customer with that token`() async throws {
        let bench = try await ServerBench()
        let token = CustomerID("anna").appAccountToken
        let uuid = CustomerID(unchecked: token.uuidString.lowercased()).rawValue
        _ = try await bench.post(bench.purchase("1") { $0.appAccountToken = token }, for: "ben")
        #expect(try await bench.get(uuid).active() == ["tools"])
        #expect(try await bench.get("anna").active() == ["tools"])
        #expect(try await bench.get(uuid).active() == [])
        #expect(try bench.replay().differences == [])
        await bench.close()
    }

    @Test func `the first request about a token's customer moves the purchase to that customer`() async throws {
        let token = CustomerID("anna").appAccountToken
        let firsts: [@Sendable (ServerBench) async throws -> ServerBench.Reply] = [
            { bench in try await bench.post(bench.purchase("1") { $0.appAccountToken = token }) },
            { bench in try await bench.post(bench.purchase("2", product: "more")) },
            { bench in try await bench.grant("pro") },
        ]
        for (first, expected) in zip(firsts, [["tools"], ["more", "tools"], ["pro", "tools"]]) {
            let bench = try await ServerBench()
            let signed = try bench.purchase("1") { $0.appAccountToken = token }
            #expect(try await bench.post(signed, for: "ben").active() == ["tools"])
            #expect(try await first(bench).active() == expected)
            #expect(try await bench.get("anna").active() == expected)
            #expect(try await bench.get("ben").active() == [])
            await bench.close()
        }
    }

    @Test func `a token in a later transaction overrides an earlier claim`() async throws {
        let bench = try await ServerBench()
        _ = try await bench.grant("pro", to: "anna")
        let payload = bench.purchasePayload("1")
        #expect(try await bench.post(bench.sign(payload), for: "ben").active() == ["tools"])
        bench.clock.advance(by: 60)
        var bound = payload
        bound.appAccountToken = CustomerID("anna").appAccountToken
        bound.signedDate = bench.clock.now()
        #expect(try await bench.post(bench.sign(bound), for: "anna").active() == ["pro", "tools"])
        #expect(try await bench.get("ben").active() == [])
        await bench.close()
    }

    @Test func `a fact without a claim waits for the customer of its token`() async throws {
        let bench = try await ServerBench()
        let token = CustomerID("anna").appAccountToken
        let payload = bench.purchasePayload("1") { $0.appAccountToken = token }
        let open = bench.purchasePayload("2", product: "more")
        let facts = try [payload, open].enumerated().map { index, payload in
            PresentedFact(
                content: .transaction(try TransactionFact(payload, digest: [UInt8(index)])), environment: .sandbox,
                source: Array("signed".utf8), index: index)
        }
        _ = try await bench.service.ledger.record(
            facts, of: ServerBench.app, by: nil, answering: .sandbox, as: nil
        ) { recorded, answer in
            #expect(recorded.acknowledged == ["1", "2"] && answer == nil)
            return KeptAnswer(status: 200, contentType: "text/plain", body: [])
        }
        #expect(try await bench.get("ben").active() == [])
        #expect(try bench.count("customer") == 0)
        #expect(try await bench.get("anna").active() == ["tools"])
        #expect(try await bench.post(bench.sign(payload), for: "ben").code == "boundToAnotherCustomer")
        #expect(try await bench.post(bench.sign(open), for: "ben").active() == ["more"])
        await bench.close()
    }
}

import Foundation
import HTTPCore
import Primitives
import SQLStorage
import StoreModel
import Testing

@testable import EntitlementServer

/// Names and tokens of erased customers in other customers' rows and in stored answers.
@Suite struct ErasedNameTests {
    private static let name = "receiver-of-whom-nothing-is-to-stay"
    private static let uuid = "6f9619ff-8b86-d011-b42d-00cf4fc964ff"

    private func files(of bench: ServerBench, holding text: String) throws -> [String] {
        let folder = bench.folder.url
        return try FileManager.default.contentsOfDirectory(atPath: folder.path).filter { name in
            try Data(contentsOf: folder.appendingPathComponent(name)).range(of: Data(text.utf8)) != nil
        }
    }

    private func erase(_ customer: String, in bench: ServerBench) async throws -> Int {
        try await bench.send(.delete, "/v1/customers/\(customer)", as: .secret).status
    }

    private func replay(_ bench: ServerBench) throws -> [LedgerReplay.Difference] {
        try LedgerReplay(database: bench.database, apps: ReplayTests.apps, clock: bench.clock).run().differences
    }

    private func tokens(_ bench: ServerBench) throws -> [String?] {
        try bench.database.read { connection in
            try connection.query("SELECT app_account_token FROM fact ORDER BY sequence").map {
                try $0["app_account_token"] as String?
            }
        }
    }

    private func transfer(_ bench: ServerBench, from giver: String, to receiver: String) async throws
        -> ServerBench.Reply
    {
        try await bench.send(
            .post, "/v1/customers/\(giver)/transfer", as: .secret, headers: ["Idempotency-Key": "k1"],
            body: .json(["to": .string(receiver), "originalTransactionID": "1"]))
    }

    @Test(.onSQLite) func `the stored answer of a transfer is erased with its receiver`() async throws {
        let bench = try await ServerBench()
        _ = try await bench.post(bench.purchase("1"), for: "giver")
        #expect(try await transfer(bench, from: "giver", to: Self.name).status == 200)
        #expect(try !files(of: bench, holding: Self.name).isEmpty)
        #expect(try await erase(Self.name, in: bench) == 200)
        #expect(try bench.count("idempotency_key") == 0 && bench.count("kept_answer") == 0)
        #expect(try files(of: bench, holding: Self.name) == [])
        let again = try await transfer(bench, from: "giver", to: Self.name)
        #expect(again.status == 404 && again.code == "unknown_purchase")
        await bench.close()
    }

    @Test func `the stored answer of a transfer does not keep the name of the erased giver`() async throws {
        let bench = try await ServerBench()
        _ = try await bench.post(bench.purchase("1"), for: Self.name)
        #expect(try await transfer(bench, from: Self.name, to: "heir").status == 200)
        #expect(try await erase(Self.name, in: bench) == 200)
        #expect(try files(of: bench, holding: Self.name) == [])
        await bench.close()
    }

    @Test func `the stored answer of a delivery's replay is erased with its customer`() async throws {
        let bench = try await ServerBench.withWebhook(WebhookReceiver())
        _ = try await bench.post(bench.purchase("1"), for: Self.name)
        try await bench.deliver()
        let reply = try await bench.send(
            .post, "/v1/webhook-deliveries/1/replay", as: .secret, headers: ["Idempotency-Key": "k"])
        #expect(reply.status == 200 && reply.json["customer"]?.stringValue == Self.name)
        #expect(try await erase(Self.name, in: bench) == 200)
        #expect(try bench.count("kept_answer") == 0)
        #expect(try files(of: bench, holding: Self.name) == [])
        await bench.close()
    }

    @Test(.onSQLite) func `an erasure deletes refusals that were stored under an unknown name`() async throws {
        let bench = try await ServerBench()
        let refused = try await bench.post("no signature", for: Self.name, headers: ["Idempotency-Key": "k"])
        #expect(refused.status == 422)
        #expect(try !files(of: bench, holding: Self.name).isEmpty)
        #expect(try await erase(Self.name, in: bench) == 404)
        #expect(try bench.count("idempotency_key") == 0 && bench.count("kept_answer") == 0)
        #expect(try files(of: bench, holding: Self.name) == [])
        await bench.close()
    }

    @Test func `the token of an erased customer is deleted from another customer's purchase`() async throws {
        let bench = try await ServerBench()
        let signed = try bench.purchase("1") { $0.appAccountToken = UUID(uuidString: Self.uuid) }
        _ = try await bench.post(signed, for: Self.uuid)
        #expect(try await bench.transfer("1", from: Self.uuid, to: "heir").status == 200)
        #expect(try await erase(Self.uuid, in: bench) == 200)
        #expect(try tokens(bench).allSatisfy { $0 != Self.uuid })
        #expect(try files(of: bench, holding: Self.uuid) == [])
        #expect(try await bench.get("heir").active() == ["tools"])
        #expect(try replay(bench) == [])
        _ = try await bench.post(signed, for: Self.uuid)
        #expect(try await bench.get("heir").active() == ["tools"])
        #expect(try replay(bench) == [])
        await bench.close()
    }

    @Test func `a renewal of another customer's purchase does not restore an erased token`() async throws {
        let bench = try await ServerBench()
        let token = UUID(uuidString: Self.uuid)
        _ = try await bench.post(bench.period("1") { $0.appAccountToken = token }, for: Self.uuid)
        #expect(try await bench.transfer("1", from: Self.uuid, to: "heir").status == 200)
        #expect(try await erase(Self.uuid, in: bench) == 200)
        bench.clock.advance(by: 29 * 86400)
        try await bench.append(bench.period("2", of: "1") { $0.appAccountToken = token })
        #expect(try await bench.get("heir").active() == ["pro"])
        #expect(try tokens(bench).allSatisfy { $0 != Self.uuid })
        #expect(try files(of: bench, holding: Self.uuid) == [])
        #expect(try replay(bench) == [])
        await bench.close()
    }

    @Test func `an erasure keeps a token that another customer has too`() async throws {
        let bench = try await ServerBench()
        let token = CustomerID("anna").appAccountToken
        let sibling = CustomerID(unchecked: token.uuidString.lowercased())
        _ = try await bench.post(bench.purchase("1") { $0.appAccountToken = token }, for: sibling.rawValue)
        _ = try await bench.grant("gift", to: "anna")
        #expect(try await erase("anna", in: bench) == 200)
        #expect(try tokens(bench) == [token.uuidString.lowercased()])
        #expect(try await bench.get(sibling.rawValue).active() == ["tools"])
        #expect(try replay(bench) == [])
        await bench.close()
    }

    @Test func `a purchase that is bound to an erased customer does not return to its presenter`() async throws {
        let bench = try await ServerBench()
        let token = CustomerID("anna").appAccountToken
        _ = try await bench.post(bench.purchase("1") { $0.appAccountToken = token }, for: "ben")
        _ = try await bench.grant("gift", to: "anna")
        #expect(try await bench.get("anna").active() == ["gift", "tools"])
        #expect(try await erase("anna", in: bench) == 200)
        #expect(try replay(bench) == [])
        #expect(try await bench.get("ben").active() == [])
        await bench.close()
    }

    @Test func `a request whose facts are all invalid registers no customer`() async throws {
        let bench = try await ServerBench()
        let reply = try await bench.post(["x", "y"], for: "junk")
        #expect(reply.status == 200 && reply.acknowledged == [])
        #expect(try reply.json["rejected"]?.arrayValue?.count == 2 && reply.customer().customer == "junk")
        #expect(try bench.count("customer") == 0 && bench.count("event") == 0)
        #expect(try await bench.post(["x", bench.purchase("1")], for: "junk").active() == ["tools"])
        #expect(try await bench.post(["x", "y"], for: "junk").active() == ["tools"])
        #expect(try bench.count("customer") == 1)
        await bench.close()
    }

    @Test func `a customer whose purchase waits is registered even by a request with invalid facts`() async throws {
        let bench = try await ServerBench()
        try await bench.append(bench.purchase("1") { $0.appAccountToken = CustomerID("anna").appAccountToken })
        #expect(try await bench.post(["x", "y"]).active() == ["tools"])
        #expect(try bench.count("customer") == 1)
        await bench.close()
    }
}

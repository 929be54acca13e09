import BaseTestSupport
import Foundation
import StoreModel
import Testing

@testable import EntitlementServer

/// The deletion of superseded claims.
@Suite(.onBothEngines) struct ClaimGrowthTests {
    private func holders(_ bench: ServerBench) throws -> [String] {
        try bench.database.read { connection in
            try connection.query("SELECT customer FROM holder ORDER BY customer").map { try $0["customer"] }
        }
    }

    @Test func `a purchase that several customers present in turn has one claim`() async throws {
        let bench = try await ServerBench { $0.apps[0].transferMode = .transfer }
        let signed = try bench.purchase("1")
        for round in 0..<20 {
            let customer = "customer-\(round % 4)"
            _ = try await bench.post(signed, for: customer)
            #expect(try holders(bench) == [customer])
            #expect(try bench.count("claim") == 1)
        }
        #expect(try bench.replay().differences == [])
        await bench.close()
    }

    @Test func `claims of a transfer and of the token's customer are kept`() async throws {
        let bench = try await ServerBench { $0.apps[0].transferMode = .transfer }
        let token = CustomerID(unchecked: "anonymous-1").appAccountToken
        let signed = try bench.purchase("1") { $0.appAccountToken = token }
        _ = try await bench.post(signed, for: "anonymous-1")
        _ = try await bench.alias("anonymous-1", to: "anna")
        for round in 0..<10 {
            _ = try await bench.post(signed, for: round % 2 == 0 ? "anna" : "anonymous-1")
            #expect(try holders(bench) == ["anna"])
            #expect(try bench.count("claim") <= 2)
        }
        _ = try await bench.transfer("1", to: "ben")
        #expect(try holders(bench) == ["ben"])
        _ = try await bench.post(signed, for: "ben")
        #expect(try holders(bench) == ["ben"])
        #expect(try bench.count("claim") <= 4)
        #expect(try bench.replay().differences == [])
        await bench.close()
    }

    @Test func `customers that share a purchase have one claim each`() async throws {
        let bench = try await ServerBench { $0.apps[0].transferMode = .share }
        let signed = try bench.purchase("1")
        for round in 0..<12 { _ = try await bench.post(signed, for: "customer-\(round % 3)") }
        #expect(try holders(bench) == ["customer-0", "customer-1", "customer-2"])
        #expect(try bench.count("claim") == 3)
        await bench.close()
    }

    @Test(arguments: [false, true])
    func `a purchase is shared again after its transfer or the erasure of its owner`(isErased: Bool) async throws {
        let bench = try await ServerBench { $0.apps[0].transferMode = .share }
        let token = CustomerID("owner").appAccountToken
        let signed = try bench.purchase("1") { if isErased { $0.appAccountToken = token } }
        for customer in ["anna", "ben"] { #expect(try await bench.post(signed, for: customer).active() == ["tools"]) }
        if isErased {
            #expect(try await bench.get("owner").active() == ["tools"])
            #expect(try await bench.send(.delete, "/v1/customers/owner", as: .secret).status == 200)
        } else {
            #expect(try await bench.transfer("1", from: "anna", to: "dora").status == 200)
        }
        for customer in ["anna", "cleo", "ben", "anna"] {
            #expect(try await bench.post(signed, for: customer).active() == ["tools"], "\(customer)")
        }
        #expect(try bench.replay().differences == [])
        #expect(Set(["anna", "ben", "cleo"]).isSubset(of: try holders(bench)))
        await bench.close()
    }

    @Test func `the last hundred presenters share a purchase, and earlier ones may return`() async throws {
        let bench = try await ServerBench { $0.apps[0].transferMode = .share }
        let signed = try bench.purchase("1")
        for number in 100..<205 { _ = try await bench.post(signed, for: "customer-\(number)") }
        #expect(try holders(bench) == (105..<205).map { "customer-\($0)" })
        let again = try await bench.post(signed, for: "customer-100")
        #expect(again.status == 200)
        #expect(try holders(bench) == ["customer-100"] + (106..<205).map { "customer-\($0)" })
        #expect(try bench.count("claim") == 100)
        #expect(try bench.replay().differences == [])
        await bench.close()
    }
}

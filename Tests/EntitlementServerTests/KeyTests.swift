import Foundation
import HTTPCore
import Primitives
import StoreModel
import Testing

@testable import EntitlementServer

@Suite struct KeyTests {
    @Test func `a request without a valid key is refused`() async throws {
        let bench = try await ServerBench()
        let missing = try await bench.send(.get, "/v1/customers/anna", as: .none)
        #expect(missing.status == 401 && missing.code == "missing_key")
        #expect(missing.headers["WWW-Authenticate"] == "Bearer")
        let unknown = try await bench.send(.get, "/v1/customers/anna", as: .other("Bearer souk_public_x"))
        #expect(unknown.status == 401 && unknown.code == "unknown_key")
        let long = try await bench.send(
            .get, "/v1/customers/anna", as: .other("Bearer " + String(repeating: "x", count: 600)))
        #expect(long.code == "unknown_key")
        let basic = try await bench.send(.get, "/v1/customers/anna", as: .other("Basic abc"))
        #expect(basic.status == 400 && basic.field == "Authorization")
        #expect(try await bench.send(.post, "/v1/customers/anna/transactions", as: .none).status == 401)
        #expect(try await bench.send(.post, "/v1/customers/anna/grants", as: .none).status == 401)
        await bench.close()
    }

    @Test func `a key reads and writes only the data of its own app`() async throws {
        let bench = try await ServerBench()
        let signed = try bench.purchase("1")
        #expect(try await bench.post(signed, of: ServerBench.otherApp).code == "wrongBundle")
        _ = try await bench.post(signed)
        let reply = try await bench.send(.get, "/v1/customers/anna", of: ServerBench.otherApp)
        #expect(try reply.active() == [])
        await bench.close()
    }

    @Test func `a secret key can read a customer, and the scheme can be in lower case`() async throws {
        let bench = try await ServerBench()
        #expect(try await bench.send(.get, "/v1/customers/anna", as: .secret).status == 200)
        let lower = "bearer \(try #require(bench.keys[ServerBench.app]).publicKey)"
        #expect(try await bench.send(.get, "/v1/customers/anna", as: .other(lower)).status == 200)
        await bench.close()
    }

    @Test func `keys are created once, stored as digests, and saved before they are valid`() async throws {
        struct DiskFull: Error {}
        let bench = try await ServerBench()
        #expect(try await bench.service.createMissingKeys { _ in Issue.record("no key is missing") }.isEmpty)
        let issued = try #require(bench.keys[ServerBench.app])
        #expect(issued.publicKey != issued.secretKey && !"\(issued)".contains(issued.secretKey))
        let digests = try bench.database.read { connection in
            try connection.query("SELECT digest FROM api_key").map { try $0["digest"] as [UInt8] }
        }
        #expect(digests.count == 4 && digests.contains(SHA256.hash(issued.secretKey.utf8)))
        await bench.close()

        let folder = try ServerBench.Folder()
        let other = try await ServerBench(folder: folder)
        try await other.database.write { _ = try $0.execute("DELETE FROM api_key") }
        await #expect(throws: DiskFull.self) { try await other.service.createMissingKeys { _ in throw DiskFull() } }
        #expect(try other.count("api_key") == 0)
        #expect(try await other.service.createMissingKeys().count == 2)
        await other.close()
    }

    @Test func `a key of an app that is no longer served is refused`() async throws {
        let folder = try ServerBench.Folder()
        let both = try await ServerBench(folder: folder)
        let key = try #require(both.keys[ServerBench.otherApp]).publicKey
        await both.close()
        let one = try await ServerBench(folder: folder) { $0.apps.removeLast() }
        let reply = try await one.send(.get, "/v1/customers/anna", as: .other("Bearer \(key)"))
        #expect(reply.status == 403 && reply.code == "app_not_served")
        await one.close()
    }
}

@Suite struct ProvisioningTests {
    private func ask(
        _ bench: ServerBench, _ path: String, _ body: JSONValue, key: ServerBench.Key = .none, apiKey: String? = nil
    ) async throws -> ServerBench.Reply {
        var headers: HTTPHeaders = ["Content-Type": "application/json"]
        if let apiKey { headers.add("x-api-key", apiKey) }
        return try await bench.send(.post, path, as: key, headers: headers, body: .json(body))
    }

    private let features = "/feature-provisioner/get-features"
    private let subscriptions = "/subscriptions-tracker/get-subscriptions"
    private let anna: JSONValue = ["customerId": ["type": "merchant-str", "value": "anna"]]

    @Test func `features and subscriptions have the formats of Palta`() async throws {
        let bench = try await ServerBench()
        let start = bench.clock.now()
        _ = try await bench.post(
            [
                bench.period("10", days: 7) {
                    $0.offerType = .introductory
                    $0.offerDiscountType = .freeTrial
                    $0.price = 0
                }, bench.purchase("2"),
            ],
            renewals: [bench.renewalInfo(of: "10", renews: false)])
        _ = try await bench.grant("extra", until: start.addingTimeInterval(60))
        let key = try #require(bench.keys[ServerBench.app]).publicKey
        let id = TransactionID("10").subscriptionUUID

        let reply = try await ask(bench, features, anna, apiKey: key)
        #expect(reply.status == 200)
        let features = try WireJSON.decode(FeaturesResponse.self, from: reply.bytes).features
        #expect(features.map(\.feature) == ["extra", "pro", "tools"])
        #expect(features.map(\.lastSubscriptionId) == [nil, id, nil])
        #expect(features.map(\.actualTill) == [start.addingTimeInterval(60), start.addingTimeInterval(7 * 86400), nil])
        #expect(features.allSatisfy { $0.quantity == 1 && $0.actualFrom == start })

        let list = try await ask(bench, subscriptions, anna, key: .public)
        let subscription = try #require(list.json["subscriptions"]?[0])
        #expect(subscription["id"]?.stringValue.flatMap(UUID.init(uuidString:)) == id)
        #expect(subscription["state"]?.stringValue == "canceled")
        #expect(subscription["canceledAt"]?.stringValue == "2026-01-01T00:00:00Z")
        #expect(subscription["currentPeriodStartAt"]?.stringValue == "2026-01-01T00:00:00Z")
        #expect(subscription["currentPeriodEndAt"]?.stringValue == "2026-01-08T00:00:00Z")
        #expect(subscription["tags"] == ["trial", "source:appStore", "originalTransactionID:10"])
        #expect(subscription["pricePoint"]?["ident"]?.stringValue == "pro.monthly")
        #expect(subscription["pricePoint"]?["services"] == [["featureIdent": "pro"]])
        #expect(subscription["pricePoint"]?["introTotalPrice"]?.stringValue == "0")
        #expect(subscription["pricePoint"]?["currencyCode"]?.stringValue == "USD")
        #expect(subscription["nextSubscriptionId"] == nil)
        await bench.close()
    }

    @Test func `an inactive feature is left out, and its subscription has ended`() async throws {
        let bench = try await ServerBench()
        _ = try await bench.post([bench.period("1"), bench.purchase("2") { $0.revocationDate = $0.signedDate }])
        bench.clock.advance(by: 30 * 86400)
        #expect(try await ask(bench, features, anna, key: .public).json == ["features": []])
        let list = try await ask(bench, subscriptions, anna, key: .public)
        let subscription = try #require(list.json["subscriptions"]?[0])
        #expect(subscription["state"]?.stringValue == "canceled")
        #expect(subscription["currentPeriodEndAt"]?.stringValue == "2026-01-31T00:00:00Z")
        await bench.close()
    }

    @Test func `only the requested subscriptions are returned`() async throws {
        let bench = try await ServerBench()
        _ = try await bench.post([bench.period("1"), bench.period("2", product: "other")])
        var body = anna
        body["onlyIds"] = [.string(TransactionID("2").subscriptionUUID.uuidString)]
        let list = try await ask(bench, subscriptions, body, key: .public)
        #expect(list.json["subscriptions"]?.arrayValue?.count == 1)
        #expect(list.json["subscriptions"]?[0]?["pricePoint"]?["ident"]?.stringValue == "other")
        #expect(list.json["subscriptions"]?[0]?["state"]?.stringValue == "active")
        #expect(list.json["subscriptions"]?[0]?["pricePoint"]?["nextTotalPrice"]?.stringValue == "4.99")
        await bench.close()
    }

    @Test func `a customer may be a UUID, and an unknown customer has no subscriptions`() async throws {
        let bench = try await ServerBench()
        let id = UUID()
        _ = try await bench.post(bench.purchase("1"), for: id.uuidString.lowercased())
        let body: JSONValue = ["customerId": ["type": "merchant-uuid", "value": .string(id.uuidString)]]
        #expect(try await ask(bench, features, body, key: .public).json["features"]?.arrayValue?.count == 1)
        #expect(try await ask(bench, subscriptions, anna, key: .public).json == ["subscriptions": []])
        await bench.close()
    }

    @Test func `a malformed request is refused with the name of its field`() async throws {
        let bench = try await ServerBench()
        let refused: [(JSONValue, String)] = [
            ([:], "customerId"), (["customerId": ["type": "merchant-str"]], "customerId/value"),
            (["customerId": ["type": "x", "value": "anna"]], "customerId/type"),
            (["customerId": ["type": "merchant-uuid", "value": "anna"]], "customerId/value"),
            (["customerId": ["type": "merchant-str", "value": ""]], "customerId/value"),
        ]
        for (body, field) in refused {
            let reply = try await ask(bench, features, body, key: .public)
            #expect(reply.status == 400 && reply.field == field)
        }
        #expect(try await ask(bench, features, anna).status == 401)
        #expect(try await ask(bench, features, anna, apiKey: "x").code == "unknown_key")
        await bench.close()
    }
}

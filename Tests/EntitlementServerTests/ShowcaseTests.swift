import HTTPCore
import Primitives
import StoreModel
import Testing

@testable import EntitlementServer

@Suite struct ShowcaseTests {
    private func bench() async throws -> ServerBench {
        try await ServerBench {
            $0.apps[0].pricePoints = ["a", "b"].map { id in
                PricePointInternal(
                    StoreProduct(
                        id: ProductID(unchecked: id), kind: .nonConsumable, price: Price(amount: 5, currency: "EUR"),
                        displayName: "Product \(id)"))
            }
        }
    }

    private func ask(
        _ bench: ServerBench, _ idents: [JSONValue], of app: BundleID = ServerBench.app
    ) async throws -> ServerBench.Reply {
        try await bench.send(
            .post, "/showcase/get-price-points", of: app,
            body: .json([
                "customerId": ["type": "merchant-str", "value": "ada"], "ident": .array(idents),
            ]))
    }

    @Test func `price points are returned in the requested order, each once`() async throws {
        let bench = try await bench()
        let reply = try await ask(bench, ["b", "a", "b", "c"])
        #expect(reply.status == 200)
        #expect(
            reply.json == [
                "pricePoints": .array(
                    ["b", "a"].map { id in
                        [
                            "ident": .string(id), "name": .string("Product \(id)"), "currencyCode": "EUR",
                            "type": "lifetime", "introTotalPrice": "5",
                        ]
                    })
            ])
        #expect(try await ask(bench, []).json == ["pricePoints": []])
        await bench.close()
    }

    @Test func `an app gets no price points of another app`() async throws {
        let bench = try await bench()
        #expect(try await ask(bench, ["a"], of: ServerBench.otherApp).json == ["pricePoints": []])
        await bench.close()
    }

    @Test func `the key can be sent in the header x-api-key`() async throws {
        let bench = try await bench()
        let key = try #require(bench.keys[ServerBench.app]).publicKey
        let body = HTTPBody.json(["customerId": ["type": "merchant-str", "value": "ada"], "ident": ["a"]])
        let reply = try await bench.send(
            .post, "/showcase/get-price-points", as: .none, headers: ["x-api-key": key], body: body)
        #expect(reply.status == 200)
        await bench.close()
    }

    @Test func `a malformed request for price points is refused with the name of its member`() async throws {
        let bench = try await bench()
        #expect(try await ask(bench, [7]).field == "ident/0")
        let reply = try await bench.send(.post, "/showcase/get-price-points", body: .json(["ident": []]))
        #expect(reply.status == 400 && reply.field == "customerId")
        await bench.close()
    }

    @Test func `two price points with one ident are refused at the start`() async throws {
        await #expect(throws: EntitlementServerError(.invalidConfiguration, "")) {
            _ = try await ServerBench {
                $0.apps[0].pricePoints = Array(
                    repeating: PricePointInternal(ident: "a", name: "", currencyCode: "", type: .freebie), count: 2)
            }
        }
    }
}

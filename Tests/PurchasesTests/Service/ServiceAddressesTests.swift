import BaseTestSupport
import Foundation
import HTTPCore
import Primitives
import Purchases
import StoreTestSupport
import Testing

/// One server at three addresses.
@Suite(.timeLimit(.minutes(1))) struct ServiceAddressesTests {
    private let naps = Locked<[Duration]>([])
    private let ada = Customer(customer: "ada", environment: .sandbox, asOf: Date(timeIntervalSince1970: 0))

    private func client(
        _ transport: ScriptedTransport, attempts: Int = 2,
        sleep: (@Sendable (Duration) async throws -> Void)? = nil
    ) -> EntitlementServiceClient {
        var configuration = EntitlementServiceClient.Configuration(baseURL: "http://a/", key: "pk")
        configuration.otherURLs = ["http://b/souk/", "http://c"]
        configuration.backoff = Backoff(attempts: attempts, initial: .seconds(1))
        configuration.random = { 1 }
        configuration.sleep = sleep ?? { [naps] nap in naps.withLock { $0.append(nap) } }
        return EntitlementServiceClient(configuration: configuration, transport: transport)
    }

    private func answer() throws -> ScriptedTransport.Step {
        .answer(HTTPResponse(status: 200, body: .bytes(try WireJSON.encode(ada))))
    }

    private func hosts(_ transport: ScriptedTransport) -> [String] {
        transport.requests.map { String($0.url.dropFirst(7).prefix(1)) }
    }

    @Test func `when an address cannot be reached or fails, the next is asked at once`() async throws {
        let transport = ScriptedTransport([
            .fail(HTTPError(.connectionFailed, "Down.")), .answer(status: 503), try answer(),
        ])
        #expect(try await client(transport).customer("ada") == ada)
        #expect(
            transport.requests.map(\.url) == [
                "http://a/v1/customers/ada", "http://b/souk/v1/customers/ada", "http://c/v1/customers/ada",
            ])
        #expect(naps.withLock { $0.isEmpty })
    }

    @Test func `when all addresses fail, there is a pause before each further round`() async {
        let transport = ScriptedTransport(Array(repeating: .answer(status: 503), count: 9))
        await #expect(throws: PurchaseError(.serverError)) {
            try await client(transport, attempts: 3).customer("ada")
        }
        #expect(hosts(transport) == ["a", "b", "c", "a", "b", "c", "a", "b", "c"])
        #expect(naps.withLock { $0 } == [.seconds(1), .seconds(2)])
    }

    @Test func `the address that answered is asked first from then on`() async throws {
        let transport = ScriptedTransport([
            .answer(status: 500), try answer(), try answer(), .answer(status: 500), try answer(), .answer(status: 404),
        ])
        let client = client(transport)
        for _ in 0..<3 { _ = try await client.customer("ada") }
        await #expect(throws: PurchaseError(.protocolError)) { try await client.customer("ada") }
        #expect(hosts(transport) == ["a", "b", "b", "b", "c", "c"])
    }

    @Test(arguments: [400, 401, 403, 404, 409, 413, 422, 501])
    func `after a refusal no other address is asked`(status: Int) async throws {
        let transport = ScriptedTransport([.answer(status: status)])
        await #expect(throws: PurchaseError.self) { try await client(transport).customer("ada") }
        #expect(naps.withLock { $0.isEmpty })
    }

    @Test func `a rate limit applies to all addresses, and the server's pause is used`() async throws {
        let transport = ScriptedTransport([.answer(status: 429, headers: ["Retry-After": "3"]), try answer()])
        _ = try await client(transport).customer("ada")
        #expect(hosts(transport) == ["a", "a"])
        #expect(naps.withLock { $0 } == [.seconds(3)])
    }

    @Test func `transactions presented at several addresses have one idempotency key`() async throws {
        let transport = ScriptedTransport([
            .answer(status: 500),
            .answer(
                HTTPResponse(
                    status: 200,
                    body: .bytes(
                        try WireJSON.encode(
                            PostTransactionsAnswer(customer: ada, acknowledgedTransactionIDs: ["1"], rejected: []))))),
        ])
        let transaction = StoreTransaction(
            id: "1", originalID: "1", productID: "pack", kind: .nonConsumable, purchaseDate: ada.asOf,
            signedTransaction: "jws")
        #expect(try await client(transport).validate([transaction], for: "ada").acknowledged == ["1"])
        let keys = transport.requests.map { $0.headers["Idempotency-Key"] }
        #expect(keys.count == 2 && keys[0] == keys[1] && keys[0] != nil)
    }

    @Test func `after a cancellation during a pause there is no further request`() async {
        let transport = ScriptedTransport(Array(repeating: .answer(status: 503), count: 3))
        let paused = Gate()
        paused.open()
        let client = client(transport) { _ in
            await paused.pass()
            try await untilCancelled()
        }
        let caller = Task { try await client.customer("ada") }
        await paused.arrivals()
        caller.cancel()
        await #expect(throws: CancellationError.self) { try await caller.value }
    }

    @Test func `after a cancellation between two addresses there is no further request`() async {
        let asked = Gate()
        asked.open()
        let transport = ScriptedTransport([
            .perform { _ in
                await asked.pass()
                _ = try? await untilCancelled()
                return HTTPResponse(status: 503)
            }
        ])
        let client = client(transport)
        let caller = Task { try await client.customer("ada") }
        await asked.arrivals()
        caller.cancel()
        await #expect(throws: CancellationError.self) { try await caller.value }
    }
}

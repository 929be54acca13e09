import BaseTestSupport
import Foundation
import HTTPCore
import HostTestSupport
import NetworkTestSupport
import Primitives
import Purchases
import StoreModel
import Testing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// A client with the addresses of several servers: one is stopped, one hangs, one fails, and one answers.
@Suite(.serialized, .timeLimit(.minutes(3))) struct ServerAddressesTests {
    private let naps = Locked<[Duration]>([])
    /// No process listens here, unless a test starts a server.
    private let port: ReservedPort

    init() throws { port = try ReservedPort() }

    /// Starts a server that accepts connections and never answers.
    private func hungServer() async throws -> SoukService {
        let service = try await SignedShop().serve()
        service.signal(SIGSTOP)
        try await until("every thread of the server is stopped") { try states(of: service).allSatisfy { $0 == "T" } }
        return service
    }

    /// The state of each thread, the third field in proc(5), which follows a name in parentheses.
    private func states(of service: SoukService) throws -> [Character?] {
        let threads = "/proc/\(service.processID)/task"
        return try FileManager.default.contentsOfDirectory(atPath: threads).map { thread in
            let text = try String(contentsOfFile: "\(threads)/\(thread)/stat", encoding: .utf8)
            return text.split(separator: ")").last?.dropFirst().first
        }
    }

    private func client(_ urls: [String], key: String) -> EntitlementServiceClient {
        var configuration = EntitlementServiceClient.Configuration(baseURL: urls[0], key: APIKey(key))
        configuration.otherURLs = Array(urls.dropFirst())
        configuration.timeout = .seconds(3)
        configuration.backoff = Backoff(attempts: 2, initial: .seconds(7))
        configuration.random = { 1 }
        configuration.sleep = { [naps] nap in naps.withLock { $0.append(nap) } }
        return EntitlementServiceClient(configuration: configuration, transport: loopbackTransport())
    }

    @Test func `the address that answers is found, and requested first from then on`() async throws {
        let (shop, hung) = (try SignedShop(), try await hungServer())
        let server = try await shop.serve()
        let (signed, requestCount) = (try shop.purchase("100"), Locked(0))
        let failing = AnyHTTPHandler { _ in
            requestCount.withLock { $0 += 1 }
            return .ready(HTTPResponse(status: 500))
        }
        try await withLoopbackServer(failing) { failing in
            let client = client(
                [port.url, hung.url, failing, server.url], key: try shop.publicKey)
            let transaction = StoreTransaction(
                id: "100", originalID: "100", productID: "tools", kind: .nonConsumable,
                purchaseDate: Date(timeIntervalSince1970: 1_800_000_000), signedTransaction: signed)
            let validation = try await client.validate([transaction], for: "ada")
            #expect(validation.acknowledged == ["100"])
            let before = requestCount.withLock { $0 }
            #expect(before > 0)
            for _ in 0..<5 {
                let customer = try await client.customer("ada")
                #expect(customer.purchases.map(\.transactionID) == ["100"])
            }
            #expect(try await client.customer("nobody").purchases.isEmpty)
            #expect(requestCount.withLock { $0 } == before, "no other address is requested")
        }
        #expect(try await shop.purchases(of: "ada", at: server) == ["100"])
        #expect(await server.stop() == 0)
    }

    @Test func `when all addresses fail there is a pause and another round, and the restarted server answers`()
        async throws
    {
        let (shop, hung) = (try SignedShop(), try await hungServer())
        let server = try await shop.serve("--port", String(port.number))
        let key = try shop.publicKey
        let client = client([server.url, hung.url], key: key)
        #expect(try await client.customer("ada").purchases.isEmpty)
        #expect(await server.stop() == 0)
        await #expect(throws: PurchaseError(.unreachable)) { try await client.customer("ada") }
        #expect(naps.withLock { $0 } == [.seconds(7)])
        let again = try await shop.serve("--port", String(port.number))
        #expect(try await client.customer("ada").purchases.isEmpty)
        #expect(await again.stop() == 0)
    }
}

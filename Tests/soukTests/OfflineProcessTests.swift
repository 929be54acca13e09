import BaseTestSupport
import Foundation
import HTTPCore
import HostTestSupport
import InAppStore
import NetworkTestSupport
import Primitives
import Purchases
import StoreModel
import StoreTestSupport
import Testing

/// The rules of Documentation/Offline.md with a server process that stops and restarts. The server's time is real; the
/// device has the test's clock.
@Suite(.timeLimit(.minutes(3))) struct OfflineProcessTests {
    private static let day: TimeInterval = 86400
    /// The present, in whole seconds as in answers.
    private let start = Date(timeIntervalSince1970: Date().timeIntervalSince1970.rounded(.down))
    private let storage = MemorySecureStorage()
    /// No other process listens here while the server is stopped.
    private let port: ReservedPort

    init() throws { port = try ReservedPort() }

    private func launch(
        _ shop: SignedShop, _ url: String, _ environment: StoreEnvironment, _ clock: ManualClock
    ) throws -> Store {
        var server = EntitlementServiceClient.Configuration(
            baseURL: url, key: APIKey(try shop.publicKey), environment: environment)
        server.backoff = .none
        var configuration = StoreConfiguration(productListPath: "")
        configuration.productList = ProductList([
            ListedProduct(id: "plus", productType: .renewableSubscription),
            ListedProduct(id: "tools", productType: .nonConsumable),
        ])
        configuration.connection = ScriptedStoreConnection()
        configuration.validator = EntitlementServiceClient(configuration: server, transport: loopbackTransport())
        configuration.storage = storage
        configuration.storageName = UUID().uuidString
        configuration.contentFolder = shop.folder.file("content")
        configuration.customer = "ada"
        configuration.clock = clock
        return try Store(configuration: configuration)
    }

    /// Starts a server with a subscription and, in the sandbox, a non-consumable.
    private func serve(_ shop: SignedShop, _ environment: StoreEnvironment, expires: Double) async throws -> SoukService
    {
        let isSandbox = environment == .sandbox
        let server = try await shop.serve("--environment", "production", "--port", String(port.number))
        let subscription = try shop.subscription(
            "1", from: start - Self.day, until: start + expires * Self.day,
            environment: isSandbox ? .sandbox : .production)
        for signed in [subscription] + (isSandbox ? [try shop.purchase("2")] : []) {
            let answer = try await loopbackTransport().send(
                shop.presentation(
                    of: signed, by: "ada", to: server, headers: ["Souk-Environment": environment.rawValue]))
            #expect(answer.status == 200)
        }
        return server
    }

    struct Row: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var environment: StoreEnvironment = .production
        /// Days from the start: the expiry of the subscription, the first failed request, and the end of access.
        var expires: Double
        var missed: Double
        var ends: Double
    }

    @Test(arguments: [
        Row(testDescription: "with grace", expires: 30, missed: 29, ends: 37),
        Row(testDescription: "the time to live ends the grace", expires: 63, missed: 5, ends: 65),
        Row(testDescription: "no grace in the sandbox", environment: .sandbox, expires: 30, missed: 29, ends: 30),
    ])
    func `access without the server ends as the rules say, to the second`(_ row: Row) async throws {
        let shop = try SignedShop()
        let server = try await serve(shop, row.environment, expires: row.expires)
        let clock = ManualClock(start)
        let store = try launch(shop, server.url, row.environment, clock)
        try await store.validateReceipt()
        #expect(store.subscriptionInfo?.isExpired == false)
        #expect(await server.stop() == 0)
        clock.advance(by: row.missed * Self.day)
        await #expect(throws: PurchaseError(.receiptValidationFailed, "")) { try await store.validateReceipt() }
        clock.advance(by: (row.ends - row.missed) * Self.day - 1)
        #expect(store.subscriptionInfo?.isExpired == false)
        clock.advance(by: 1)
        #expect(store.subscriptionInfo?.isExpired == true)
        clock.advance(by: 1000 * Self.day)
        #expect(store.snapshot.purchasedProducts == (row.environment == .sandbox ? ["tools"] : []))
        await store.close()
        let next = try launch(shop, server.url, row.environment, ManualClock(start))
        #expect(next.subscriptionInfo?.isExpired == true)
        var events = next.events.makeAsyncIterator()
        while let event = await events.next(), event.code != .clockSetBack {}
        await next.close()
    }

    @Test
    func `a clock that is a year ahead does not end access early, while the server answers or after it has stopped`()
        async throws
    {
        let shop = try SignedShop()
        let server = try await serve(shop, .sandbox, expires: 30)
        let first = try launch(shop, server.url, .sandbox, ManualClock(start))
        try await first.validateReceipt()
        await first.close()
        let year = 365 * Self.day
        let ahead = try launch(shop, server.url, .sandbox, ManualClock(start + year))
        try await ahead.validateReceipt()
        #expect(ahead.subscriptionInfo?.isExpired == false)
        await ahead.close()
        #expect(await server.stop() == 0)
        let clock = ManualClock(start + year)
        let offline = try launch(shop, server.url, .sandbox, clock)
        #expect(offline.subscriptionInfo?.isExpired == false)
        // A minute of real time may have passed at the server.
        clock.advance(by: 30 * Self.day - 600)
        #expect(offline.subscriptionInfo?.isExpired == false)
        clock.advance(by: 600)
        #expect(offline.subscriptionInfo?.isExpired == true)
        let again = try await shop.serve("--environment", "production", "--port", String(port.number))
        try await offline.validateReceipt()
        #expect(offline.subscriptionInfo?.isExpired == false, "at the server it is still the first day")
        await offline.close()
        #expect(await again.stop() == 0)
    }
}

import CurlTransport
import Foundation
import HTTPCore
import HTTPListener
import HostTestSupport
import Primitives
import Purchases
import Testing

@testable import PromoCodes

/// The plugin in a client, over HTTP to its backend.
@Suite(.timeLimit(.minutes(2))) struct PromoCodePluginTests {
    /// A fixed time on a summer day.
    private struct FixedClock: WallClock {
        func now() -> Date { Date(timeIntervalSince1970: 1_781_861_400) }
        func sleep(until deadline: Date) async throws {}
    }

    private static let now = FixedClock().now()
    private static let summerEnds = now.addingTimeInterval(30 * 86_400)

    private struct World {
        let url: String
        let listener: HTTPListener

        /// Returns a new client, which has the plugin after `others`.
        func client(
            _ user: UserId? = .string("ada"), key: String = "pk_promo", beside others: [any PurchasePlugin] = []
        ) async throws -> PurchaseClient {
            let promo = PromoCodePlugin(
                baseURL: url, key: key, transport: CurlTransport(), clock: FixedClock())
            let client = PurchaseClient()
            try await client.setup(with: others + [promo], appUserId: user)
            return client
        }
    }

    private func withBackend(at port: ReservedPort? = nil, _ body: (World) async throws -> Void) async throws {
        defer { withExtendedLifetime(port) {} }
        let store = PromoCodeStore([
            "SUMMER": .init(title: "A summer of filters", feature: "filters", days: 30, uses: 100),
            "FRIEND": .init(title: "Everything, for a friend", feature: "pro", days: nil, uses: 1),
            "A/B é": .init(title: "Odd letters", feature: "odd", days: nil, uses: 1),
        ])
        let listener = HTTPListener(
            handler: PromoCodeBackend(store, key: "pk_promo", clock: FixedClock()),
            configuration: .init(port: port?.number ?? 0))
        let world = World(url: try listener.start().url, listener: listener)
        do {
            try await body(world)
        } catch {
            await listener.stop()
            throw error
        }
        await listener.stop()
    }

    private func redeem(_ code: String, in client: PurchaseClient) async throws -> PaidFeatures {
        try await client.purchase(Product(productIdentifier: "promo.\(code)")).paidFeatures
    }

    private func code(of body: () async throws -> some Sendable) async -> PurchaseError.Code? {
        do {
            _ = try await body()
            return nil
        } catch {
            return (error as? PurchaseError)?.code
        }
    }

    @Test func `a code gives its feature from now until its end`() async throws {
        try await withBackend { world in
            let client = try await world.client()
            let bought = try await redeem("SUMMER", in: client)
            #expect(try await client.getPaidFeatures() == bought)
            #expect(bought.hasActiveFeature(with: "filters", at: Self.summerEnds.addingTimeInterval(-1)))
            #expect(!bought.hasActiveFeature(with: "filters", at: Self.summerEnds))
            let feature = Feature(name: "filters", startDate: Self.now, endDate: Self.summerEnds)
            #expect(try await client.getFeatures() == Features(features: [feature]))
        }
    }

    @Test func `a code without an end gives its feature for life`() async throws {
        try await withBackend { world in
            let bought = try await redeem("FRIEND", in: world.client())
            #expect(bought.features.map(\.isLifetime) == [true])
            #expect(bought.hasActiveFeature(with: "pro", at: .distantFuture))
        }
    }

    @Test func `a code redeemed on two devices of a customer counts once`() async throws {
        try await withBackend { world in
            let first = try await redeem("FRIEND", in: world.client())
            #expect(try await redeem("FRIEND", in: world.client()) == first)
        }
    }

    @Test func `two customers redeem the last use of a code, and one succeeds`() async throws {
        try await withBackend { world in
            let clients = try await [world.client(.string("ada")), world.client(.string("ben"))]
            async let ada = code { try await redeem("FRIEND", in: clients[0]) }
            async let ben = code { try await redeem("FRIEND", in: clients[1]) }
            let codes = await [ada, ben]
            #expect(codes.count { $0 == nil } == 1 && codes.contains(.codeUsedUp))
            let winner = clients[codes[0] == nil ? 0 : 1], loser = clients[codes[0] == nil ? 1 : 0]
            #expect(try await winner.getPaidFeatures().hasActiveFeature(with: "pro", at: Self.now))
            #expect(try await loser.getPaidFeatures().features.isEmpty)
        }
    }

    @Test func `codes are free products, and unknown codes are omitted`() async throws {
        try await withBackend { world in
            let products = try await world.client().getProductsAndPricePoints(
                with: ["promo.SUMMER", "promo.WINTER", "com.example.plus", "promo.A/B é"])
            #expect(Set(products.map(\.productIdentifier)) == ["promo.SUMMER", "promo.A/B é"])
            #expect(products.allSatisfy { $0.price == 0 && !$0.localizedTitle.isEmpty })
        }
    }

    @Test func `an unknown code fails, and no plugin supports a product that is not a code`() async throws {
        try await withBackend { world in
            let client = try await world.client()
            #expect(await code { try await redeem("WINTER", in: client) } == .unknownCode)
            let plus = Product(productIdentifier: "com.example.plus")
            #expect(await code { try await client.purchase(plus) } == .noSuitablePlugin)
        }
    }

    @Test func `features of several plugins are merged`() async throws {
        try await withBackend { world in
            let bought = try await redeem("SUMMER", in: world.client(beside: [KioskPlugin()]))
            #expect(Set(bought.features.map(\.name)) == ["filters", "postcards"])
        }
    }

    @Test func `without the backend the other plugin answers, and the report of the promo plugin has the error`()
        async throws
    {
        // Reserved, so that no other process listens there after the backend has stopped.
        try await withBackend(at: ReservedPort()) { world in
            let client = try await world.client(beside: [KioskPlugin()])
            await world.listener.stop()
            let collected = try await client.collectPaidFeatures()
            #expect(collected.value.features.map(\.name) == ["postcards"])
            #expect(collected.reports.map(\.pluginName) == ["kiosk", "promo"])
            #expect(collected.reports.map(\.didAnswer) == [true, false])
            #expect((collected.reports[1].error as? PurchaseError)?.code == .unreachable)
            #expect(await code { try await redeem("SUMMER", in: client) } == .unreachable)
        }
    }

    @Test func `a customer's own redemptions are restored`() async throws {
        try await withBackend { world in
            _ = try await redeem("SUMMER", in: world.client())
            let restored = try await world.client().restorePurchases()
            #expect(restored.restored == ["promo.SUMMER"] && !restored.nothingToRestore)
            #expect(try await world.client(.string("ben")).restorePurchases().nothingToRestore)
        }
    }

    @Test func `calls without a user fail with noUserId, and a user with an empty id is rejected`() async throws {
        try await withBackend { world in
            let client = try await world.client(nil)
            #expect(await code { try await client.getPaidFeatures() } == .noUserId)
            #expect(await code { try await redeem("SUMMER", in: client) } == .noUserId)
            #expect(await code { try await client.logIn(appUserId: .string("")) } == .validationError)
            #expect(client.userId == nil)
            try await client.logIn(appUserId: .string("ada"))
            #expect(try await redeem("SUMMER", in: client).features.count == 1)
            await client.logOut()
            #expect(await code { try await client.getPaidFeatures() } == .noUserId)
        }
    }

    @Test func `a wrong key fails with invalidKey`() async throws {
        try await withBackend { world in
            let client = try await world.client(key: "pk_other")
            #expect(await code { try await client.getPaidFeatures() } == .invalidKey)
        }
    }

    @Test func `the backend refuses malformed requests and changes nothing`() async throws {
        try await withBackend { world in
            for body in ["", "{}", "[]", #"{"customer": "", "code": "SUMMER"}"#, #"{"customer": "ada", "code": 7}"#] {
                let answer = try await CurlTransport().send(
                    HTTPRequest(
                        method: .post, url: world.url + "/redemptions",
                        headers: ["Authorization": "Bearer pk_promo"], body: .text(body)))
                #expect(answer.status == 400, "\(body)")
            }
            #expect(try await world.client().getPaidFeatures().features.isEmpty)
        }
    }
}

import BaseTestSupport
import SimulatorControl
import StoreKitAdapter
import StoreModel
import Testing

@testable import AppStoreSimulator

/// Purchases that begin on the app's page in the App Store.
@Suite(.timeLimit(.minutes(2)))
struct PromotedPurchaseTests {
    @Test func `a promoted purchase is open for every device until one device takes it, and is not sold`() async throws
    {
        try await TestStore.with { test in
            let devices = [try await test.device(), try await test.device()]
            try await test.store.promote(.init(productID: "pack"), for: "anna")
            for device in devices {
                let open = try await test.store.updates(for: device, after: nil).promotedPurchases
                #expect(open == [PromotedPurchase(productID: "pack")])
            }
            let taken = try await test.store.takePromotedPurchase(of: "pack", for: devices[0])
            #expect(taken == PromotedPurchase(productID: "pack"))
            await test.fails(.unknownPromotedPurchase) {
                try await test.store.takePromotedPurchase(of: "pack", for: devices[1])
            }
            #expect(try await test.store.updates(for: devices[1], after: nil).promotedPurchases == nil)
            #expect(try await test.store.transactions(of: "anna").isEmpty)
        }
    }

    @Test func `a product that is promoted again moves behind the products that were promoted since`() async throws {
        try await TestStore.with { test in
            let device = try await test.device()
            for product: ProductID in ["pack", "coins", "pack"] {
                try await test.store.promote(.init(productID: product), for: "anna")
            }
            let open = try await test.store.updates(for: device, after: nil).promotedPurchases
            #expect(open?.map(\.productID) == ["coins", "pack"])
        }
    }

    @Test func `a waiting device receives a promoted purchase at once, and the purchase stays open`() async throws {
        try await TestStore.with { test in
            let device = try await test.device()
            let cursor = try await test.store.updates(for: device, after: nil).cursor
            async let reported = test.store.updates(for: device, after: cursor, wait: 30)
            try await test.store.promote(.init(productID: "pack"), for: "anna")
            let answer = try await reported
            #expect(answer.promotedPurchases?.map(\.productID) == ["pack"])
            // The promoted purchase is still open, but no longer new.
            let next = try await test.store.updates(for: device, after: answer.cursor)
            #expect(next.updates.isEmpty && next.promotedPurchases?.count == 1)
        }
    }

    @Test func `promoted purchases are listed for one account or all, until a device takes them`() async throws {
        try await TestStore.withScript { test in
            let device = try await test.device()
            try await test.store.createAccount("ben")
            try await test.store.promote(.init(productID: "basic", offerID: "back"), for: "ben")
            try await test.advance(.days(1))
            try await test.store.promote(.init(productID: "plain"), for: "anna")
            let client = StoreRoutesTests.Client(test)
            func list(_ query: String = "") async throws -> [StoreControlWire.PromotedPurchase] {
                try await client.ask(
                    .get, "/control/v1/promoted-purchases" + query, as: StoreControlWire.PromotedPurchases.self
                ).promotedPurchases
            }
            let all = try await list()
            #expect(all.map(\.account) == ["ben", "anna"] && all.map(\.productID) == ["basic", "plain"])
            #expect(all.map(\.offerID) == ["back", nil])
            #expect(all[1].begunAt.timeIntervalSince(all[0].begunAt) == 86400)
            #expect(try await list("?account=ben") == [all[0]])
            #expect(try await list("?account=anna") == [all[1]])
            #expect(try await client.ask(.get, "/control/v1/promoted-purchases?account=carl").status == 404)
            _ = try await test.store.takePromotedPurchase(of: "plain", for: device)
            #expect(try await list() == [all[0]])
        }
    }

    @Test func `other accounts receive no promoted purchase`() async throws {
        try await TestStore.with { test in
            let other = try await test.device("bert")
            _ = try await test.device()
            try await test.store.promote(.init(productID: "pack"), for: "anna")
            #expect(try await test.store.updates(for: other, after: nil).promotedPurchases == nil)
            await test.fails(.unknownPromotedPurchase) {
                try await test.store.takePromotedPurchase(of: "pack", for: other)
            }
        }
    }

    @Test func `a promoted purchase can have a win-back offer of its product`() async throws {
        try await TestStore.withScript { test in
            let device = try await test.device()
            try await test.store.promote(.init(productID: "basic", offerID: "back"), for: "anna")
            let open = try await test.store.updates(for: device, after: nil).promotedPurchases
            #expect(open == [PromotedPurchase(productID: "basic", offer: .winBack("back"))])
            await test.fails(StoreFailure.Code.invalidOffer) {
                try await test.store.promote(.init(productID: "basic", offerID: "forth"), for: "anna")
            }
            await test.fails(.unknownProduct) {
                try await test.store.promote(.init(productID: "unheard.of"), for: "anna")
            }
            await test.fails(.unknownAccount) { try await test.store.promote(.init(productID: "basic"), for: "carl") }
        }
    }
}

import Foundation
import HTTPCore
import Primitives
import Purchases
import Testing

@Suite struct RemoteSubscriptionsTests {
    private let backend = RemoteBackend()

    @Test(
        arguments: [
            ("new", 100, .active), ("active", 100, .active), ("active", -1, .active), ("canceled", 100, .cancelled),
            ("canceled", 0, .expired), ("is_upcoming", 100, .upcoming),
        ] as [(String, TimeInterval, Subscription.State)])
    func `the backend's states are read`(state: String, end: TimeInterval, expected: Subscription.State) async throws {
        let (plugin, _) = try await backend.plugin([
            backend.subscriptions(backend.subscription(backend.first, state: state, end: end))
        ])
        let found = try #require(try await plugin.getSubscriptions().first)
        #expect(found.state == expected)
        #expect(found.providedFeatures == ["pro"] && found.productIdentifier == "point-1")
        #expect(found.price == Decimal(string: "4.99") && found.currencyCode == "EUR" && found.type == .web)
    }

    @Test(
        arguments: [("appStore", .apple), ("googlePlay", .android), ("web", .web)] as [(String, Subscription.Origin)])
    func `tags mark the store of a subscription`(source: String, type: Subscription.Origin) async throws {
        let tags: [JSONValue] = [.string("source:\(source)"), "originalTransactionID:2000000123"]
        let (plugin, _) = try await backend.plugin([
            backend.subscriptions(backend.subscription(backend.first, tags: tags))
        ])
        let subscription = try #require(try await plugin.getSubscriptions().first)
        #expect(subscription.type == type && subscription.originalTransactionID == "2000000123")
    }

    @Test func `a row that is unreadable or has an unknown state is dropped and reported`() async throws {
        let (first, second) = (backend.first, backend.second)
        let (plugin, _) = try await backend.plugin([
            backend.subscriptions(
                7, backend.subscription(first, state: "paused"), backend.subscription(second)),
            backend.subscriptions(),
        ])
        #expect(try await plugin.getSubscriptions().map(\.id) == [second])
        #expect(plugin.unreadableRows.map(\.index) == [0, 1])
        #expect(plugin.unreadableRows.last?.reason.contains("\"paused\"") ?? false)
        #expect(try await plugin.getSubscriptions().isEmpty)
        #expect(plugin.unreadableRows.isEmpty)
    }

    @Test func `a subscription has its direct successor`() async throws {
        let (first, second, third) = (backend.first, backend.second, UUID())
        let (plugin, _) = try await backend.plugin([
            backend.subscriptions(
                backend.subscription(first, next: second), backend.subscription(second, next: third),
                backend.subscription(third, next: UUID()))
        ])
        let found = try await plugin.getSubscriptions()
        #expect(found.map { $0.next?.id } == [second, third, nil])
        #expect(found[0].next?.next == nil)
    }

    @Test func `a circle of successors is cut where it closes`() async throws {
        let (first, second) = (backend.first, backend.second)
        let (plugin, _) = try await backend.plugin([
            backend.subscriptions(
                backend.subscription(first, next: second), backend.subscription(second, next: first)),
            backend.subscriptions(backend.subscription(first, next: first)),
        ])
        #expect(try await plugin.getSubscriptions().map { $0.next?.id } == [second, nil])
        #expect(try await plugin.getSubscriptions().map { $0.next?.id } == [nil])
    }

    @Test func `of two subscriptions with one id the first is listed`() async throws {
        let (plugin, _) = try await backend.plugin([
            backend.subscriptions(
                backend.subscription(backend.first, end: 5), backend.subscription(backend.first, end: 9))
        ])
        #expect(try await plugin.getSubscriptions().map(\.endDate) == [backend.date(5)])
    }

    @Test func `a long circle of successors is cut once`() async throws {
        let ids = (0..<2000).map { _ in UUID() }
        let rows = zip(ids, ids.dropFirst() + [ids[0]]).map { backend.subscription($0, next: $1) }
        let (plugin, _) = try await backend.plugin([.answer(json: ["subscriptions": .array(rows)])])
        let found = try await plugin.getSubscriptions()
        #expect(found.count { $0.next == nil } == 1)
        #expect(found.last?.next == nil)
    }
}

import BaseTestSupport
import Foundation
import Primitives
import Purchases
import StoreKitAdapter
import StoreModel
import StoreTestSupport
import Testing

@testable import InAppStore

/// A product list with a product of each kind, and a server's answers about it.
enum Fixture {
    static let start = Date(timeIntervalSince1970: 1_767_225_600)
    static let month: TimeInterval = 30 * 86400

    static let list = ProductList([
        ListedProduct(id: "pro.monthly", productType: .renewableSubscription, discountedProducts: ["pro.monthly.half"]),
        ListedProduct(
            id: "pro.monthly.half", productType: .renewableSubscription, fullPriceProduct: "pro.monthly"),
        ListedProduct(id: "basic.monthly", productType: .renewableSubscription, enablesProducts: ["film.", "x"]),
        ListedProduct(id: "film.noir", productType: .nonConsumable, isSubscribersOnly: true),
        ListedProduct(id: "lens.macro", productType: .nonConsumable, isSubscribersOnly: true),
        ListedProduct(id: "pack", productType: .nonConsumable),
        ListedProduct(id: "coins", productType: .consumable),
    ])

    static let products: [StoreProduct] = list.products.filter { !$0.isSubscribersOnly }.map { listed in
        StoreProduct(
            id: listed.id, kind: listed.productType, price: Price(amount: Decimal(499) / 100, currency: "USD"),
            displayPrice: "$4.99", displayName: "The \(listed.id)")
    }

    static func subscription(
        _ product: ProductID = "pro.monthly", until end: Date = start + month, original: TransactionID = "100",
        renews: Bool? = true, revoked: Date? = nil, state: CustomerSubscription.State = .active
    ) -> CustomerSubscription {
        CustomerSubscription(
            productID: product, originalTransactionID: original, state: state, startedAt: start, expiresAt: end,
            effectiveUntil: end, autoRenews: renews, revokedAt: revoked)
    }

    static func purchase(
        _ product: ProductID, kind: ProductType = .nonConsumable, revoked: Date? = nil
    ) -> CustomerPurchase {
        CustomerPurchase(
            productID: product, transactionID: "7", originalTransactionID: "7", kind: kind, purchasedAt: start,
            revokedAt: revoked)
    }

    /// Returns the server's answer. Each subscription gives the feature `pro` until its end.
    static func customer(
        _ id: CustomerID = "anna", environment: StoreEnvironment = .sandbox, asOf: Date = start,
        validUntil: Date?? = nil, subscriptions: [CustomerSubscription] = [], purchases: [CustomerPurchase] = [],
        features: [CustomerFeature] = []
    ) -> Customer {
        let given = subscriptions.map { subscription in
            CustomerFeature(
                name: "pro", isActive: subscription.effectiveUntil > asOf && subscription.revokedAt == nil, from: start,
                until: subscription.expiresAt, effectiveUntil: subscription.effectiveUntil, source: .appStore,
                productID: subscription.productID, originalTransactionID: subscription.originalTransactionID,
                because: "active subscription, renews")
        }
        let next = subscriptions.map(\.effectiveUntil).filter { $0 > asOf }.min()
        return Customer(
            customer: id, environment: environment, asOf: asOf, validUntil: validUntil ?? next,
            features: given + features, subscriptions: subscriptions, purchases: purchases)
    }
}

/// A scripted connection and server, a storage in memory and a clock that the test moves, for one store.
final class StoreTestContext: Sendable {
    let connection = ScriptedStoreConnection(products: Fixture.products)
    let server = ScriptedReceiptValidator()
    let storage = MemorySecureStorage()
    let clock = ManualClock(Fixture.start)
    let name = UUID().uuidString

    init(_ customer: Customer? = nil) {
        if let customer { setAnswer(customer) }
    }

    /// Sets the server's answer from now on, for every customer.
    func setAnswer(_ customer: Customer) {
        server.answer { id in
            var answer = customer
            answer.customer = id
            return answer
        }
    }

    func breakServer(_ error: any Error = PurchaseError(.unreachable)) {
        server.answer { _ in throw error }
        server.judge { _, _ in throw error }
    }

    func configuration(customer: CustomerID? = "anna", list: ProductList = Fixture.list) -> StoreConfiguration {
        var configuration = StoreConfiguration(productListPath: "")
        configuration.productList = list
        configuration.connection = connection
        configuration.validator = server
        configuration.storage = storage
        configuration.storageName = name
        configuration.contentFolder = NSTemporaryDirectory() + "souk-content-\(name)"
        configuration.customer = customer
        configuration.clock = clock
        configuration.sleep = { _ in try await Gate().pass() }
        return configuration
    }

    /// Opens a store, and waits for the server's first answer or failure.
    func open(customer: CustomerID? = "anna", list: ProductList = Fixture.list) async throws -> Store {
        try await open(configuration(customer: customer, list: list))
    }

    func open(_ configuration: StoreConfiguration) async throws -> Store {
        let asked = server.calls.all.count
        let store = try Store(configuration: configuration)
        if store.coordinator.state.answer == nil {
            await server.calls.wait { $0.count > asked }
            try await store.settled()
        }
        return store
    }
}

extension Store {
    /// Waits until the store has recorded the server's answer or failure.
    func settled() async throws {
        try await until("the server's answer is recorded") {
            coordinator.state.answer != nil || coordinator.state.failures > 0
        }
    }

    /// Returns the first snapshot that meets `condition`.
    @discardableResult
    func reaches(_ condition: (StoreSnapshot) -> Bool) async -> StoreSnapshot? {
        for await snapshot in snapshots where condition(snapshot) { return snapshot }
        return nil
    }
}

/// A storage of a locked device.
struct LockedStorage: SecureStorage {
    func data(for key: String) throws -> [UInt8]? { throw PurchaseError(.storageLocked) }
    func set(_ data: [UInt8]?, for key: String) throws { throw PurchaseError(.storageLocked) }
}

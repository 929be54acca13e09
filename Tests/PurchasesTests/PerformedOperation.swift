import Foundation
import Primitives

@testable import Purchases

/// An operation of the table, as a test performs it. Its result is a list of names.
struct PerformedOperation: Sendable {
    let operation: PurchaseOperation
    let perform: @Sendable (PurchaseClient, [StubPlugin]) async throws -> [String]

    static let product = Product(productIdentifier: "pro")
    private static let token = CancellationToken(pluginName: "a", rawValue: "1")

    static let all: [PerformedOperation] = [
        PerformedOperation(operation: .logIn) { client, _ in
            _ = try await client.logIn(appUserId: .string("ada"))
            return []
        },
        PerformedOperation(operation: .logOut) { client, _ in
            await client.logOut()
            return []
        },
        PerformedOperation(operation: .getFeatures) { client, _ in try await client.getFeatures().features.map(\.name)
        },
        PerformedOperation(operation: .getPaidFeatures) { client, _ in try await client.getPaidFeatures().names },
        PerformedOperation(operation: .getSubscriptions) { client, _ in
            try await client.getSubscriptions().map(\.productIdentifier)
        },
        PerformedOperation(operation: .getProductsAndPricePoints) { client, _ in
            try await client.getProductsAndPricePoints(with: ["a", "b", "both"]).map(\.productIdentifier).sorted()
        },
        PerformedOperation(operation: .getWebPricePoints) { client, _ in
            try await client.getWebPricePoints(with: ["a", "b", "both"]).map(\.ident)
        },
        PerformedOperation(operation: .restorePurchases) { client, _ in try await client.restorePurchases().restored },
        PerformedOperation(operation: .getPromotionalOffer) { client, _ in
            [try await client.getPromotionalOffer(for: ProductDiscount(), product: product).identifier]
        },
        PerformedOperation(operation: .purchase) { client, _ in try await client.purchase(product).paidFeatures.names },
        PerformedOperation(operation: .promotedPurchase) { client, plugins in
            plugins.first?.announce(product)
            for await promoted in client.promotedPurchases { return try await promoted.purchase().paidFeatures.names }
            return []
        },
        PerformedOperation(operation: .cancelSubscription) { client, _ in
            try await client.cancelSubscription(with: token)
            return []
        },
        PerformedOperation(operation: .sendRestoreLink) { client, _ in
            try await client.sendRestoreLink(to: "ada@example.com")
            return []
        },
        PerformedOperation(operation: .presentCodeRedemptionUI) { client, _ in
            try await client.presentCodeRedemptionUI()
            return []
        },
        PerformedOperation(operation: .setAttributes) { client, _ in
            try await client.setAttributes([.appsflyerID: "af-1"])
            return []
        },
        PerformedOperation(operation: .collectDeviceIdentifiers) { client, _ in
            try await client.collectDeviceIdentifiers()
            return []
        },
        PerformedOperation(operation: .invalidatePaidFeaturesCache) { client, _ in
            await client.invalidatePaidFeaturesCache()
            return []
        },
    ]
}

extension StubPlugin {
    /// Returns a plugin that answers everything with `name` and with `both`.
    static func sound(_ name: String, after wait: @escaping @Sendable () async -> Void = {}) -> StubPlugin {
        let start = Date(timeIntervalSince1970: 0)
        let names = [name, "both"]
        let paid = PaidFeatures.of(name, "both")
        return StubPlugin(name) {
            $0.logIn = { _ in await wait() }
            $0.logOut = wait
            $0.onBroadcast = wait
            $0.features = {
                await wait()
                return Features(features: names.map { Feature(name: $0, startDate: start) })
            }
            $0.paidFeatures = {
                await wait()
                return paid
            }
            $0.subscriptions = {
                await wait()
                return names.map {
                    Subscription(
                        productIdentifier: $0, startDate: start, endDate: start, originalTransactionID: "of \($0)")
                }
            }
            $0.products = { _ in
                await wait()
                return Set(names.map { Product(productIdentifier: $0) })
            }
            $0.pricePoints = { _ in
                await wait()
                return names.map { WebPricePoint(ident: $0, name: $0, payment: .freebie) }
            }
            $0.restore = {
                await wait()
                return RestoreResult(restored: names, paidFeatures: paid, nothingToRestore: false)
            }
            $0.offer = {
                await wait()
                return .success(PromoOffer(productDiscount: ProductDiscount(), identifier: name))
            }
            $0.purchase = { _ in
                await wait()
                return .success(SuccessfulPurchase(paidFeatures: paid))
            }
            $0.cancel = { _ in
                await wait()
                return .success(())
            }
            $0.restoreLink = { _ in
                await wait()
                return .success(())
            }
            $0.redeem = {
                await wait()
                return .success(())
            }
        }
    }

    /// Returns a plugin whose operations fail.
    static func failing(_ name: String, with error: any Error) -> StubPlugin {
        StubPlugin(name) {
            $0.logIn = { _ in throw error }
            $0.features = { throw error }
            $0.paidFeatures = { throw error }
            $0.subscriptions = { throw error }
            $0.products = { _ in throw error }
            $0.pricePoints = { _ in throw error }
            $0.restore = { throw error }
            $0.offer = { .failure(error) }
            $0.purchase = { _ in .failure(error) }
            $0.cancel = { _ in .failure(error) }
            $0.restoreLink = { _ in .failure(error) }
            $0.redeem = { .failure(error) }
        }
    }
}

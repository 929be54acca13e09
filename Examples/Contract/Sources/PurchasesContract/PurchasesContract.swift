import Foundation
import Purchases

/// A plugin needs only a name.
final class Silent: PurchasePlugin {
    let name = "silent"
}

final class Web: PurchasePlugin {
    let name = "web"
    func logIn(appUserId: UserId) async throws {}
    func logOut() async {}
    func getFeatures() async throws -> Features { Features() }
    func getPaidFeatures() async throws -> PaidFeatures { PaidFeatures() }
    func getSubscriptions() async throws -> [Subscription] { [] }
    func getProductsAndPricePoints(with identifiers: [String]) async throws -> Set<Product> {
        Set(identifiers.map { Product(productIdentifier: $0) })
    }
    func getPromotionalOffer(
        for productDiscount: ProductDiscount, product: Product
    ) async -> PurchasePluginResult<PromoOffer, any Error> { .notSupported }
    func purchase(
        _ product: Product, with promoOffer: PromoOffer?
    ) async -> PurchasePluginResult<SuccessfulPurchase, any Error> {
        .success(SuccessfulPurchase(paidFeatures: PaidFeatures()))
    }
    func restorePurchases() async throws -> RestoreResult {
        RestoreResult(restored: ["a"], paidFeatures: PaidFeatures(), nothingToRestore: false)
    }
    func cancelSubscription(with token: CancellationToken) async -> PurchasePluginResult<Void, any Error> {
        .failure(CancellationError())
    }
}

func facade(_ existing: any PurchaseClientProtocol) async throws {
    let client: PaltaPurchases = PurchaseClient()
    let configured = PurchaseClient(configuration: PurchaseClient.Configuration())
    try await configured.setup(with: [Silent()])
    try await client.setup(with: [Web(), Silent()], appUserId: .string("customer-1042"))
    try await client.logIn(appUserId: .uuid(UUID()))
    let paid: PaidFeatures = try await client.getPaidFeatures()
    let strict: PaidFeatures = try await client.getPaidFeatures(.strict)
    let features: Features = try await client.getFeatures()
    let subscriptions: [Subscription] = try await client.getSubscriptions()
    let products: Set<Product> = try await client.getProductsAndPricePoints(with: ["a"])
    let product = products.first ?? Product(productIdentifier: "a")
    let purchase: SuccessfulPurchase = try await client.purchase(product)
    let another: SuccessfulPurchase = try await client.purchase(product, with: nil)
    let restored: RestoreResult = try await client.restorePurchases()
    try await client.cancelSubscription(with: CancellationToken(pluginName: "web", rawValue: "t"))
    await client.logOut()
    requireSendable(paid, strict, features, subscriptions, purchase, another, restored)
    let again: any PaltaPurchasesProtocol = existing
    _ = try await again.getPaidFeatures()
}

func offer(_ client: PurchaseClient, _ discount: ProductDiscount, for product: Product) async throws {
    let offer: PromoOffer = try await client.getPromotionalOffer(for: discount, product: product)
    _ = try await client.purchase(product, with: offer)
}

func values(_ now: Date) {
    let full = Product(
        productIdentifier: "a", productType: .nonConsumable, price: 4.99, currencyCode: "EUR", localizedTitle: "A")
    let oneOff = PaidFeature(name: "pro")
    let bought = PaidFeature(
        name: "pro", productIdentifier: "a", pricePointIdent: "p", originalTransactionID: "1",
        paymentType: .until(now), transactionType: .appStore)
    let period = PaidFeature.Period(
        id: UUID(), startDate: now, endDate: now, cancellationDate: nil, isTrial: true, isIntroductory: false,
        cancellationToken: CancellationToken(pluginName: "web", rawValue: "t"))
    let bare = PaidFeature.Period(startDate: now, endDate: now)
    let payments: Set<PaidFeature.PaymentType> = [
        .subscription(PaidFeature.Subscriptions(current: period, next: bare)), .oneOff, .consumable, .until(now),
        .subscription(.init(current: bare)),
    ]
    let origins: Set<PaidFeature.TransactionType> = [.web, .appStore, .googlePlay]
    let paid = PaidFeatures(features: [oneOff, bought]).merged(with: PaidFeatures())
    let isActive: Bool = paid.hasActiveFeature(with: "pro") && paid.hasActiveFeature(with: "pro", at: now)
    let list: [PaidFeature] = paid.features
    let features = Features(features: [
        Feature(name: "pro", startDate: now), Feature(name: "a", startDate: now, endDate: now),
    ])
    let users: Set<UserId> = [.uuid(UUID()), .string("b")]
    let purchase = SuccessfulPurchase(transaction: nil, paidFeatures: paid, isPendingAcknowledgement: true)
    let read: (StoreTransaction?, PaidFeatures, Bool) = (
        purchase.transaction, purchase.paidFeatures, purchase.isPendingAcknowledgement
    )
    let token = CancellationToken(pluginName: "web", rawValue: "t")
    requireSendable(full, payments, origins, isActive, list, features == Features(), users, token.rawValue)
    requireSendable(token.pluginName, Set([full]), Set([token]), features.features)
    requireSendable(full.productIdentifier, full.productType, full.price, full.currencyCode, full.localizedTitle)
    _ = read
}

func errors(_ error: PurchaseError) {
    let codes: Set<PurchaseError.Code> = [
        .notSetUp, .alreadySetUp, .noSuitablePlugin, .noUserId, .cancelledByUser, .webPaymentsNotSupported,
        .invalidKey, .acknowledgementPending, .unreachable, .unsupported,
    ]
    let isRetryable: Bool = error.isRetryable
    requireSendable(codes.contains(error.code), isRetryable, error == error)
}

func results(_ result: PurchasePluginResult<Int, any Error>) -> Int? {
    switch result {
    case .success(let value): return value
    case .failure, .notSupported: return nil
    }
}

func requireSendable<each Value: Sendable>(_ values: repeat each Value) {}

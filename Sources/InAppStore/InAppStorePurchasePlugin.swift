import Foundation
import Primitives
import Purchases
import StoreKitAdapter
import StoreModel

/// The in-app store as a plugin of `PurchaseClient`. It sells the products of the store's product list, and leaves all
/// others to the next plugin.
///
/// If `StoreConfiguration.promotedPurchases` postpones a promoted purchase, the client offers it to the app among its
/// `promotedPurchases`. The same purchase is in `Store.postponedPurchases`: only the first call that continues the
/// purchase buys the product, and later calls fail with `invalidProductForPurchasing`.
public final class InAppStorePurchasePlugin: PurchasePlugin {
    public let name: String
    public let appRequests: AppRequests?
    private let store: Store
    private let promotions: Task<Void, Never>

    /// Creates a plugin.
    ///
    /// - Parameters:
    ///   - store: The store that sells.
    ///   - name: The name of the plugin.
    public init(store: Store, name: String = "inAppStore") {
        self.store = store
        self.name = name
        let requests = AppRequests()
        appRequests = requests
        promotions = Task { [postponements = store.postponements] in
            for await promoted in postponements {
                requests.offer(await Self.product(promoted.productID, of: store)) {
                    await PurchasePluginResult {
                        try await Self.sell(at: store) {
                            try await store.continuePurchase(promoted.productID.rawValue)
                        }
                    }
                }
            }
        }
    }

    deinit { promotions.cancel() }

    /// Logs in a user. Succeeds even if the server is unreachable, or its answer cannot be verified. The store then
    /// uses its stored answer, and repeats the request later. Without a stored answer, the next read requests the
    /// answer again, and throws if that fails.
    ///
    /// - Parameter appUserId: The id of the user.
    /// - Throws: `PurchaseError`: `validationError` for an invalid id, or the error of the store.
    public func logIn(appUserId: UserId) async throws {
        guard let customer = CustomerID(rawValue: appUserId.stringValue) else {
            throw PurchaseError(.validationError, "A user id must have 1 to 255 bytes and no control characters.")
        }
        do {
            try await store.logIn(customer)
        } catch let error as PurchaseError where error.code == .receiptValidationFailed {
            return
        } catch {
            throw Self.purchaseError(error)
        }
    }

    /// Logs out. A failure is reported among the store's events.
    public func logOut() async { try? await store.logOut() }

    public func getFeatures() async throws -> Features {
        try await answer().map { Features($0) } ?? Features()
    }

    public func getPaidFeatures() async throws -> PaidFeatures {
        _ = try await answer()
        return store.paidFeatures
    }

    public func getSubscriptions() async throws -> [Subscription] {
        guard let customer = try await answer() else { return [] }
        return customer.subscriptions.map { subscription in
            let features = customer.features.filter {
                $0.originalTransactionID == subscription.originalTransactionID
            }
            return Subscription(subscription, providing: features.map(\.name))
        }
    }

    public func getProductsAndPricePoints(with identifiers: [String]) async throws -> Set<Product> {
        let listed = Set(identifiers.filter { store.list[$0] != nil })
        guard !listed.isEmpty else { return [] }
        return try await Self.translating {
            Set(try await self.store.fetchProductsInfo(listed).values.map { Product($0) })
        }
    }

    /// Returns a promotional offer with the signature of the store's offer service, by default the entitlement server.
    /// The signature contains the `appAccountToken` of the current customer.
    ///
    /// - Parameters:
    ///   - productDiscount: The discount that the offer gives.
    ///   - product: The product that has the discount.
    /// - Returns: The signed offer, an error, for example if the customer is not eligible, or `notSupported` for a
    ///   product that is not in the list, and for an offer that the service does not sign.
    public func getPromotionalOffer(
        for productDiscount: ProductDiscount, product: Product
    ) async -> PurchasePluginResult<PromoOffer, any Error> {
        guard productDiscount.type == .promotional, let id = productDiscount.identifier,
            let listed = store.list[product.productIdentifier]
        else { return .notSupported }
        do {
            let signed = try await Self.translating { try await self.store.signedOffer(id, of: listed) }
            return signed.map { .success(PromoOffer(productDiscount: productDiscount, $0)) } ?? .notSupported
        } catch {
            return .failure(error)
        }
    }

    /// Buys a product, with an offer if one is given. The App Store verifies the offer: its signature must contain the
    /// `appAccountToken` of the current customer.
    ///
    /// - Parameters:
    ///   - product: The product to buy.
    ///   - promoOffer: The offer whose price the customer pays.
    /// - Returns: The purchase, an error, or `notSupported` for a product that is not in the list.
    public func purchase(
        _ product: Product, with promoOffer: PromoOffer?
    ) async -> PurchasePluginResult<SuccessfulPurchase, any Error> {
        guard let listed = store.list[product.productIdentifier] else { return .notSupported }
        let offer = promoOffer.flatMap(PaymentOffer.init)
        guard (offer == nil) == (promoOffer == nil) else {
            return .failure(
                PurchaseError(
                    .validationError,
                    "A part of the offer's signature is missing. Pass key, nonce, timestamp and signature, or none."
                )
            )
        }
        return await PurchasePluginResult {
            try await Self.sell(at: store) {
                try await self.store.purchase(listed, offer: offer)
            }
        }
    }

    public func purchase(
        _ product: Product, quantity: Int
    ) async -> PurchasePluginResult<SuccessfulPurchase, any Error> {
        guard quantity != 1 else { return await purchase(product, with: nil) }
        guard let listed = store.list[product.productIdentifier] else { return .notSupported }
        return await PurchasePluginResult {
            try await Self.sell(at: store) {
                try await self.store.purchase(listed, quantity: quantity)
            }
        }
    }

    private static func sell(
        at store: Store, _ buy: () async throws -> StorePurchase
    ) async throws -> SuccessfulPurchase {
        let purchase = try await translating(buy)
        return SuccessfulPurchase(
            transaction: purchase.transaction, paidFeatures: store.paidFeatures,
            isPendingAcknowledgement: purchase.isPendingAcknowledgement)
    }

    /// Returns the product as the App Store describes it. If the request fails, the product has only its identifier.
    private static func product(_ id: ProductID, of store: Store) async -> Product {
        let described = try? await store.fetchProductsInfo([id.rawValue])[id.rawValue]
        return described.map { Product($0) } ?? Product(productIdentifier: id.rawValue)
    }

    public func restorePurchases() async throws -> RestoreResult {
        try await Self.translating { try await self.store.restorePurchases() }
    }

    /// Shows the store's sheet for offer codes, if there is one.
    ///
    /// - Returns: Success, an error, or `notSupported` without a sheet.
    public func presentCodeRedemptionUI() async -> PurchasePluginResult<Void, any Error> {
        do {
            try await store.redeemOfferCode()
            return .success(())
        } catch let error as PurchaseError where error.code == .unsupported {
            return .notSupported
        } catch {
            return .failure(Self.purchaseError(error))
        }
    }

    public func invalidatePaidFeaturesCache() async { store.invalidateAnswer() }

    public func answerOrigin(of operation: PurchaseOperation) -> AnswerOrigin? {
        guard [.getFeatures, .getPaidFeatures, .getSubscriptions].contains(operation) else { return nil }
        return store.lastAnswer.map { AnswerOrigin(.cache, asOf: $0.receivedAt) }
    }

    /// `true`: the store's records contain the server's answer.
    public var storesAnswers: Bool { true }

    public func storedAnswers() -> (paidFeatures: PaidFeatures, features: Features, asOf: Date)? {
        store.lastAnswer.map { (store.paidFeatures, Features($0.customer), $0.receivedAt) }
    }

    public func paidFeaturesUpdates() -> AsyncStream<PaidFeatures> {
        let (stream, continuation) = AsyncStream.makeStream(of: PaidFeatures.self, bufferingPolicy: .bufferingNewest(1))
        let relay = Task { [snapshots = store.snapshots, weak store] in
            // Sends nothing before the first answer: an empty set would mean that nothing was bought.
            var sent: PaidFeatures?
            for await _ in snapshots {
                guard let store else { break }
                guard sent != nil || store.lastAnswer != nil else { continue }
                let features = store.paidFeatures
                if features != sent { continuation.yield(features) }
                sent = features
            }
            continuation.finish()
        }
        continuation.onTermination = { _ in relay.cancel() }
        return stream
    }

    private func answer() async throws -> Customer? {
        try await Self.translating { try await store.currentAnswer()?.customer }
    }

    private static func translating<Value: Sendable>(_ body: () async throws -> Value) async throws -> Value {
        do {
            return try await body()
        } catch {
            throw purchaseError(error)
        }
    }

    /// Converts an error of the store to one of the purchase client. Other errors stay unchanged.
    static func purchaseError(_ error: any Error) -> any Error {
        if failure(in: error)?.code == .unreachable {
            return PurchaseError(.unreachable, "The App Store cannot be reached; try again.", underlying: error)
        }
        guard let error = error as? PurchaseError else { return error }
        if let underlying = error.underlying as? PurchaseError { return underlying }
        let codes: [PurchaseError.Code: PurchaseError.Code] = [
            .operationCancelled: .cancelledByUser, .acknowledgementPending: .acknowledgementPending,
            .receiptValidationFailed: .unreachable, .unsupported: .unsupported,
        ]
        return codes[error.code].map { PurchaseError($0, error.reason, underlying: error) } ?? error
    }

    /// Returns the store's failure that caused an error.
    private static func failure(in error: (any Error)?) -> StoreFailure? {
        switch error {
        case let failure as StoreFailure: failure
        case let error as PurchaseError: failure(in: error.underlying)
        case let error as PaymentError: failure(in: error.underlying)
        case ProductRequestError.requestFailed(let error)?: failure(in: error)
        default: nil
        }
    }
}

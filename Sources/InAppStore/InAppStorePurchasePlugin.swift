import Foundation
import Primitives
import Purchases
import StoreKitAdapter
import StoreModel

/// The in-app store as one of the systems behind `PurchaseClient`: it sells what is in the store's product list and
/// leaves everything else to the next plugin.
///
/// What the customer begins in the App Store and `StoreConfiguration.promotedPurchases` puts off, the client offers the app
/// among its `promotedPurchases`. It is the same purchase as that in `Store.postponedPurchases`: whoever goes on with it
/// first makes it, and to anybody else it is `invalidProductForPurchasing`.
public final class InAppStorePurchasePlugin: PurchasePlugin {
    public let name: String
    public let appRequests: AppRequests?
    private let store: Store
    private let promotions: Task<Void, Never>

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

    /// A server that gives no answer, or none that can be believed, has not rejected the user: the store goes by what it
    /// knows of them, asks again by itself, and its next answer says what is wrong.
    public func logIn(appUserId: UserId) async throws {
        guard let customer = CustomerID(rawValue: appUserId.stringValue) else {
            throw PurchaseError(.validationError, "A user's id has 1 to 255 bytes and no control characters.")
        }
        do {
            try await store.logIn(customer)
        } catch let error as PurchaseError where error.code == .receiptValidationFailed {
            return
        } catch {
            throw Self.purchaseError(error)
        }
    }

    /// A failure is among the store's events.
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

    /// The store judges the offer: its signature has to name the `appAccountToken` of who is logged in.
    public func purchase(
        _ product: Product, with promoOffer: PromoOffer?
    ) async -> PurchasePluginResult<SuccessfulPurchase, any Error> {
        guard let listed = store.list[product.productIdentifier] else { return .notSupported }
        let offer = promoOffer.flatMap(PaymentOffer.init)
        guard (offer == nil) == (promoOffer == nil) else {
            return .failure(
                PurchaseError(
                    .validationError,
                    "A part of the offer's signature is missing: give key, nonce, time and signature, or none of them.")
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

    /// As the App Store describes it, or by its identifier where that cannot be had.
    private static func product(_ id: ProductID, of store: Store) async -> Product {
        let described = try? await store.fetchProductsInfo([id.rawValue])[id.rawValue]
        return described.map { Product($0) } ?? Product(productIdentifier: id.rawValue)
    }

    public func restorePurchases() async throws -> RestoreResult {
        try await Self.translating { try await self.store.restorePurchases() }
    }

    /// The store's own sheet asks for the code, where there is one.
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

    /// The store's records hold the server's answer.
    public var keepsItsAnswers: Bool { true }

    public func keptAnswers() -> (paidFeatures: PaidFeatures, features: Features, asOf: Date)? {
        store.lastAnswer.map { (store.paidFeatures, Features($0.customer), $0.receivedAt) }
    }

    public func paidFeaturesUpdates() -> AsyncStream<PaidFeatures> {
        let (stream, continuation) = AsyncStream.makeStream(of: PaidFeatures.self, bufferingPolicy: .bufferingNewest(1))
        let relay = Task { [snapshots = store.snapshots, weak store] in
            // Before the server's first answer there is nothing to tell, not even that there is nothing.
            var told: PaidFeatures?
            for await _ in snapshots {
                guard let store else { break }
                guard told != nil || store.lastAnswer != nil else { continue }
                let features = store.paidFeatures
                if features != told { continuation.yield(features) }
                told = features
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

    /// The store's errors in the words of the purchase client; others stay as they are.
    static func purchaseError(_ error: any Error) -> any Error {
        // A server that gave no answer decided nothing, and a store that cannot be reached neither.
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

    /// What the store said, below whatever was made of it.
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

/// A system that sells to customers, behind the one face that `PurchaseClient` shows.
///
/// Only `name` has no default. What a plugin does not do it leaves to the default: getters answer with nothing,
/// operations of one plugin answer `.notSupported`. A plugin that handles everything offered to it hides those after it.
///
///     final class KioskPlugin: PurchasePlugin {
///         let name = "kiosk"
///         func getPaidFeatures() async throws -> PaidFeatures { … }
///     }
///
/// Calls come from any thread and at any time; the task is cancelled when nobody waits for the answer any more. All but
/// `purchase` have a deadline.
public protocol PurchasePlugin: AnyObject, Sendable {
    /// Names the plugin in reports and cancellation tokens.
    var name: String { get }
    /// Throws a `PurchaseError` that `isRetryable` when the system cannot be reached: the log-in is repeated before the
    /// next call. Any other error rejects the user and logs everybody out.
    func logIn(appUserId: UserId) async throws
    func logOut() async
    func getFeatures() async throws -> Features
    func getPaidFeatures() async throws -> PaidFeatures
    func getSubscriptions() async throws -> [Subscription]
    /// The products among `identifiers` that this system sells; others are left out without an error.
    func getProductsAndPricePoints(with identifiers: [String]) async throws -> Set<Product>
    func getPromotionalOffer(
        for productDiscount: ProductDiscount, product: Product
    ) async -> PurchasePluginResult<PromoOffer, any Error>
    func purchase(
        _ product: Product, with promoOffer: PromoOffer?
    ) async -> PurchasePluginResult<SuccessfulPurchase, any Error>
    func restorePurchases() async throws -> RestoreResult
    func cancelSubscription(with token: CancellationToken) async -> PurchasePluginResult<Void, any Error>
    /// All paid features of this plugin, whenever they change by themselves: a renewal, a refund, a purchase that was
    /// approved later. Called once, at setup; the stream may end at any time.
    func paidFeaturesUpdates() -> AsyncStream<PaidFeatures>
}

extension PurchasePlugin {
    public func logIn(appUserId: UserId) async throws {}
    public func logOut() async {}
    public func getFeatures() async throws -> Features { Features() }
    public func getPaidFeatures() async throws -> PaidFeatures { PaidFeatures() }
    public func getSubscriptions() async throws -> [Subscription] { [] }
    public func getProductsAndPricePoints(with identifiers: [String]) async throws -> Set<Product> { [] }

    public func getPromotionalOffer(
        for productDiscount: ProductDiscount, product: Product
    ) async -> PurchasePluginResult<PromoOffer, any Error> { .notSupported }

    public func purchase(
        _ product: Product, with promoOffer: PromoOffer?
    ) async -> PurchasePluginResult<SuccessfulPurchase, any Error> { .notSupported }

    public func restorePurchases() async throws -> RestoreResult {
        RestoreResult(restored: [], paidFeatures: PaidFeatures(), nothingToRestore: true)
    }

    public func cancelSubscription(with token: CancellationToken) async -> PurchasePluginResult<Void, any Error> {
        .notSupported
    }

    public func paidFeaturesUpdates() -> AsyncStream<PaidFeatures> { AsyncStream { $0.finish() } }
}

import Foundation
import Primitives

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
/// those in which the customer has to do something (`purchase`, `presentCodeRedemptionUI`) have a deadline. A system
/// that calls back is asked with `answer(_:)`.
public protocol PurchasePlugin: AnyObject, Sendable {
    /// Names the plugin in reports and cancellation tokens, and what it said in the client's storage: the same in every
    /// run, and no other plugin's.
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
    /// The price points among `identifiers` that this system has; others are left out without an error.
    func getWebPricePoints(with identifiers: Set<String>) async throws -> [WebPricePoint]
    func getPromotionalOffer(
        for productDiscount: ProductDiscount, product: Product
    ) async -> PurchasePluginResult<PromoOffer, any Error>
    func purchase(
        _ product: Product, with promoOffer: PromoOffer?
    ) async -> PurchasePluginResult<SuccessfulPurchase, any Error>
    /// Several of a consumable in one payment. By default one is sold as without a quantity, and more are `.notSupported`.
    func purchase(_ product: Product, quantity: Int) async -> PurchasePluginResult<SuccessfulPurchase, any Error>
    func restorePurchases() async throws -> RestoreResult
    func cancelSubscription(with token: CancellationToken) async -> PurchasePluginResult<Void, any Error>
    /// Sends the customer a letter with which they find their purchases again.
    func sendRestoreLink(to email: String) async -> PurchasePluginResult<Void, any Error>
    /// Lets the customer type an offer code; returns when that is over.
    func presentCodeRedemptionUI() async -> PurchasePluginResult<Void, any Error>
    /// What the app knows of its user besides the id, such as an attribution. `nil` removes.
    func setAttributes(_ attributes: [PurchaseAttribute: String?]) async
    /// The customer has agreed to have the device recognised.
    func collectDeviceIdentifiers() async
    /// What the plugin keeps may be outdated: its next answer comes from its system.
    func invalidatePaidFeaturesCache() async
    /// All paid features of this plugin, whenever they change by themselves: a renewal, a refund, a purchase that was
    /// approved later. Called once, at setup; the stream may end at any time.
    func paidFeaturesUpdates() -> AsyncStream<PaidFeatures>
    /// The way to the app, for a plugin that has to ask it something.
    var appRequests: AppRequests? { get }
    /// Where the plugin's last answer came from and of when it is, if it knows. Only told, never decided by.
    func answerOrigin(of operation: PurchaseOperation) -> AnswerOrigin?
    /// Whether the plugin itself keeps its answers from run to run. The client then writes none of them, so that there is
    /// one copy of each, and reads them with `keptAnswers()`. By default the client keeps them in its storage.
    var keepsItsAnswers: Bool { get }
    /// The answers that the plugin kept about the user who is logged in, and their date; `nil` when there are none. Asked
    /// at setup and after a log-in, of a plugin that `keepsItsAnswers`; it asks no system for them.
    func keptAnswers() -> (paidFeatures: PaidFeatures, features: Features, asOf: Date)?
}

extension PurchasePlugin {
    public func logIn(appUserId: UserId) async throws {}
    public func logOut() async {}
    public func getFeatures() async throws -> Features { Features() }
    public func getPaidFeatures() async throws -> PaidFeatures { PaidFeatures() }
    public func getSubscriptions() async throws -> [Subscription] { [] }
    public func getProductsAndPricePoints(with identifiers: [String]) async throws -> Set<Product> { [] }
    public func getWebPricePoints(with identifiers: Set<String>) async throws -> [WebPricePoint] { [] }

    public func getPromotionalOffer(
        for productDiscount: ProductDiscount, product: Product
    ) async -> PurchasePluginResult<PromoOffer, any Error> { .notSupported }

    public func purchase(
        _ product: Product, with promoOffer: PromoOffer?
    ) async -> PurchasePluginResult<SuccessfulPurchase, any Error> { .notSupported }

    public func purchase(
        _ product: Product, quantity: Int
    ) async -> PurchasePluginResult<SuccessfulPurchase, any Error> {
        quantity == 1 ? await purchase(product, with: nil) : .notSupported
    }

    public func restorePurchases() async throws -> RestoreResult {
        RestoreResult(restored: [], paidFeatures: PaidFeatures(), nothingToRestore: true)
    }

    public func cancelSubscription(with token: CancellationToken) async -> PurchasePluginResult<Void, any Error> {
        .notSupported
    }

    public func sendRestoreLink(to email: String) async -> PurchasePluginResult<Void, any Error> { .notSupported }
    public func presentCodeRedemptionUI() async -> PurchasePluginResult<Void, any Error> { .notSupported }
    public func setAttributes(_ attributes: [PurchaseAttribute: String?]) async {}
    public func collectDeviceIdentifiers() async {}
    public func invalidatePaidFeaturesCache() async {}
    public func paidFeaturesUpdates() -> AsyncStream<PaidFeatures> { AsyncStream { $0.finish() } }
    public var appRequests: AppRequests? { nil }
    public func answerOrigin(of operation: PurchaseOperation) -> AnswerOrigin? { nil }
    public var keepsItsAnswers: Bool { false }
    public func keptAnswers() -> (paidFeatures: PaidFeatures, features: Features, asOf: Date)? { nil }

    /// The answer of a system that calls back instead of returning.
    ///
    ///     func getPaidFeatures() async throws -> PaidFeatures {
    ///         try await answer { completion in kiosk.loadPurchases(completion) }
    ///     }
    ///
    /// The first answer stands, however often the system calls back. The caller's cancellation, and with it the client's
    /// deadline, ends the waiting for one that never does.
    public func answer<Value: Sendable>(
        _ ask: (_ completion: @escaping @Sendable (Result<Value, any Error>) -> Void) throws -> Void
    ) async throws -> Value {
        let answer = Promise<Value>()
        try ask { answer.resolve($0) }
        return try await answer.valueUnlessCancelled()
    }
}

/// Something the app knows of its user. An open set: a plugin takes what it has use for.
public typealias PurchaseAttribute = OpenEnum<PurchaseClient>

extension PurchaseAttribute {
    /// The device's id at AppsFlyer, who attributes installations to campaigns.
    public static var appsflyerID: Self { Self(rawValue: "appsflyerID") }
    public static var email: Self { Self(rawValue: "email") }
    public static var displayName: Self { Self(rawValue: "displayName") }
}

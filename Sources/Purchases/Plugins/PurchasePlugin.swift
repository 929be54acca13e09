import Foundation
import Primitives

/// A system that sells to customers, as a plugin of `PurchaseClient`.
///
/// Only `name` has no default implementation. By default, reads return empty values, and operations of one plugin
/// return `.notSupported`. A plugin that handles every operation hides the plugins after it.
///
///     final class KioskPlugin: PurchasePlugin {
///         let name = "kiosk"
///         func getPaidFeatures() async throws -> PaidFeatures { … }
///     }
///
/// Calls can come at any time, on any thread. A call is cancelled when no caller waits for it. All operations have a
/// deadline, except those in which the customer does something (`purchase`, `presentCodeRedemptionUI`). For a system
/// with callbacks, use `answer(_:)`.
public protocol PurchasePlugin: AnyObject, Sendable {
    /// The name of the plugin in reports, in cancellation tokens and in the client's storage. It is unique and the same
    /// in every run.
    var name: String { get }
    /// Logs a user in.
    ///
    /// Throw a `PurchaseError` that `isRetryable` when the system cannot be reached. The client then repeats the log-in
    /// before the next call. In the first attempt, any other error rejects the user and logs out everywhere.
    ///
    /// - Parameter appUserId: The user.
    /// - Throws: An error that is retryable, or one that rejects the user.
    func logIn(appUserId: UserId) async throws
    /// Logs the user out.
    func logOut() async
    /// Returns the features that the user may use.
    ///
    /// - Returns: The features.
    /// - Throws: An error when the system cannot answer.
    func getFeatures() async throws -> Features
    /// Returns the features that the user paid for.
    ///
    /// - Returns: The paid features.
    /// - Throws: An error when the system cannot answer.
    func getPaidFeatures() async throws -> PaidFeatures
    /// Returns the user's subscriptions.
    ///
    /// - Returns: The subscriptions.
    /// - Throws: An error when the system cannot answer.
    func getSubscriptions() async throws -> [Subscription]
    /// Returns the products that this system sells. Other identifiers are omitted without an error.
    ///
    /// - Parameter identifiers: The identifiers of the products.
    /// - Returns: The products.
    /// - Throws: An error when the system cannot answer.
    func getProductsAndPricePoints(with identifiers: [String]) async throws -> Set<Product>
    /// Returns the price points of this system. Other identifiers are omitted without an error.
    ///
    /// - Parameter identifiers: The identifiers of the price points.
    /// - Returns: The price points.
    /// - Throws: An error when the system cannot answer.
    func getWebPricePoints(with identifiers: Set<String>) async throws -> [WebPricePoint]
    /// Returns the signed offer for a discount.
    ///
    /// - Parameters:
    ///   - productDiscount: The discount that the offer gives.
    ///   - product: The product that has the discount.
    /// - Returns: The signed offer, or `.notSupported`.
    func getPromotionalOffer(
        for productDiscount: ProductDiscount, product: Product
    ) async -> PurchasePluginResult<PromoOffer, any Error>
    /// Buys a product.
    ///
    /// - Parameters:
    ///   - product: The product to buy.
    ///   - promoOffer: The signed offer, or `nil`.
    /// - Returns: The purchase, or `.notSupported` if another plugin sells the product.
    func purchase(
        _ product: Product, with promoOffer: PromoOffer?
    ) async -> PurchasePluginResult<SuccessfulPurchase, any Error>
    /// Buys a quantity of a consumable in one payment. By default one unit is bought with `purchase(_:with:)`, and more
    /// are `.notSupported`.
    ///
    /// - Parameters:
    ///   - product: The product to buy.
    ///   - quantity: The number of units.
    /// - Returns: The purchase, or `.notSupported`.
    func purchase(_ product: Product, quantity: Int) async -> PurchasePluginResult<SuccessfulPurchase, any Error>
    /// Restores earlier purchases.
    ///
    /// - Returns: The restored purchases.
    /// - Throws: An error when the system cannot answer.
    func restorePurchases() async throws -> RestoreResult
    /// Turns off the renewal of a subscription.
    ///
    /// - Parameter token: The token of the subscription.
    /// - Returns: Success, or `.notSupported` if another plugin issued the token.
    func cancelSubscription(with token: CancellationToken) async -> PurchasePluginResult<Void, any Error>
    /// Sends the customer an email with which they can restore their purchases.
    ///
    /// - Parameter email: The address of the customer.
    /// - Returns: Success, or `.notSupported`.
    func sendRestoreLink(to email: String) async -> PurchasePluginResult<Void, any Error>
    /// Presents the sheet for offer codes and returns when it is closed.
    ///
    /// - Returns: Success, or `.notSupported`.
    func presentCodeRedemptionUI() async -> PurchasePluginResult<Void, any Error>
    /// Receives attributes of the user, such as the email address.
    ///
    /// - Parameter attributes: The values by name; `nil` removes a value.
    func setAttributes(_ attributes: [PurchaseAttribute: String?]) async
    /// Allows the plugin to identify the device, after the customer has agreed.
    func collectDeviceIdentifiers() async
    /// Clears the plugin's cache, so that the next answer comes from its system.
    func invalidatePaidFeaturesCache() async
    /// Returns a stream that sends all paid features of this plugin whenever a renewal, a refund or a later approval
    /// changes them. Called once, at setup. The stream may end at any time.
    ///
    /// - Returns: The stream.
    func paidFeaturesUpdates() -> AsyncStream<PaidFeatures>
    /// The requests to the app, for a plugin that needs them.
    var appRequests: AppRequests? { get }
    /// Returns the source and date of the plugin's last answer, if known. It is used only in reports.
    ///
    /// - Parameter operation: The operation that was answered.
    /// - Returns: The source and date, or `nil`.
    func answerOrigin(of operation: PurchaseOperation) -> AnswerOrigin?
    /// Whether the plugin stores its answers from run to run. The client then stores none of them and reads them with
    /// `storedAnswers()`, so that there is one copy. By default the client stores them.
    var storesAnswers: Bool { get }
    /// Returns the stored answers about the user who is logged in, and their date. Called at setup and after a log-in,
    /// if `storesAnswers` is true. The plugin does not contact its system.
    ///
    /// - Returns: The answers, or `nil` if there are none.
    func storedAnswers() -> (paidFeatures: PaidFeatures, features: Features, asOf: Date)?
}

extension PurchasePlugin {
    /// Does nothing with `appUserId`.
    ///
    /// - Throws: Nothing.
    public func logIn(appUserId: UserId) async throws {}
    /// Does nothing.
    public func logOut() async {}
    /// Returns no features.
    ///
    /// - Throws: Nothing.
    public func getFeatures() async throws -> Features { Features() }
    /// Returns no paid features.
    ///
    /// - Throws: Nothing.
    public func getPaidFeatures() async throws -> PaidFeatures { PaidFeatures() }
    /// Returns no subscriptions.
    ///
    /// - Throws: Nothing.
    public func getSubscriptions() async throws -> [Subscription] { [] }
    /// Returns no products for `identifiers`.
    ///
    /// - Throws: Nothing.
    public func getProductsAndPricePoints(with identifiers: [String]) async throws -> Set<Product> { [] }
    /// Returns no price points for `identifiers`.
    ///
    /// - Throws: Nothing.
    public func getWebPricePoints(with identifiers: Set<String>) async throws -> [WebPricePoint] { [] }

    /// Returns `.notSupported`.
    ///
    /// - Parameters:
    ///   - productDiscount: The discount.
    ///   - product: The product.
    /// - Returns: `.notSupported`
    public func getPromotionalOffer(
        for productDiscount: ProductDiscount, product: Product
    ) async -> PurchasePluginResult<PromoOffer, any Error> { .notSupported }

    /// Returns `.notSupported`.
    ///
    /// - Parameters:
    ///   - product: The product.
    ///   - promoOffer: The signed offer, or `nil`.
    /// - Returns: `.notSupported`
    public func purchase(
        _ product: Product, with promoOffer: PromoOffer?
    ) async -> PurchasePluginResult<SuccessfulPurchase, any Error> { .notSupported }

    /// Buys one unit with `purchase(_:with:)`. Returns `.notSupported` for more.
    ///
    /// - Parameters:
    ///   - product: The product.
    ///   - quantity: The number of units.
    /// - Returns: The purchase, or `.notSupported`.
    public func purchase(
        _ product: Product, quantity: Int
    ) async -> PurchasePluginResult<SuccessfulPurchase, any Error> {
        quantity == 1 ? await purchase(product, with: nil) : .notSupported
    }

    /// Returns that there is nothing to restore.
    ///
    /// - Throws: Nothing.
    public func restorePurchases() async throws -> RestoreResult {
        RestoreResult(restored: [], paidFeatures: PaidFeatures(), nothingToRestore: true)
    }

    /// Returns `.notSupported` for `token`.
    public func cancelSubscription(with token: CancellationToken) async -> PurchasePluginResult<Void, any Error> {
        .notSupported
    }

    /// Returns `.notSupported` for `email`.
    public func sendRestoreLink(to email: String) async -> PurchasePluginResult<Void, any Error> { .notSupported }
    /// Returns `.notSupported`.
    public func presentCodeRedemptionUI() async -> PurchasePluginResult<Void, any Error> { .notSupported }
    /// Does nothing with `attributes`.
    public func setAttributes(_ attributes: [PurchaseAttribute: String?]) async {}
    /// Does nothing.
    public func collectDeviceIdentifiers() async {}
    /// Does nothing.
    public func invalidatePaidFeaturesCache() async {}
    /// Returns an empty stream.
    public func paidFeaturesUpdates() -> AsyncStream<PaidFeatures> { AsyncStream { $0.finish() } }
    /// No requests.
    public var appRequests: AppRequests? { nil }
    /// Returns `nil` for `operation`.
    public func answerOrigin(of operation: PurchaseOperation) -> AnswerOrigin? { nil }
    /// The client stores the answers.
    public var storesAnswers: Bool { false }
    /// Returns `nil`.
    public func storedAnswers() -> (paidFeatures: PaidFeatures, features: Features, asOf: Date)? { nil }

    /// Returns the answer of a system with callbacks.
    ///
    ///     func getPaidFeatures() async throws -> PaidFeatures {
    ///         try await answer { completion in kiosk.loadPurchases(completion) }
    ///     }
    ///
    /// Only the first callback counts. If there is none, the cancellation of the caller ends the wait, and so does the
    /// client's deadline.
    ///
    /// - Parameter ask: A function that calls the system with a completion handler.
    /// - Returns: The value of the first callback.
    /// - Throws: The error of the first callback, the error of `ask`, or `CancellationError`.
    public func answer<Value: Sendable>(
        _ ask: (_ completion: @escaping @Sendable (Result<Value, any Error>) -> Void) throws -> Void
    ) async throws -> Value {
        let answer = Promise<Value>()
        try ask { answer.resolve($0) }
        return try await answer.valueUnlessCancelled()
    }
}

/// The name of an attribute of the app's user. The set is open: a plugin uses the attributes that it supports.
public typealias PurchaseAttribute = OpenEnum<PurchaseClient>

extension PurchaseAttribute {
    /// The device's id at AppsFlyer, which attributes installations to campaigns.
    public static var appsflyerID: Self { Self(rawValue: "appsflyerID") }
    /// The user's email address.
    public static var email: Self { Self(rawValue: "email") }
    /// The user's name.
    public static var displayName: Self { Self(rawValue: "displayName") }
}

import Foundation
import HTTPCore
import Primitives

/// The purchases of a backend, such as the entitlement server, which implements the same HTTP API.
///
///     let plugin = RemotePurchasePlugin(
///         configuration: .init(baseURL: "https://purchases.example.com", key: "pk_…"), transport: CurlTransport())
///
/// The plugin sells nothing. It refuses products of the web shop with `webPaymentsNotSupported`, and returns
/// `.notSupported` for other operations of one plugin. It throws `PurchaseError`: `noUserId` before a user is logged
/// in, and the errors of `EntitlementServiceClient`.
///
/// The plugin caches an answer until its maximum age, or until a feature or period in it begins or ends.
/// `restorePurchases()` always requests a new answer. If a request fails, the plugin throws the error and does not
/// return an outdated answer: `PurchaseClient` stores the last answers.
public final class RemotePurchasePlugin: PurchasePlugin {
    /// The name from the configuration.
    public let name: String
    private let clock: any WallClock
    private let sellsOnTheWeb: Bool
    private let services: PaymentsAssembly
    private let state = Locked(State())
    private let diagnostics = Broadcast<RemoteAnswer>()

    private struct State {
        var user: UserId?
        var unreadableRows: [UnreadableRow] = []
        /// The origin of the last answer, by operation.
        var origins: [PurchaseOperation: AnswerOrigin] = [:]
    }

    /// Creates a plugin.
    ///
    /// - Parameters:
    ///   - configuration: The settings.
    ///   - transport: The transport for the requests.
    public init(configuration: Configuration, transport: any HTTPTransport) {
        name = configuration.name
        clock = configuration.clock
        sellsOnTheWeb = configuration.sellsOnTheWeb
        services = PaymentsAssembly(
            configuration: configuration, transport: transport, report: { [diagnostics] in diagnostics.send($0) })
    }

    deinit { diagnostics.finish() }

    /// The subscriptions that could not be read in the last answer, or whose state this version does not know.
    public var unreadableRows: [UnreadableRow] { state.withLock { $0.unreadableRows } }

    /// The outcomes of the requests from now on. A slow reader gets the newest 100.
    public var answers: AsyncStream<RemoteAnswer> { diagnostics.stream(keeping: 100) }

    /// Uses `appUserId` for the following requests.
    ///
    /// - Throws: Nothing.
    public func logIn(appUserId: UserId) async throws { state.withLock { $0.user = appUserId } }

    /// Removes the user and the cached answers.
    public func logOut() async {
        state.withLock { $0 = State() }
        services.removeAnswers()
    }

    /// Clears the cache, so that the next requests go to the backend. Call it, for example, when the user returns from
    /// the web shop.
    public func invalidatePaidFeaturesCache() async { services.removeAnswers() }

    /// Returns the features that the user may use.
    ///
    /// - Returns: The features.
    /// - Throws: `PurchaseError`.
    public func getFeatures() async throws -> Features {
        let rows = try await services.featuresService.features(of: try user())
        return record(.getFeatures, rows.map(Features.init))
    }

    /// Returns the features that the user paid for.
    ///
    /// - Returns: The paid features.
    /// - Throws: `PurchaseError`.
    public func getPaidFeatures() async throws -> PaidFeatures {
        record(.getPaidFeatures, try await services.paidFeaturesService.paidFeatures(of: try user(), report: record))
    }

    /// Returns the user's subscriptions.
    ///
    /// - Returns: The subscriptions.
    /// - Throws: `PurchaseError`.
    public func getSubscriptions() async throws -> [Subscription] {
        let answer = try await services.publicSubscriptionsService.subscriptions(
            of: try user(), at: clock.now(), report: record)
        return record(.getSubscriptions, answer)
    }

    /// Returns price points of the web shop as products. `Product.pricePointIdent` distinguishes them from the products
    /// of other plugins.
    ///
    /// - Parameter identifiers: The identifiers of the price points.
    /// - Returns: The products.
    /// - Throws: `PurchaseError`.
    public func getProductsAndPricePoints(with identifiers: [String]) async throws -> Set<Product> {
        guard sellsOnTheWeb, !identifiers.isEmpty else { return [] }
        return record(
            .getProductsAndPricePoints,
            try await services.showcaseService.products(identifiers, for: try user()))
    }

    /// Returns price points of the web shop, in the order of the response.
    ///
    /// - Parameter identifiers: The identifiers of the price points.
    /// - Returns: The price points.
    /// - Throws: `PurchaseError`.
    public func getWebPricePoints(with identifiers: Set<String>) async throws -> [WebPricePoint] {
        guard sellsOnTheWeb, !identifiers.isEmpty else { return [] }
        return record(
            .getWebPricePoints,
            try await services.showcaseService.pricePoints(identifiers.sorted(), for: try user()))
    }

    /// Refuses a price point of the web shop, and returns `.notSupported` for any other product.
    ///
    /// - Parameters:
    ///   - product: The product to buy.
    ///   - promoOffer: The signed offer, or `nil`.
    /// - Returns: The failure, or `.notSupported`.
    public func purchase(
        _ product: Product, with promoOffer: PromoOffer?
    ) async -> PurchasePluginResult<SuccessfulPurchase, any Error> {
        product.pricePointIdent == nil ? .notSupported : .failure(PurchaseError(.webPaymentsNotSupported))
    }

    /// Requests the paid features again. The active ones are the restored purchases, named by their product or price
    /// point.
    ///
    /// - Returns: The restored purchases.
    /// - Throws: `PurchaseError`.
    public func restorePurchases() async throws -> RestoreResult {
        let features = record(
            .restorePurchases,
            try await services.paidFeaturesService.paidFeatures(of: try user(), ignoringCache: true, report: record))
        let active = features.activeFeatures(at: clock.now())
        return RestoreResult(
            restored: active.compactMap { $0.productIdentifier ?? $0.pricePointIdent }, paidFeatures: features,
            nothingToRestore: active.isEmpty)
    }

    private func user() throws -> UserId {
        guard let user = state.withLock({ $0.user }) else { throw PurchaseError(.noUserId) }
        return user
    }

    /// Returns the origin of the last answer to `operation`. If two responses were joined, the older one counts.
    public func answerOrigin(of operation: PurchaseOperation) -> AnswerOrigin? {
        state.withLock { $0.origins[operation] }
    }

    private func record(_ rows: [UnreadableRow]) { state.withLock { $0.unreadableRows = rows } }

    private func record<Value>(_ operation: PurchaseOperation, _ answer: Sourced<Value>) -> Value {
        state.withLock { $0.origins[operation] = answer.origin }
        return answer.value
    }
}

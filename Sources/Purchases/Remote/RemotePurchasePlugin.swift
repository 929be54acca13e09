import Foundation
import HTTPCore
import Primitives

/// The purchases a backend knows of, asked over the wire format of seed 000, which the entitlement server speaks too.
///
///     let plugin = RemotePurchasePlugin(
///         configuration: .init(baseURL: "https://purchases.example.com", key: "pk_…"), transport: CurlTransport())
///
/// It sells nothing itself: what is bought in the web shop it refuses with `webPaymentsNotSupported`, and what else
/// belongs to one plugin it answers with `.notSupported`. Throws `PurchaseError`: `noUserId` before a user is logged in,
/// and what `EntitlementServiceClient` throws.
///
/// An answer stands for as long as `Configuration.freshness` says, but not beyond the next date in it and not for another
/// user; `restorePurchases()` always asks. One that is outdated is never used in place of an error: `PurchaseClient` has
/// the last known answers.
public final class RemotePurchasePlugin: PurchasePlugin {
    public let name: String
    private let clock: any WallClock
    private let sellsOnTheWeb: Bool
    private let services: PaymentsAssembly
    private let state = Locked(State())
    private let diagnostics = Broadcast<RemoteAnswer>()

    private struct State {
        var user: UserId?
        var unreadableRows: [UnreadableRow] = []
        /// From where the last answer to each question of the client came.
        var origins: [PurchaseOperation: AnswerOrigin] = [:]
    }

    public init(configuration: Configuration, transport: any HTTPTransport) {
        name = configuration.name
        clock = configuration.clock
        sellsOnTheWeb = configuration.sellsOnTheWeb
        services = PaymentsAssembly(
            configuration: configuration, transport: transport, report: { [diagnostics] in diagnostics.send($0) })
    }

    deinit { diagnostics.finish() }

    /// The rows that the last answer about subscriptions held and this version could not read. The others were used.
    public var unreadableRows: [UnreadableRow] { state.withLock { $0.unreadableRows } }

    /// From where each answer came from now on and how old it was, and why there was none. Of a reader that falls behind,
    /// the latest 100 are kept.
    public var answers: AsyncStream<RemoteAnswer> { diagnostics.stream(keeping: 100) }

    public func logIn(appUserId: UserId) async throws { state.withLock { $0.user = appUserId } }

    public func logOut() async {
        state.withLock { $0 = State() }
        services.forgetAnswers()
    }

    /// The next questions go to the backend, however fresh its answers are: for what has changed there, for example when
    /// the user comes back from the web shop.
    public func invalidatePaidFeaturesCache() async { services.forgetAnswers() }

    public func getFeatures() async throws -> Features {
        let rows = try await services.featuresService.features(of: try user())
        return note(.getFeatures, rows.map(Features.init))
    }

    public func getPaidFeatures() async throws -> PaidFeatures {
        note(.getPaidFeatures, try await services.paidFeaturesService.paidFeatures(of: try user(), report: note))
    }

    public func getSubscriptions() async throws -> [Subscription] {
        let answer = try await services.publicSubscriptionsService.subscriptions(
            of: try user(), at: clock.now(), report: note)
        return note(.getSubscriptions, answer)
    }

    /// The web shop's price points as products; `Product.pricePointIdent` tells them from what is bought in the app.
    public func getProductsAndPricePoints(with identifiers: [String]) async throws -> Set<Product> {
        guard sellsOnTheWeb, !identifiers.isEmpty else { return [] }
        return note(
            .getProductsAndPricePoints,
            try await services.showcaseService.products(identifiers, for: try user()))
    }

    /// The web shop's price points in the order of its answer.
    public func getWebPricePoints(with identifiers: Set<String>) async throws -> [WebPricePoint] {
        guard sellsOnTheWeb, !identifiers.isEmpty else { return [] }
        return note(
            .getWebPricePoints,
            try await services.showcaseService.pricePoints(identifiers.sorted(), for: try user()))
    }

    /// A price point of the web shop is this plugin's to refuse; anything else is not its own.
    public func purchase(
        _ product: Product, with promoOffer: PromoOffer?
    ) async -> PurchasePluginResult<SuccessfulPurchase, any Error> {
        product.pricePointIdent == nil ? .notSupported : .failure(PurchaseError(.webPaymentsNotSupported))
    }

    /// Asks the backend again; what is active is what was restored, by its product or price point.
    public func restorePurchases() async throws -> RestoreResult {
        let features = note(
            .restorePurchases,
            try await services.paidFeaturesService.paidFeatures(of: try user(), again: true, report: note))
        let active = features.activeFeatures(at: clock.now())
        return RestoreResult(
            restored: active.compactMap { $0.productIdentifier ?? $0.pricePointIdent }, paidFeatures: features,
            nothingToRestore: active.isEmpty)
    }

    private func user() throws -> UserId {
        guard let user = state.withLock({ $0.user }) else { throw PurchaseError(.noUserId) }
        return user
    }

    /// Of a question whose answer two others make, the older one's.
    public func answerOrigin(of operation: PurchaseOperation) -> AnswerOrigin? {
        state.withLock { $0.origins[operation] }
    }

    private func note(_ rows: [UnreadableRow]) { state.withLock { $0.unreadableRows = rows } }

    private func note<Value>(_ operation: PurchaseOperation, _ answer: Sourced<Value>) -> Value {
        state.withLock { $0.origins[operation] = answer.origin }
        return answer.value
    }
}

import BaseTestSupport
import Foundation
import Primitives
import Purchases

/// A plugin made of closures, with the protocol's defaults. It records every call.
final class StubPlugin: PurchasePlugin {
    struct Answers: Sendable {
        var logIn: @Sendable (UserId) async throws -> Void = { _ in }
        var logOut: @Sendable () async -> Void = {}
        var features: @Sendable () async throws -> Features = { Features() }
        var paidFeatures: @Sendable () async throws -> PaidFeatures = { PaidFeatures() }
        var subscriptions: @Sendable () async throws -> [Subscription] = { [] }
        var products: @Sendable ([String]) async throws -> Set<Product> = { _ in [] }
        var pricePoints: @Sendable (Set<String>) async throws -> [WebPricePoint] = { _ in [] }
        var offer: @Sendable () async -> PurchasePluginResult<PromoOffer, any Error> = { .notSupported }
        var purchase: @Sendable (Product) async -> PurchasePluginResult<SuccessfulPurchase, any Error> = { _ in
            .notSupported
        }
        var restore: @Sendable () async throws -> RestoreResult = {
            RestoreResult(restored: [], paidFeatures: PaidFeatures(), nothingToRestore: true)
        }
        var cancel: @Sendable (CancellationToken) async -> PurchasePluginResult<Void, any Error> = { _ in
            .notSupported
        }
        var restoreLink: @Sendable (String) async -> PurchasePluginResult<Void, any Error> = { _ in .notSupported }
        var redeem: @Sendable () async -> PurchasePluginResult<Void, any Error> = { .notSupported }
        /// The work of the operations that go to every plugin.
        var onBroadcast: @Sendable () async -> Void = {}
        var origin: @Sendable (PurchaseOperation) -> AnswerOrigin? = { _ in nil }
        /// The stored answers of a plugin that keeps its answers.
        var kept: (@Sendable () -> (paidFeatures: PaidFeatures, features: Features, asOf: Date)?)?
    }

    let name: String
    let appRequests: AppRequests? = AppRequests()
    private let answers: Locked<Answers>
    private let noted = Locked<[String]>([])
    private let changes = Broadcast<PaidFeatures>()

    init(_ name: String, _ configure: (inout Answers) -> Void = { _ in }) {
        var answers = Answers()
        configure(&answers)
        self.name = name
        self.answers = Locked(answers)
    }

    /// The calls, in order.
    var calls: [String] { noted.withLock { $0 } }

    func change(_ body: @Sendable (inout Answers) -> Void) { answers.withLock { body(&$0) } }

    func send(_ features: PaidFeatures) { changes.send(features) }

    var storesAnswers: Bool { answers.withLock { $0.kept != nil } }

    func storedAnswers() -> (paidFeatures: PaidFeatures, features: Features, asOf: Date)? {
        answer("storedAnswers").kept?()
    }

    private func answer(_ call: String) -> Answers {
        noted.withLock { $0.append(call) }
        return answers.withLock { $0 }
    }

    func logIn(appUserId: UserId) async throws {
        try await answer("logIn \(appUserId.stringValue)").logIn(appUserId)
    }

    func logOut() async { await answer("logOut").logOut() }
    func getFeatures() async throws -> Features { try await answer("features").features() }
    func getPaidFeatures() async throws -> PaidFeatures { try await answer("paidFeatures").paidFeatures() }
    func getSubscriptions() async throws -> [Subscription] { try await answer("subscriptions").subscriptions() }

    func getProductsAndPricePoints(with identifiers: [String]) async throws -> Set<Product> {
        try await answer("products").products(identifiers)
    }

    func getPromotionalOffer(
        for productDiscount: ProductDiscount, product: Product
    ) async -> PurchasePluginResult<PromoOffer, any Error> { await answer("offer").offer() }

    func purchase(
        _ product: Product, with promoOffer: PromoOffer?
    ) async -> PurchasePluginResult<SuccessfulPurchase, any Error> { await answer("purchase").purchase(product) }

    func restorePurchases() async throws -> RestoreResult { try await answer("restore").restore() }

    func cancelSubscription(with token: CancellationToken) async -> PurchasePluginResult<Void, any Error> {
        await answer("cancel").cancel(token)
    }

    func getWebPricePoints(with identifiers: Set<String>) async throws -> [WebPricePoint] {
        try await answer("pricePoints").pricePoints(identifiers)
    }

    func sendRestoreLink(to email: String) async -> PurchasePluginResult<Void, any Error> {
        await answer("restoreLink").restoreLink(email)
    }

    func presentCodeRedemptionUI() async -> PurchasePluginResult<Void, any Error> { await answer("redeem").redeem() }

    func setAttributes(_ attributes: [PurchaseAttribute: String?]) async {
        let text = attributes.map { "\($0.key.rawValue)=\($0.value ?? "nil")" }.sorted().joined(separator: " ")
        await answer("attributes \(text)").onBroadcast()
    }

    func collectDeviceIdentifiers() async { await answer("collect").onBroadcast() }
    func invalidatePaidFeaturesCache() async { await answer("invalidate").onBroadcast() }
    func paidFeaturesUpdates() -> AsyncStream<PaidFeatures> { changes.stream() }
    func answerOrigin(of operation: PurchaseOperation) -> AnswerOrigin? { answers.withLock { $0 }.origin(operation) }

    /// Offers a promoted product.
    func announce(_ product: Product) {
        appRequests?.offer(product) { await self.purchase(product, with: nil) }
    }
}

/// An error of a plugin.
struct Refusal: Error, Equatable {
    let number: Int
    init(_ number: Int = 0) { self.number = number }
}

/// Blocks all callers, even cancelled ones, until it is opened.
final class Gate: Sendable {
    private struct State {
        var isOpen = false
        var waiting: [CheckedContinuation<Void, Never>] = []
        var observers: [(count: Int, continuation: CheckedContinuation<Void, Never>)] = []
        var arrived = 0
    }

    private let state = Locked(State())

    func pass() async {
        await withCheckedContinuation { continuation in
            let resumed = state.withLock { state -> [CheckedContinuation<Void, Never>] in
                state.arrived += 1
                let met = state.observers.filter { $0.count <= state.arrived }.map(\.continuation)
                state.observers.removeAll { $0.count <= state.arrived }
                if state.isOpen { return met + [continuation] }
                state.waiting.append(continuation)
                return met
            }
            for continuation in resumed { continuation.resume() }
        }
    }

    func open() {
        let waiting = state.withLock { state in
            state.isOpen = true
            defer { state.waiting = [] }
            return state.waiting
        }
        for continuation in waiting { continuation.resume() }
    }

    /// Returns when `count` callers have arrived.
    func arrivals(_ count: Int = 1) async {
        await withCheckedContinuation { continuation in
            let isMet = state.withLock { state in
                if state.arrived >= count { return true }
                state.observers.append((count, continuation))
                return false
            }
            if isMet { continuation.resume() }
        }
    }
}

extension PaidFeatures {
    /// Returns one-off purchases of features with these names, each with its own transaction.
    static func of(_ names: String...) -> PaidFeatures {
        PaidFeatures(features: names.map { PaidFeature(name: $0, originalTransactionID: "of \($0)") })
    }

    var names: [String] { features.map(\.name) }
}

extension PurchaseClient {
    /// Returns a client with these plugins.
    static func with(
        _ plugins: any PurchasePlugin..., user: UserId? = nil, configuration: Configuration = .patient
    ) async throws -> PurchaseClient {
        let client = PurchaseClient(configuration: configuration)
        try await client.setup(with: plugins, appUserId: user)
        return client
    }
}

extension PurchaseClient.Configuration {
    /// A configuration whose deadlines do not pass in a test.
    static var patient: Self { Self(sleep: { _ in try await untilCancelled() }) }
}

import Foundation
import HTTPCore
import Primitives

/// The purchases a backend knows of, asked over the wire format of seed 000, which the entitlement server speaks too.
///
///     let plugin = RemotePurchasePlugin(
///         configuration: .init(baseURL: "https://purchases.example.com", key: "pk_…"), transport: CurlTransport())
///
/// It sells nothing itself: what belongs to one plugin it answers with `.notSupported`. Throws `PurchaseError`:
/// `noUserId` before a user is logged in, and what `EntitlementServiceClient` throws.
public final class RemotePurchasePlugin: PurchasePlugin {
    public struct Configuration: Sendable {
        /// For example `https://purchases.example.com`; a path is kept.
        public var baseURL: String
        public var key: APIKey
        /// Which answers are read; `nil` leaves it to the server.
        public var environment: StoreEnvironment?
        /// The plugin's name in reports.
        public var name = "remote"
        /// The deadline of one request; with its repetitions it stays below the purchase client's deadline of 30 seconds.
        public var timeout: Duration = .seconds(8)
        public var backoff = Backoff()
        public var maximumAnswerBytes = 8 << 20
        /// Tells what has begun and what has expired.
        public var clock: any WallClock = SystemClock()
        public var sleep: @Sendable (Duration) async throws -> Void = { try await Task.sleep(for: $0) }
        /// Spreads repetitions; from 0 to 1.
        public var random: @Sendable () -> Double = { .random(in: 0...1) }

        public init(baseURL: String, key: APIKey, environment: StoreEnvironment? = nil) {
            self.baseURL = baseURL
            self.key = key
            self.environment = environment
        }
    }

    public let name: String
    private let clock: any WallClock
    private let services: PaymentsAssembly
    private let state = Locked(State())

    private struct State {
        var user: UserId?
        var unreadableRows: [UnreadableRow] = []
    }

    public init(configuration: Configuration, transport: any HTTPTransport) {
        name = configuration.name
        clock = configuration.clock
        services = PaymentsAssembly(configuration: configuration, transport: transport)
    }

    /// The rows that the last answer about subscriptions held and this version could not read. The others were used.
    public var unreadableRows: [UnreadableRow] { state.withLock { $0.unreadableRows } }

    public func logIn(appUserId: UserId) async throws { state.withLock { $0.user = appUserId } }

    public func logOut() async { state.withLock { $0 = State() } }

    public func getFeatures() async throws -> Features {
        Features(try await services.featuresService.features(of: try user()))
    }

    public func getPaidFeatures() async throws -> PaidFeatures {
        try await services.paidFeaturesService.paidFeatures(of: try user(), report: note)
    }

    public func getSubscriptions() async throws -> [Subscription] {
        try await services.publicSubscriptionsService.subscriptions(of: try user(), at: clock.now(), report: note)
    }

    /// Asks the backend again; what is active is what was restored, by its product or price point.
    public func restorePurchases() async throws -> RestoreResult {
        let features = try await getPaidFeatures()
        let active = features.activeFeatures(at: clock.now())
        return RestoreResult(
            restored: active.compactMap { $0.productIdentifier ?? $0.pricePointIdent }, paidFeatures: features,
            nothingToRestore: active.isEmpty)
    }

    private func user() throws -> UserId {
        guard let user = state.withLock({ $0.user }) else { throw PurchaseError(.noUserId) }
        return user
    }

    private func note(_ rows: [UnreadableRow]) { state.withLock { $0.unreadableRows = rows } }
}

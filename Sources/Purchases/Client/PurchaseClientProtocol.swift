/// What an app asks about purchases, whoever sells them. `PurchaseClient` answers.
public protocol PurchaseClientProtocol: AnyObject, Sendable {
    /// The user for whom questions are answered; `nil` when nobody is logged in.
    var userId: UserId? { get }
    func setup(with plugins: [any PurchasePlugin], appUserId: UserId?) async throws
    @discardableResult func logIn(appUserId: UserId) async throws -> [PluginReport]
    func logOut() async
    func getFeatures(_ mode: ReadMode) async throws -> Features
    func getPaidFeatures(_ mode: ReadMode) async throws -> PaidFeatures
    func getSubscriptions(_ mode: ReadMode) async throws -> [Subscription]
    func getProductsAndPricePoints(with identifiers: [String], _ mode: ReadMode) async throws -> Set<Product>
    func getWebPricePoints(with identifiers: Set<String>, _ mode: ReadMode) async throws -> [WebPricePoint]
    func getPromotionalOffer(for productDiscount: ProductDiscount, product: Product) async throws -> PromoOffer
    func purchase(_ product: Product, with promoOffer: PromoOffer?) async throws -> SuccessfulPurchase
    func purchase(_ product: Product, quantity: Int) async throws -> SuccessfulPurchase
    func restorePurchases() async throws -> RestoreResult
    func cancelSubscription(with token: CancellationToken) async throws
    func sendRestoreLink(to email: String) async throws
    func presentCodeRedemptionUI() async throws
    func setAttributes(_ attributes: [PurchaseAttribute: String?]) async throws
    func collectDeviceIdentifiers() async throws
    func invalidatePaidFeaturesCache() async
    var paidFeaturesUpdates: AsyncStream<PaidFeatures> { get }
    var promotedPurchases: AsyncStream<BegunPurchase> { get }
    var urlsToOpen: AsyncStream<URLToOpen> { get }
    var diagnostics: AsyncStream<PurchaseDiagnostic> { get }
}

extension PurchaseClientProtocol {
    public func setup(with plugins: [any PurchasePlugin]) async throws {
        try await setup(with: plugins, appUserId: nil)
    }

    /// Best effort.
    public func getFeatures() async throws -> Features { try await getFeatures(.bestEffort) }

    /// Best effort.
    public func getPaidFeatures() async throws -> PaidFeatures { try await getPaidFeatures(.bestEffort) }

    /// Strict: a list from which a plugin is missing looks complete.
    public func getSubscriptions() async throws -> [Subscription] { try await getSubscriptions(.strict) }

    /// Strict: a list from which a plugin is missing looks complete.
    public func getProductsAndPricePoints(with identifiers: [String]) async throws -> Set<Product> {
        try await getProductsAndPricePoints(with: identifiers, .strict)
    }

    /// The products among `products` that any plugin sells. Strict unless `mode` says otherwise.
    public func getProductsAndPricePoints(
        with products: some Sequence<ProductID>, _ mode: ReadMode = .strict
    ) async throws -> Set<Product> {
        try await getProductsAndPricePoints(with: products.map(\.rawValue), mode)
    }

    /// Strict: a list from which a plugin is missing looks complete.
    public func getWebPricePoints(with identifiers: Set<String>) async throws -> [WebPricePoint] {
        try await getWebPricePoints(with: identifiers, .strict)
    }

    public func purchase(_ product: Product) async throws -> SuccessfulPurchase {
        try await purchase(product, with: nil)
    }
}

/// What a client of one's own, such as a double in a test, need not do.
extension PurchaseClientProtocol {
    public func getWebPricePoints(with identifiers: Set<String>, _ mode: ReadMode) async throws -> [WebPricePoint] {
        []
    }
    public func purchase(_ product: Product, quantity: Int) async throws -> SuccessfulPurchase {
        guard quantity == 1 else { throw PurchaseError(.noSuitablePlugin) }
        return try await purchase(product, with: nil)
    }
    public func sendRestoreLink(to email: String) async throws { throw PurchaseError(.noSuitablePlugin) }
    public func presentCodeRedemptionUI() async throws { throw PurchaseError(.noSuitablePlugin) }
    public func setAttributes(_ attributes: [PurchaseAttribute: String?]) async throws {}
    public func collectDeviceIdentifiers() async throws {}
    public func invalidatePaidFeaturesCache() async {}
    public var promotedPurchases: AsyncStream<BegunPurchase> { AsyncStream { $0.finish() } }
    public var urlsToOpen: AsyncStream<URLToOpen> { AsyncStream { $0.finish() } }
    public var diagnostics: AsyncStream<PurchaseDiagnostic> { AsyncStream { $0.finish() } }
}

/// What becomes of an answer to which not every plugin contributed.
public enum ReadMode: Hashable, Sendable {
    /// What the others said, and for features what the plugin itself had said last; throws when nobody said anything.
    case bestEffort
    /// Throws the first error, in the order of registration.
    case strict
}

/// Everybody's answer to one question, and how each plugin did.
public struct Collected<Value: Sendable>: Sendable {
    public var value: Value
    /// One per plugin asked, in the order of registration.
    public var reports: [PluginReport]

    public init(value: Value, reports: [PluginReport] = []) {
        self.value = value
        self.reports = reports
    }

    /// Whether every plugin answered.
    public var isComplete: Bool { reports.allSatisfy(\.didAnswer) }
}

/// The operations of a purchase client, which `PurchaseClient` implements. Tests can implement a double.
public protocol PurchaseClientProtocol: AnyObject, Sendable {
    /// The user that is logged in, or `nil`.
    var userId: UserId? { get }
    /// Adds the plugins, once, and logs the user in.
    ///
    /// - Parameters:
    ///   - plugins: The plugins, in the order of precedence.
    ///   - appUserId: The user to log in, or `nil`.
    /// - Throws: `PurchaseError` with the code `alreadySetUp`, or an error of `logIn(appUserId:)`.
    func setup(with plugins: [any PurchasePlugin], appUserId: UserId?) async throws
    /// Logs the user `appUserId` in at every plugin. Throws the first rejection.
    @discardableResult func logIn(appUserId: UserId) async throws -> [PluginReport]
    /// Logs the user out at every plugin.
    func logOut() async
    /// Returns the features that the user may use.
    ///
    /// - Parameter mode: The treatment of plugins that fail.
    /// - Returns: The features.
    /// - Throws: The error of a plugin, as `mode` requires.
    func getFeatures(_ mode: ReadMode) async throws -> Features
    /// Returns the features that the user paid for.
    ///
    /// - Parameter mode: The treatment of plugins that fail.
    /// - Returns: The paid features.
    /// - Throws: The error of a plugin, as `mode` requires.
    func getPaidFeatures(_ mode: ReadMode) async throws -> PaidFeatures
    /// Returns all subscriptions.
    ///
    /// - Parameter mode: The treatment of plugins that fail.
    /// - Returns: The subscriptions.
    /// - Throws: The error of a plugin, as `mode` requires.
    func getSubscriptions(_ mode: ReadMode) async throws -> [Subscription]
    /// Returns the products that the plugins sell.
    ///
    /// - Parameters:
    ///   - identifiers: The identifiers of the products.
    ///   - mode: The treatment of plugins that fail.
    /// - Returns: The products.
    /// - Throws: The error of a plugin, as `mode` requires.
    func getProductsAndPricePoints(with identifiers: [String], _ mode: ReadMode) async throws -> Set<Product>
    /// Returns the price points of web shops.
    ///
    /// - Parameters:
    ///   - identifiers: The identifiers of the price points.
    ///   - mode: The treatment of plugins that fail.
    /// - Returns: The price points.
    /// - Throws: The error of a plugin, as `mode` requires.
    func getWebPricePoints(with identifiers: Set<String>, _ mode: ReadMode) async throws -> [WebPricePoint]
    /// Returns the signed offer for a discount.
    ///
    /// - Parameters:
    ///   - productDiscount: The discount that the offer gives.
    ///   - product: The product that has the discount.
    /// - Returns: The signed offer.
    /// - Throws: The error of the plugin.
    func getPromotionalOffer(for productDiscount: ProductDiscount, product: Product) async throws -> PromoOffer
    /// Buys a product at the first plugin that sells it.
    ///
    /// - Parameters:
    ///   - product: The product to buy.
    ///   - promoOffer: The signed offer, or `nil`.
    /// - Returns: The purchase and the paid features.
    /// - Throws: The error of the plugin.
    func purchase(_ product: Product, with promoOffer: PromoOffer?) async throws -> SuccessfulPurchase
    /// Buys a quantity of a consumable in one payment.
    ///
    /// - Parameters:
    ///   - product: The product to buy.
    ///   - quantity: The number of units.
    /// - Returns: The purchase and the paid features.
    /// - Throws: The error of the plugin.
    func purchase(_ product: Product, quantity: Int) async throws -> SuccessfulPurchase
    /// Restores earlier purchases at every plugin.
    ///
    /// - Returns: The restored purchases.
    /// - Throws: The first error if nothing was restored and a plugin failed.
    func restorePurchases() async throws -> RestoreResult
    /// Turns off renewal at the plugin that the token names.
    ///
    /// - Parameter token: The token of the subscription.
    /// - Throws: The error of the plugin.
    func cancelSubscription(with token: CancellationToken) async throws
    /// Sends the customer an email with which they can restore their purchases.
    ///
    /// - Parameter email: The address of the customer.
    /// - Throws: The error of the plugin.
    func sendRestoreLink(to email: String) async throws
    /// Presents the sheet for offer codes and returns when it is closed.
    ///
    /// - Throws: The error of the plugin.
    func presentCodeRedemptionUI() async throws
    /// Passes attributes of the user to every plugin.
    ///
    /// - Parameter attributes: The values by name; `nil` removes a value.
    /// - Throws: `PurchaseError` with the code `notSetUp`.
    func setAttributes(_ attributes: [PurchaseAttribute: String?]) async throws
    /// Allows every plugin to identify the device, after the customer has agreed.
    ///
    /// - Throws: `PurchaseError` with the code `notSetUp`.
    func collectDeviceIdentifiers() async throws
    /// Clears the caches of every plugin.
    func invalidatePaidFeaturesCache() async
    /// The paid features of the user: the known value, if any, and then every change.
    var paidFeaturesUpdates: AsyncStream<PaidFeatures> { get }
    /// Purchases that customers began outside the app.
    var promotedPurchases: AsyncStream<PromotedPurchaseRequest> { get }
    /// Web pages that plugins must show to the customer.
    var urlsToOpen: AsyncStream<URLToOpen> { get }
    /// The requests to the plugins, with the origin and age of each answer.
    var diagnostics: AsyncStream<PurchaseDiagnostic> { get }
}

extension PurchaseClientProtocol {
    /// Adds the plugins, once, without a user.
    ///
    /// - Parameter plugins: The plugins, in the order of precedence.
    /// - Throws: `PurchaseError` with the code `alreadySetUp`.
    public func setup(with plugins: [any PurchasePlugin]) async throws {
        try await setup(with: plugins, appUserId: nil)
    }

    /// Returns the features that the user may use, with best effort.
    ///
    /// - Returns: The features.
    /// - Throws: The first error if no plugin has an answer.
    public func getFeatures() async throws -> Features { try await getFeatures(.bestEffort) }

    /// Returns the features that the user paid for, with best effort.
    ///
    /// - Returns: The paid features.
    /// - Throws: The first error if no plugin has an answer.
    public func getPaidFeatures() async throws -> PaidFeatures { try await getPaidFeatures(.bestEffort) }

    /// Returns all subscriptions. The mode is strict, because a list without the subscriptions of one plugin looks
    /// complete.
    ///
    /// - Returns: The subscriptions.
    /// - Throws: The first error of a plugin.
    public func getSubscriptions() async throws -> [Subscription] { try await getSubscriptions(.strict) }

    /// Returns the products that the plugins sell. The mode is strict, because a list without the products of one plugin
    /// looks complete.
    ///
    /// - Parameter identifiers: The identifiers of the products.
    /// - Returns: The products.
    /// - Throws: The first error of a plugin.
    public func getProductsAndPricePoints(with identifiers: [String]) async throws -> Set<Product> {
        try await getProductsAndPricePoints(with: identifiers, .strict)
    }

    /// Returns the products that the plugins sell.
    ///
    /// - Parameters:
    ///   - products: The identifiers of the products.
    ///   - mode: The treatment of plugins that fail.
    /// - Returns: The products.
    /// - Throws: The error of a plugin, as `mode` requires.
    public func getProductsAndPricePoints(
        with products: some Sequence<ProductID>, _ mode: ReadMode = .strict
    ) async throws -> Set<Product> {
        try await getProductsAndPricePoints(with: products.map(\.rawValue), mode)
    }

    /// Returns the price points of web shops. The mode is strict, because a list without the price points of one plugin
    /// looks complete.
    ///
    /// - Parameter identifiers: The identifiers of the price points.
    /// - Returns: The price points.
    /// - Throws: The first error of a plugin.
    public func getWebPricePoints(with identifiers: Set<String>) async throws -> [WebPricePoint] {
        try await getWebPricePoints(with: identifiers, .strict)
    }

    /// Buys a product without an offer, at the first plugin that sells it.
    ///
    /// - Parameter product: The product to buy.
    /// - Returns: The purchase and the paid features.
    /// - Throws: The error of the plugin.
    public func purchase(_ product: Product) async throws -> SuccessfulPurchase {
        try await purchase(product, with: nil)
    }
}

/// Default implementations of operations that a custom client, such as a test double, need not support.
extension PurchaseClientProtocol {
    /// Returns no price points.
    ///
    /// - Parameters:
    ///   - identifiers: The identifiers of the price points.
    ///   - mode: The treatment of plugins that fail.
    /// - Returns: An empty array.
    /// - Throws: Nothing.
    public func getWebPricePoints(with identifiers: Set<String>, _ mode: ReadMode) async throws -> [WebPricePoint] {
        []
    }
    /// Buys one unit like `purchase(_:with:)`. Refuses any other quantity.
    ///
    /// - Parameters:
    ///   - product: The product to buy.
    ///   - quantity: The number of units.
    /// - Returns: The purchase and the paid features.
    /// - Throws: The error of the plugin, or `PurchaseError` with the code `noSuitablePlugin`.
    public func purchase(_ product: Product, quantity: Int) async throws -> SuccessfulPurchase {
        guard quantity == 1 else { throw PurchaseError(.noSuitablePlugin) }
        return try await purchase(product, with: nil)
    }
    /// Throws `noSuitablePlugin`.
    ///
    /// - Parameter email: The address of the customer.
    /// - Throws: `PurchaseError` with the code `noSuitablePlugin`.
    public func sendRestoreLink(to email: String) async throws { throw PurchaseError(.noSuitablePlugin) }
    /// Throws `noSuitablePlugin`.
    ///
    /// - Throws: `PurchaseError` with the code `noSuitablePlugin`.
    public func presentCodeRedemptionUI() async throws { throw PurchaseError(.noSuitablePlugin) }
    /// Does nothing with `attributes`.
    ///
    /// - Throws: Nothing.
    public func setAttributes(_ attributes: [PurchaseAttribute: String?]) async throws {}
    /// Does nothing.
    ///
    /// - Throws: Nothing.
    public func collectDeviceIdentifiers() async throws {}
    /// Does nothing.
    public func invalidatePaidFeaturesCache() async {}
    /// An empty stream.
    public var promotedPurchases: AsyncStream<PromotedPurchaseRequest> { AsyncStream { $0.finish() } }
    /// An empty stream.
    public var urlsToOpen: AsyncStream<URLToOpen> { AsyncStream { $0.finish() } }
    /// An empty stream.
    public var diagnostics: AsyncStream<PurchaseDiagnostic> { AsyncStream { $0.finish() } }
}

/// The treatment of plugins that fail during a read.
public enum ReadMode: Hashable, Sendable {
    /// Merges the answers of the other plugins. For features, it also uses the last answer of the plugin that failed.
    /// Throws if no plugin has an answer.
    case bestEffort
    /// Throws the first error, in the order of registration.
    case strict
}

/// The merged answer to a read, with a report of each plugin.
public struct Collected<Value: Sendable>: Sendable {
    /// The merged answer.
    public var value: Value
    /// A report of each plugin, in the order of registration.
    public var reports: [PluginReport]

    /// Creates a merged answer.
    ///
    /// - Parameters:
    ///   - value: The merged answer.
    ///   - reports: A report of each plugin, in the order of registration.
    public init(value: Value, reports: [PluginReport] = []) {
        self.value = value
        self.reports = reports
    }

    /// Whether every plugin answered.
    public var isComplete: Bool { reports.allSatisfy(\.didAnswer) }
}

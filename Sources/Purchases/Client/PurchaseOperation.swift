import Primitives

/// An operation of a `PurchaseClient`.
///
/// `all` is the table in Documentation/Purchases.md. The rule of an operation decides which plugins are called, how
/// answers are merged, and what happens after an error.
public struct PurchaseOperation: Hashable, Sendable {
    /// The name of the client's method.
    public let name: String
    let rule: MergeRule

    /// Log in a user.
    public static let logIn = PurchaseOperation(name: "logIn", rule: .toAllPlugins(failure: .rollsBack))
    /// Log out the user.
    public static let logOut = PurchaseOperation(name: "logOut", rule: .toAllPlugins(failure: .isReported))
    /// Read the features that the user may use.
    public static let getFeatures = reading("getFeatures", Features.self, failure: .lastAnswerCounts)
    /// Read the features that the user paid for.
    public static let getPaidFeatures = reading("getPaidFeatures", PaidFeatures.self, failure: .lastAnswerCounts)
    /// Read the subscriptions.
    public static let getSubscriptions = reading("getSubscriptions", [Subscription].self, failure: .failsAll)
    /// Read the products.
    public static let getProductsAndPricePoints = reading(
        "getProductsAndPricePoints", Set<Product>.self, failure: .failsAll)
    /// Read the price points of web shops.
    public static let getWebPricePoints = reading("getWebPricePoints", [WebPricePoint].self, failure: .failsAll)
    /// Restore earlier purchases.
    public static let restorePurchases = reading("restorePurchases", PaidFeatures.self, failure: .othersCount)
    /// Get a signed offer.
    public static let getPromotionalOffer = PurchaseOperation(
        name: "getPromotionalOffer", rule: .ofOne(failure: .isFinal))
    /// Buy a product.
    public static let purchase = PurchaseOperation(
        name: "purchase", rule: .ofOne(failure: .isFinal, hasDeadline: false, after: .othersFeatures))
    /// Make a purchase that began outside the app.
    public static let promotedPurchase = PurchaseOperation(
        name: "promotedPurchases",
        rule: .ofOne(called: .announcer, failure: .isFinal, hasDeadline: false, after: .othersFeatures))
    /// Turn off the renewal of a subscription.
    public static let cancelSubscription = PurchaseOperation(
        name: "cancelSubscription", rule: .ofOne(failure: .isFinal))
    /// Send an email with which the customer can restore their purchases.
    public static let sendRestoreLink = PurchaseOperation(name: "sendRestoreLink", rule: .ofOne(failure: .isFinal))
    /// Present the sheet for offer codes.
    public static let presentCodeRedemptionUI = PurchaseOperation(
        name: "presentCodeRedemptionUI", rule: .ofOne(failure: .callsNext, hasDeadline: false))
    /// Pass attributes of the user to the plugins.
    public static let setAttributes = PurchaseOperation(
        name: "setAttributes", rule: .toAllPlugins(failure: .isReported))
    /// Allow the plugins to identify the device.
    public static let collectDeviceIdentifiers = PurchaseOperation(
        name: "collectDeviceIdentifiers", rule: .toAllPlugins(failure: .isReported))
    /// Clear the caches of the plugins.
    public static let invalidatePaidFeaturesCache = PurchaseOperation(
        name: "invalidatePaidFeaturesCache", rule: .toAllPlugins(failure: .isReported))

    /// All operations.
    public static let all: [PurchaseOperation] = [
        .logIn, .logOut, .getFeatures, .getPaidFeatures, .getSubscriptions, .getProductsAndPricePoints,
        .getWebPricePoints, .restorePurchases, .getPromotionalOffer, .purchase, .promotedPurchase,
        .cancelSubscription, .sendRestoreLink, .presentCodeRedemptionUI, .setAttributes, .collectDeviceIdentifiers,
        .invalidatePaidFeaturesCache,
    ]

    private static func reading<Value: MergedAnswer>(
        _ name: String, _: Value.Type, failure: MergeRule.Failure
    ) -> PurchaseOperation {
        let rule = MergeRule(
            called: .allPlugins, merged: Value.merging, failure: failure, hasDeadline: true, after: .nothing)
        return PurchaseOperation(name: name, rule: rule)
    }
}

/// The rule of an operation: the plugins that it calls, the merge of their answers, and the effect of an error. The
/// strings are those of the table in the documentation.
struct MergeRule: Hashable, Sendable {
    enum Called: String {
        case allPlugins = "all plugins, concurrently"
        case inOrder = "one after another, until one handles it"
        case announcer = "the plugin that announced it"
    }

    /// The merge of several values, always in the order of registration.
    enum Merging: String {
        case eachPurchaseOnce = "each purchase once"
        case eachOnce = "each once"
        case nothing = "–"
    }

    /// The effect of a plugin's error.
    enum Failure: String {
        case lastAnswerCounts = "its last answer is used"
        case othersCount = "the others' restored purchases are used"
        case failsAll = "it is thrown"
        case isFinal = "it is thrown, and no other plugin is called"
        case callsNext = "the next plugin is called"
        case rollsBack = "a rejection logs the user out everywhere"
        case isReported = "it is only reported"
    }

    /// The action after a success.
    enum After: String {
        case othersFeatures = "the others' features are added"
        case nothing = "–"
    }

    let called: Called
    let merged: Merging
    let failure: Failure
    /// Whether a plugin has a deadline. Operations in which the customer does something have none.
    let hasDeadline: Bool
    let after: After

    static func toAllPlugins(failure: Failure) -> MergeRule {
        MergeRule(called: .allPlugins, merged: .nothing, failure: failure, hasDeadline: true, after: .nothing)
    }

    static func ofOne(
        called: Called = .inOrder, failure: Failure, hasDeadline: Bool = true, after: After = .nothing
    ) -> MergeRule {
        MergeRule(called: called, merged: .nothing, failure: failure, hasDeadline: hasDeadline, after: after)
    }

    /// The default mode of a read. Features and restored purchases of some plugins are useful without those of the
    /// others. A list without the entries of one plugin looks complete, so its mode is strict.
    var mode: ReadMode { failure == .failsAll ? .strict : .bestEffort }
}

/// An answer that is merged from several plugins.
protocol MergedAnswer: Equatable, Sendable {
    static var merging: MergeRule.Merging { get }
    /// The session's store of the last answers, or `nil` for answers that are not stored.
    static var memory: WritableKeyPath<PurchaseSession, LastAnswers<Self>>? { get }
    init()
    func merged(with other: Self) -> Self
    /// The answer in the form that is used while the plugin cannot be reached.
    var asLastKnown: Self { get }
}

extension MergedAnswer {
    static var memory: WritableKeyPath<PurchaseSession, LastAnswers<Self>>? { nil }
    var asLastKnown: Self { self }
}

extension PaidFeatures: MergedAnswer {
    static var merging: MergeRule.Merging { .eachPurchaseOnce }
    static var memory: WritableKeyPath<PurchaseSession, LastAnswers<PaidFeatures>>? { \.paidFeatures }
    init() { self.init(features: []) }
}

extension Features: MergedAnswer {
    static var merging: MergeRule.Merging { .eachOnce }
    static var memory: WritableKeyPath<PurchaseSession, LastAnswers<Features>>? { \.features }
    init() { self.init(features: []) }
}

extension Set<Product>: MergedAnswer {
    static var merging: MergeRule.Merging { .eachOnce }
    func merged(with other: Set<Product>) -> Set<Product> { union(other) }
}

/// Lists are concatenated. If two entries have the same identity, the first one counts.
extension Array: MergedAnswer where Element: ListedAnswer {
    static var merging: MergeRule.Merging { Element.merging }

    func merged(with other: [Element]) -> [Element] {
        var seen = Set(compactMap(\.identity))
        return self + other.filter { $0.identity.map { seen.insert($0).inserted } ?? true }
    }
}

/// An entry of a list that is merged from several plugins.
protocol ListedAnswer: Equatable, Sendable {
    associatedtype Identity: Hashable
    static var merging: MergeRule.Merging { get }
    /// A value that two reports of the same purchase or price point share, or `nil` if it is unknown.
    var identity: Identity? { get }
}

extension Subscription: ListedAnswer {
    struct Purchase: Hashable {
        let origin: Origin
        let transaction: ExactString
    }

    static var merging: MergeRule.Merging { .eachPurchaseOnce }
    var identity: Purchase? { originalTransactionID.map { Purchase(origin: type, transaction: ExactString($0)) } }
}

extension WebPricePoint: ListedAnswer {
    static var merging: MergeRule.Merging { .eachOnce }
    var identity: WebPricePoint? { self }
}

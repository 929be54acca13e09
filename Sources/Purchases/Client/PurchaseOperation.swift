import Primitives

/// What a `PurchaseClient` can be asked or told.
///
/// `all` is the table of Documentation/Purchases.md: the client asks, joins and forgives as an operation's rule says.
public struct PurchaseOperation: Hashable, Sendable {
    /// The name of the client's method.
    public let name: String
    let rule: MergeRule

    public static let logIn = PurchaseOperation(name: "logIn", rule: .toEverybody(failure: .rollsBack))
    public static let logOut = PurchaseOperation(name: "logOut", rule: .toEverybody(failure: .isReported))
    public static let getFeatures = reading("getFeatures", Features.self, failure: .lastAnswerCounts)
    public static let getPaidFeatures = reading("getPaidFeatures", PaidFeatures.self, failure: .lastAnswerCounts)
    public static let getSubscriptions = reading("getSubscriptions", [Subscription].self, failure: .failsAll)
    public static let getProductsAndPricePoints = reading(
        "getProductsAndPricePoints", Set<Product>.self, failure: .failsAll)
    public static let getWebPricePoints = reading("getWebPricePoints", [WebPricePoint].self, failure: .failsAll)
    public static let restorePurchases = reading("restorePurchases", PaidFeatures.self, failure: .othersStand)
    public static let getPromotionalOffer = PurchaseOperation(
        name: "getPromotionalOffer", rule: .ofOne(failure: .decides))
    public static let purchase = PurchaseOperation(
        name: "purchase", rule: .ofOne(failure: .decides, hasDeadline: false, after: .othersFeatures))
    public static let promotedPurchase = PurchaseOperation(
        name: "promotedPurchases",
        rule: .ofOne(asked: .whoAnnounced, failure: .decides, hasDeadline: false, after: .othersFeatures))
    public static let cancelSubscription = PurchaseOperation(
        name: "cancelSubscription", rule: .ofOne(failure: .decides))
    public static let sendRestoreLink = PurchaseOperation(name: "sendRestoreLink", rule: .ofOne(failure: .decides))
    public static let presentCodeRedemptionUI = PurchaseOperation(
        name: "presentCodeRedemptionUI", rule: .ofOne(failure: .passesOn, hasDeadline: false))
    public static let setAttributes = PurchaseOperation(
        name: "setAttributes", rule: .toEverybody(failure: .isReported))
    public static let collectDeviceIdentifiers = PurchaseOperation(
        name: "collectDeviceIdentifiers", rule: .toEverybody(failure: .isReported))
    public static let invalidatePaidFeaturesCache = PurchaseOperation(
        name: "invalidatePaidFeaturesCache", rule: .toEverybody(failure: .isReported))

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
            asked: .everybody, joined: Value.joining, failure: failure, hasDeadline: true, after: .nothing)
        return PurchaseOperation(name: name, rule: rule)
    }
}

/// How the answers of several plugins become one. The words of the cases are those of the documentation.
struct MergeRule: Hashable, Sendable {
    enum Asked: String {
        case everybody = "everybody, at once"
        case inOrder = "one by one, until one takes it"
        case whoAnnounced = "who announced it"
    }

    /// What becomes of several values; always in the order of registration.
    enum Joining: String {
        case eachPurchaseOnce = "each purchase once"
        case eachOnce = "each once"
        case nothing = "–"
    }

    /// What a plugin's error does.
    enum Failure: String {
        case lastAnswerCounts = "what it said last counts"
        case othersStand = "what the others restored stands"
        case failsAll = "it is thrown"
        case decides = "it is thrown, and nobody else is asked"
        case passesOn = "the next is asked"
        case rollsBack = "a rejection logs everybody out"
        case isReported = "it is reported, nothing more"
    }

    /// What follows a success.
    enum After: String {
        case othersFeatures = "the others' features are added"
        case nothing = "–"
    }

    let asked: Asked
    let joined: Joining
    let failure: Failure
    /// Whether a plugin has only so long to answer; where the customer has to do something, it has not.
    let hasDeadline: Bool
    let after: After

    static func toEverybody(failure: Failure) -> MergeRule {
        MergeRule(asked: .everybody, joined: .nothing, failure: failure, hasDeadline: true, after: .nothing)
    }

    static func ofOne(
        asked: Asked = .inOrder, failure: Failure, hasDeadline: Bool = true, after: After = .nothing
    ) -> MergeRule {
        MergeRule(asked: asked, joined: .nothing, failure: failure, hasDeadline: hasDeadline, after: after)
    }

    /// How a question is asked by who does not say: features and what was restored are best had in part, while a list
    /// from which a plugin is missing looks complete.
    var mode: ReadMode { failure == .failsAll ? .strict : .bestEffort }
}

/// An answer that plugins give together.
protocol MergedAnswer: Equatable, Sendable {
    static var joining: MergeRule.Joining { get }
    /// Where a session keeps what each plugin said last; `nil` for answers that it does not keep.
    static var memory: WritableKeyPath<PurchaseSession, LastAnswers<Self>>? { get }
    init()
    func merged(with other: Self) -> Self
    /// The same, as it counts when the plugin cannot be asked any more.
    var asLastKnown: Self { get }
}

extension MergedAnswer {
    static var memory: WritableKeyPath<PurchaseSession, LastAnswers<Self>>? { nil }
    var asLastKnown: Self { self }
}

extension PaidFeatures: MergedAnswer {
    static var joining: MergeRule.Joining { .eachPurchaseOnce }
    static var memory: WritableKeyPath<PurchaseSession, LastAnswers<PaidFeatures>>? { \.paidFeatures }
    init() { self.init(features: []) }
}

extension Features: MergedAnswer {
    static var joining: MergeRule.Joining { .eachOnce }
    static var memory: WritableKeyPath<PurchaseSession, LastAnswers<Features>>? { \.features }
    init() { self.init(features: []) }
}

extension Set<Product>: MergedAnswer {
    static var joining: MergeRule.Joining { .eachOnce }
    func merged(with other: Set<Product>) -> Set<Product> { union(other) }
}

/// Lists are joined one after the other; of two reports of one thing the first stands.
extension Array: MergedAnswer where Element: ListedAnswer {
    static var joining: MergeRule.Joining { Element.joining }

    func merged(with other: [Element]) -> [Element] {
        var seen = Set(compactMap(\.identity))
        return self + other.filter { $0.identity.map { seen.insert($0).inserted } ?? true }
    }
}

/// One entry of a list that plugins give together.
protocol ListedAnswer: Equatable, Sendable {
    associatedtype Identity: Hashable
    static var joining: MergeRule.Joining { get }
    /// The same in two reports of one thing; `nil` when that cannot be told.
    var identity: Identity? { get }
}

extension Subscription: ListedAnswer {
    struct Purchase: Hashable {
        let origin: Origin
        let transaction: ExactString
    }

    static var joining: MergeRule.Joining { .eachPurchaseOnce }
    var identity: Purchase? { originalTransactionID.map { Purchase(origin: type, transaction: ExactString($0)) } }
}

extension WebPricePoint: ListedAnswer {
    static var joining: MergeRule.Joining { .eachOnce }
    var identity: WebPricePoint? { self }
}

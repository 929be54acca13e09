import Foundation
import GooglePlay
import Primitives
import StoreModel

/// The products of an app on Google Play: a JSON file whose products, subscriptions and offers have the form of Google's
/// monetization resources.
///
///     let catalogue = try PlayCatalogue(parsing: bytes, file: "play.json")
///     catalogue.subscription("plus")?.basePlans.map(\.id)      // ["monthly", "yearly"]
package struct PlayCatalogue: Sendable, Equatable {
    package let packageName: PackageName
    /// The region of accounts whose purchase names no other one (ISO 3166-1 alpha-2).
    package let regionCode: String
    let products: [PlayProduct]
    let subscriptions: [PlaySubscriptionProduct]
    /// The findings that are warnings.
    package let warnings: [CatalogueFinding]

    init(
        packageName: PackageName, regionCode: String, products: [PlayProduct],
        subscriptions: [PlaySubscriptionProduct], warnings: [CatalogueFinding]
    ) {
        self.packageName = packageName
        self.regionCode = regionCode
        self.products = products
        self.subscriptions = subscriptions
        self.warnings = warnings
    }

    /// Reads a catalogue. Throws `CatalogueError`, which lists all errors of the file.
    package init(parsing bytes: [UInt8], file: String) throws {
        var reader = PlayCatalogueReader(file: file)
        guard let catalogue = reader.read(bytes) else { throw CatalogueError(findings: reader.findings) }
        self = catalogue
    }

    /// Returns all findings in a file, in its order.
    package static func lint(_ bytes: [UInt8], file: String) -> [CatalogueFinding] {
        var reader = PlayCatalogueReader(file: file)
        _ = reader.read(bytes)
        return reader.findings
    }

    /// Returns whether a JSON document is meant to be a catalogue of Google Play.
    package static func recognizes(_ document: JSONValue) -> Bool {
        ["packageName", "oneTimeProducts"].contains { document[$0] != nil }
            || document["subscriptions"]?[0]?["basePlans"] != nil
    }

    /// Whether the catalogue has no product.
    package var isEmpty: Bool { products.isEmpty && subscriptions.isEmpty }

    func product(_ id: ProductID) -> PlayProduct? { products.first { $0.id == id } }

    func subscription(_ id: ProductID) -> PlaySubscriptionProduct? { subscriptions.first { $0.id == id } }
}

/// The price in a region where the item is sold.
struct PlayPrice: Sendable, Equatable {
    var regionCode: String
    var price: AndroidPublisher.Money
}

extension [PlayPrice] {
    func price(in region: String) -> AndroidPublisher.Money? {
        first { $0.regionCode.hasSameBytes(as: region) }?.price
    }
}

/// A one-time product. Whether it is consumed is the app's decision.
struct PlayProduct: Sendable, Equatable {
    var id: ProductID
    var title: String
    var options: [Option]
    var offers: [Offer] = []

    /// A discounted offer of a purchase option.
    struct Offer: Sendable, Equatable {
        var id: String
        var optionID: String
        var isActive: Bool
        var tags: [String]
        /// The beginning and the end of the sale; `nil` without a limit.
        var start: Date?
        var end: Date?
        /// The number of times that an account can use the offer; 0 without a limit.
        var redemptionLimit: Int
        var prices: [PlayPrice]

        func isSold(at instant: Date) -> Bool {
            isActive && instant >= start ?? .distantPast && instant < end ?? .distantFuture
        }
    }

    /// A purchase option.
    struct Option: Sendable, Equatable {
        var id: String
        var allowsSeveral: Bool
        var isActive: Bool
        var tags: [String]
        var prices: [PlayPrice]
    }
}

struct PlaySubscriptionProduct: Sendable, Equatable {
    var id: ProductID
    var title: String
    var basePlans: [PlayBasePlan]
    var offers: [PlayOffer]
}

struct PlayBasePlan: Sendable, Equatable {
    /// How the plan is paid. The set is closed by Google's resource.
    enum Kind: String, Sendable, Codable { case autoRenewing, prepaid, installments }

    var id: String
    var kind: Kind
    var period: SubscriptionPeriod
    var graceDays = 0
    var holdDays = 0
    /// The payments of a commitment; 0 without one.
    var committedPayments = 0
    var renewsWithCommitment = false
    var allowsExtension = true
    var isActive = true
    var tags: [String] = []
    var prices: [PlayPrice] = []
}

struct PlayOffer: Sendable, Equatable {
    /// The customers who may use the offer.
    enum Audience: Sendable, Equatable {
        /// The app decides.
        case anyone
        /// Customers who never had this subscription.
        case newToSubscription
        /// Customers who never had any subscription of the app.
        case newToApp
        /// Customers who have a subscription: this one, or the named one.
        case upgrade(from: ProductID, period: SubscriptionPeriod?, isOncePerUser: Bool)
    }

    var id: String
    var basePlanID: String
    var phases: [Phase]
    var audience: Audience
    var isActive: Bool
    var tags: [String]

    struct Phase: Sendable, Equatable {
        var duration: SubscriptionPeriod
        var count: Int
        /// The price of each recurrence, 0 if it is free.
        var prices: [PlayPrice]
    }
}

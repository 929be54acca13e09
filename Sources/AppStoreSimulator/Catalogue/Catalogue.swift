import Foundation
import Primitives
import StoreModel

/// What an app sells: an Xcode StoreKit configuration file (`.storekit`, versions 1 to 5).
///
///     let catalogue = try Catalogue(parsing: bytes, file: "Darkroom.storekit")
///     catalogue.storeProducts.map(\.displayPrice)          // ["€14.99", …]
///
/// Fields that are not known stay in `document` and are otherwise ignored.
public struct Catalogue: Sendable, Equatable {
    /// The file as it came.
    public let document: JSONValue
    /// The country's store in which it sells (`_storefront` and `_locale` of the settings).
    public let storefront: Storefront
    /// Everything sold, in the order of the file: products, non-renewing subscriptions, then group by group.
    public let items: [CatalogueItem]
    /// What the file left doubtful.
    public let warnings: [CatalogueFinding]
    private let places: [ProductID: Int]

    init(document: JSONValue, storefront: Storefront, items: [CatalogueItem], warnings: [CatalogueFinding]) {
        self.document = document
        self.storefront = storefront
        self.items = items
        self.warnings = warnings
        places = Dictionary(items.enumerated().map { ($1.id, $0) }, uniquingKeysWith: { first, _ in first })
    }

    /// Reads a catalogue; `file` names it in findings.
    ///
    /// Throws `CatalogError` with all findings when at least one is an error.
    public init(parsing bytes: [UInt8], file: String) throws(CatalogError) {
        var reader = CatalogueReader(file: file)
        guard let catalogue = reader.read(bytes) else { throw CatalogError(findings: reader.findings) }
        self = catalogue
    }

    /// Everything wrong or doubtful in a file, in its order; empty when there is nothing.
    public static func lint(_ bytes: [UInt8], file: String) -> [CatalogueFinding] {
        var reader = CatalogueReader(file: file)
        _ = reader.read(bytes)
        return reader.findings
    }

    /// Whether a JSON document is meant to be a catalogue, as opposed to a product list or a feature map.
    public static func recognizes(_ document: JSONValue) -> Bool {
        ["products", "subscriptionGroups", "nonRenewingSubscriptions"].contains { document[$0] != nil }
    }

    public subscript(id: ProductID) -> CatalogueItem? { places[id].map { items[$0] } }

    /// The products as the storefront shows them.
    public var storeProducts: [StoreProduct] {
        let writer = PriceWriter(storefront: storefront)
        return items.map { $0.storeProduct(in: storefront, writer) }
    }

    /// The app's product list (the JSON of the SDK's `StoreConfiguration`), in the order of the catalogue. Products of
    /// an unknown type are left out: the list has no word for them.
    public var productList: JSONValue {
        .array(
            items.compactMap { item in
                guard let type = Self.productTypes[item.kind] else { return nil }
                return [
                    "identifier": .string(item.id.rawValue), "productType": .string(type), "isSubscribersOnly": false,
                ]
            })
    }

    private static let productTypes: [StoreProduct.Kind: String] = [
        .consumable: "consumable", .nonConsumable: "nonConsumable",
        .autoRenewableSubscription: "renewableSubscription", .nonRenewingSubscription: "nonRenewingSubscription",
    ]
}

/// One product of a catalogue.
public struct CatalogueItem: Sendable, Hashable {
    public var id: ProductID
    public var kind: StoreProduct.Kind
    public var price: Price
    public var referenceName: String?
    public var localizations: [Localization]
    public var isFamilyShareable: Bool
    /// Present for auto-renewable subscriptions.
    public var subscription: SubscriptionTerms?
    /// Offers redeemed with a code, and offers to win customers back: kept, not sold.
    public var codeOffers: [Offer]
    public var winBackOffers: [Offer]

    /// A product's name in one language.
    public struct Localization: Sendable, Hashable {
        public var locale: String
        public var displayName: String
        public var description: String
    }

    /// The texts for `locale`: the same locale, else the same language, else English, else the first there are.
    public func localization(for locale: String) -> Localization? {
        let wanted = Self.canonical(locale)
        return localizations.first { Self.canonical($0.locale) == wanted }
            ?? localizations.first { Self.language($0.locale) == Self.language(locale) }
            ?? localizations.first { Self.language($0.locale) == "en" }
            ?? localizations.first
    }

    private static func canonical(_ locale: String) -> String {
        locale.replacingOccurrences(of: "-", with: "_").lowercased()
    }

    private static func language(_ locale: String) -> String {
        canonical(locale).split(separator: "_").first.map(String.init) ?? ""
    }

    func storeProduct(in storefront: Storefront, _ writer: PriceWriter) -> StoreProduct {
        let texts = localization(for: storefront.locale)
        let names = [texts?.displayName, referenceName, id.rawValue].compactMap(\.self)
        return StoreProduct(
            id: id, kind: kind, price: price, displayPrice: writer.text(price.amount),
            displayName: names.first { !$0.isEmpty } ?? id.rawValue, description: texts?.description ?? "",
            isFamilyShareable: isFamilyShareable, subscription: subscription)
    }
}

/// Writes prices as a storefront does: `$4.99`, `4,99 €`, `¥980`.
struct PriceWriter {
    private let formatter: NumberFormatter
    private let currency: String

    init(storefront: Storefront) {
        formatter = NumberFormatter()
        formatter.numberStyle = .currency
        formatter.locale = Locale(identifier: storefront.locale)
        formatter.currencyCode = storefront.currency
        currency = storefront.currency
    }

    func text(_ amount: Decimal) -> String {
        formatter.string(from: NSDecimalNumber(decimal: amount)) ?? "\(amount) \(currency)"
    }
}

import Foundation
import Primitives
import StoreModel

/// One product of a catalogue.
public struct CatalogueItem: Sendable, Hashable {
    public var id: ProductID
    public var kind: StoreProduct.Kind
    public var price: Price
    public var referenceName: String?
    /// Apple's number of the product, or the one Xcode made up.
    public var internalID: String?
    public var localizations: [CatalogueText]
    public var isFamilyShareable: Bool
    /// Present for auto-renewable subscriptions. Its offers are those of the plan that is paid up front.
    public var subscription: SubscriptionTerms?
    /// Of a subscription: every introductory offer, one for each way of billing.
    public var introductoryOffers: [CatalogueOffer]
    /// Of a subscription: every promotional offer (`adHocOffers`), those with a repeated identifier included.
    public var promotionalOffers: [CatalogueOffer]
    /// Offers redeemed with a code.
    public var codeOffers: [CodeOffer]
    /// Offers to customers whose subscription has expired.
    public var winBackOffers: [WinBackOffer]
    /// The ways in which a subscription is billed (version 5); empty when the file has only the one price.
    public var billingPlans: [BillingPlan]
    /// Where the product stands in the document (RFC 6901).
    public var pointer: String

    /// The texts for `locale`: the same locale, else the same language, else English, else the first there are.
    public func localization(for locale: String) -> CatalogueText? { localizations.best(for: locale) }

    func storeProduct(in storefront: Storefront, _ writer: PriceWriter) -> StoreProduct {
        let texts = localization(for: storefront.locale)
        let names = [texts?.displayName, referenceName, id.rawValue].compactMap(\.self)
        return StoreProduct(
            id: id, kind: kind, price: price, displayPrice: writer.text(price.amount),
            displayName: names.first { !$0.isEmpty } ?? id.rawValue, description: texts?.description ?? "",
            isFamilyShareable: isFamilyShareable, subscription: subscription)
    }
}

/// A product's or a group's name in one language.
public struct CatalogueText: Sendable, Hashable {
    public var locale: String
    public var displayName: String
    public var description: String

    public init(locale: String, displayName: String, description: String) {
        self.locale = locale
        self.displayName = displayName
        self.description = description
    }
}

extension [CatalogueText] {
    /// The same locale, else the same language, else English, else the first.
    func best(for locale: String) -> CatalogueText? {
        let wanted = Self.canonical(locale)
        return first { Self.canonical($0.locale) == wanted }
            ?? first { Self.language($0.locale) == Self.language(locale) }
            ?? first { Self.language($0.locale) == "en" }
            ?? first
    }

    private static func canonical(_ locale: String) -> String {
        locale.replacingOccurrences(of: "-", with: "_").lowercased()
    }

    private static func language(_ locale: String) -> String {
        canonical(locale).split(separator: "_").first.map(String.init) ?? ""
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

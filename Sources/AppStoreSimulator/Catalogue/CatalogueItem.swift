import Foundation
import Primitives
import StoreModel

/// One product of a catalogue.
package struct CatalogueItem: Sendable, Hashable {
    package var id: ProductID
    package var kind: ProductType
    package var price: Price
    package var referenceName: String?
    /// Apple's number of the product, or the one Xcode made up.
    package var internalID: String?
    package var localizations: [CatalogueText]
    package var isFamilyShareable: Bool
    /// Present for auto-renewable subscriptions. Its offers are those of the plan that is paid up front.
    package var subscription: SubscriptionTerms?
    /// Of a subscription: every introductory offer, one for each way of billing.
    package var introductoryOffers: [CatalogueOffer]
    /// Of a subscription: every promotional offer (`adHocOffers`), those with a repeated identifier included.
    package var promotionalOffers: [CatalogueOffer]
    /// Offers redeemed with a code.
    package var offerCodes: [OfferCode]
    /// Offers to customers whose subscription has expired.
    package var winBackOffers: [WinBackOffer]
    /// The ways in which a subscription is billed (version 5); empty when the file has only the one price.
    package var billingPlans: [BillingPlan]
    /// Where the product stands in the document (RFC 6901).
    package var pointer: String

    /// The texts for `locale`: the same locale, else the same language, else English, else the first there are.
    package func localization(for locale: String) -> CatalogueText? { localizations.best(for: locale) }

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
package struct CatalogueText: Sendable, Hashable {
    package var locale: String
    package var displayName: String
    package var description: String

    package init(locale: String, displayName: String, description: String) {
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

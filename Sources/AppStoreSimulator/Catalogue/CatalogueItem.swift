import Foundation
import Primitives
import StoreModel

/// A product of a catalogue.
package struct CatalogueItem: Sendable, Hashable {
    package var id: ProductID
    package var kind: ProductType
    package var price: Price
    package var referenceName: String?
    /// Apple's number of the product, or one that Xcode generated.
    package var internalID: String?
    package var localizations: [CatalogueText]
    package var isFamilyShareable: Bool
    /// The terms of an auto-renewable subscription. Its offers are those of the billing plan that is paid up front.
    package var subscription: SubscriptionTerms?
    /// Every introductory offer of a subscription, one for each billing plan.
    package var introductoryOffers: [CatalogueOffer]
    /// Every promotional offer of a subscription (`adHocOffers`), including those with a repeated identifier.
    package var promotionalOffers: [CatalogueOffer]
    /// The offers that are redeemed with a code.
    package var offerCodes: [OfferCode]
    /// The offers to customers whose subscription has expired.
    package var winBackOffers: [WinBackOffer]
    /// The billing plans of a subscription (version 5); empty if the file has a single price.
    package var billingPlans: [BillingPlan]
    /// The place of the product in the document (RFC 6901).
    package var pointer: String

    /// The monthly billing plan with a commitment, if the product is sold with it.
    var monthlyPlan: BillingPlan? { billingPlans.first { $0.kind == .monthly && $0.isEnabled && isYearly } }

    private var isYearly: Bool { subscription?.period == .years(1) || subscription?.period == .months(12) }

    /// Returns the texts for `locale`: the same locale, else the same language, else English, else the first ones.
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

/// The name and the description of a product or a group for one locale.
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
    /// Returns the text for `locale`: the same locale, else the same language, else English, else the first one.
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

/// A formatter that writes prices as a storefront does: `$4.99`, `4,99 €`, `¥980`.
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

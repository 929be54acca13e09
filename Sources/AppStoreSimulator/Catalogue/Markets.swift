import Primitives
import StoreModel

/// The catalogue as it is sold in each country, made when somebody first shops there.
final class Markets: Sendable {
    struct Market: Sendable {
        let catalogue: Catalogue
        let products: [StoreProduct]

        init(_ catalogue: Catalogue) {
            self.catalogue = catalogue
            products = catalogue.storeProducts
        }

        var storefront: Storefront { catalogue.storefront }
    }

    /// The country of the catalogue's own settings.
    let home: Market
    private let abroad = Locked<[String: Market]>([:])

    init(_ catalogue: Catalogue) { home = Market(catalogue) }

    /// The market of a country; the catalogue's own for `nil` and for a country that is not in the table.
    subscript(country: String?) -> Market {
        guard let country, country != home.storefront.countryCode else { return home }
        if let known = abroad.withLock({ $0[country] }) { return known }
        guard let storefront = Storefronts.storefront(country) else { return home }
        let market = Market(home.catalogue.sold(in: storefront))
        abroad.withLock { $0[country] = market }
        return market
    }
}

import Primitives
import StoreModel

/// A catalogue with the prices of one storefront, and its products.
struct StorefrontCatalogue: Sendable {
    let catalogue: Catalogue
    let products: [StoreProduct]

    init(_ catalogue: Catalogue) {
        self.catalogue = catalogue
        products = catalogue.storeProducts
    }

    var storefront: Storefront { catalogue.storefront }
}

/// The catalogue for each storefront. All except `home` are made on their first use.
final class StorefrontCatalogues: Sendable {
    /// The catalogue for the storefront in its settings.
    let home: StorefrontCatalogue
    private let others = Locked<[String: StorefrontCatalogue]>([:])

    init(_ catalogue: Catalogue) { home = StorefrontCatalogue(catalogue) }

    /// The catalogue for a country; `home` for `nil` and for a country that is not in `Storefronts`.
    subscript(country: String?) -> StorefrontCatalogue {
        guard let country, country != home.storefront.countryCode else { return home }
        if let known = others.withLock({ $0[country] }) { return known }
        guard let storefront = Storefronts.storefront(country) else { return home }
        let catalogue = StorefrontCatalogue(home.catalogue.sold(in: storefront))
        others.withLock { $0[country] = catalogue }
        return catalogue
    }
}

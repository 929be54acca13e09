import Foundation
import Primitives
import StoreModel

/// Selects the variant that is sold in place of a product, for example to test prices.
///
///     let selector = try VariantSelector(countryTiersAt: "tiers.json")        // {"IND": "TierC", "POL": "TierB"}
///     selector.variant(of: "pro.monthly", in: list, country: "POL")           // pro.monthly.Variant.TierB, if listed
public struct VariantSelector: Sendable {
    private let select: @Sendable (ListedProduct, _ country: String?) -> String?

    /// Creates a selector.
    ///
    /// - Parameter select: Returns the end of the variant's id, or `nil` for the product itself. It receives the
    ///   product, and the country of the storefront once it is known (ISO 3166-1, three letters).
    public init(_ select: @escaping @Sendable (ListedProduct, _ country: String?) -> String?) {
        self.select = select
    }

    /// A selector without variants: each product is sold under its own id.
    public static let base = VariantSelector { _, _ in nil }

    /// Returns a selector with one variant per country. In other countries, it selects the product itself.
    ///
    /// - Parameter tiers: The end of the variant's id, by country (ISO 3166-1, three letters).
    /// - Returns: The selector.
    public static func tiers(byCountry tiers: [String: String]) -> VariantSelector {
        VariantSelector { _, country in country.flatMap { tiers[$0.uppercased()] } }
    }

    /// Creates a selector with one variant per country from a file, a JSON object of variants by country.
    ///
    /// - Parameter path: The path of the file.
    /// - Throws: `PurchaseError` with the file and the place: `productListUnreadable`, `productListMalformed`.
    public init(countryTiersAt path: String) throws {
        guard let file = FileHandle(forReadingAtPath: path), let data = try? file.read(upToCount: 1 << 20) else {
            throw PurchaseError(.productListUnreadable, "\(path): cannot read the tiers. Check the path.")
        }
        let document: JSONValue
        do {
            document = try JSONValue(parsing: Array(data))
        } catch {
            throw PurchaseError(.productListMalformed, "\(path): this is not JSON: \(error)")
        }
        guard case .object(let members) = document else {
            throw PurchaseError(.productListMalformed, "\(path): the tiers must be an object of variants by country.")
        }
        var tiers: [String: String] = [:]
        for (country, tier) in members {
            let pointer = "\(path) at \(JSONPointer.member(country))"
            guard country.utf8.count == 3, country.allSatisfy({ $0.isASCII && $0.isUppercase }) else {
                throw PurchaseError(
                    .productListMalformed,
                    "\(pointer): a country must be three capital letters (ISO 3166-1), such as POL.")
            }
            guard let tier = tier.stringValue, !tier.isEmpty else {
                throw PurchaseError(
                    .productListMalformed, "\(pointer): a tier must be a string, the end of a variant's identifier.")
            }
            tiers[country] = tier
        }
        self = .tiers(byCountry: tiers)
    }

    /// Returns the id under which a product is sold.
    ///
    /// - Parameters:
    ///   - id: The id of the product.
    ///   - list: The list with the product and its variants.
    ///   - country: The country of the storefront (ISO 3166-1, three letters); `nil` while it is unknown.
    /// - Returns: The id of the variant; `id` if none is selected, or the list does not have it.
    public func variant(of id: ProductID, in list: ProductList, country: String?) -> ProductID {
        guard let product = list[id], let suffix = select(product, country), product.variants.contains(suffix)
        else { return id }
        return ListedProduct.variantID(suffix, of: id) ?? id
    }
}

import Foundation
import Primitives
import StoreModel

/// Which variant of a product is sold in its place: how an app tries prices.
///
///     let selector = try VariantSelector(countryTiersAt: "tiers.json")        // {"IND": "TierC", "POL": "TierB"}
///     selector.variant(of: "pro.monthly", in: list, country: "POL")           // pro.monthly.Variant.TierB, if listed
public struct VariantSelector: Sendable {
    private let select: @Sendable (ListedProduct, _ country: String?) -> String?

    /// - Parameter select: the end of the variant's identifier, or `nil` for the product itself; given the product and the
    ///   country of the storefront once it is known, three letters (ISO 3166-1).
    public init(_ select: @escaping @Sendable (ListedProduct, _ country: String?) -> String?) {
        self.select = select
    }

    /// Every product as it is.
    public static let base = VariantSelector { _, _ in nil }

    /// One variant for each country; in the others, products as they are.
    public static func tiers(byCountry tiers: [String: String]) -> VariantSelector {
        VariantSelector { _, country in country.flatMap { tiers[$0.uppercased()] } }
    }

    /// `tiers(byCountry:)` from a file, a JSON object of variants by country.
    ///
    /// Throws `PurchaseError` naming the file and the place: `productListUnreadable`, `productListMalformed`.
    public init(countryTiersAt path: String) throws {
        guard let file = FileHandle(forReadingAtPath: path), let data = try? file.read(upToCount: 1 << 20) else {
            throw PurchaseError(.productListUnreadable, "\(path): the tiers cannot be read; check the path.")
        }
        let document: JSONValue
        do {
            document = try JSONValue(parsing: Array(data))
        } catch {
            throw PurchaseError(.productListMalformed, "\(path): this is not JSON: \(error)")
        }
        guard case .object(let members) = document else {
            throw PurchaseError(.productListMalformed, "\(path): tiers are an object of variants by country.")
        }
        var tiers: [String: String] = [:]
        for (country, tier) in members {
            let pointer = "\(path) at \(JSONPointer.member(country))"
            guard country.utf8.count == 3, country.allSatisfy({ $0.isASCII && $0.isUppercase }) else {
                throw PurchaseError(
                    .productListMalformed, "\(pointer): a country is three capitals (ISO 3166-1), as POL.")
            }
            guard let tier = tier.stringValue, !tier.isEmpty else {
                throw PurchaseError(
                    .productListMalformed, "\(pointer): a tier is the end of a variant's identifier, a text.")
            }
            tiers[country] = tier
        }
        self = .tiers(byCountry: tiers)
    }

    /// The identifier under which the product `id` is sold: its own where the list has no such variant of it.
    public func variant(of id: ProductID, in list: ProductList, country: String?) -> ProductID {
        guard let product = list[id], let suffix = select(product, country), product.variants.contains(suffix)
        else { return id }
        return ListedProduct.variantID(suffix, of: id) ?? id
    }
}

import Primitives
import StoreModel

/// One product of the list.
public struct ListedProduct: Sendable, Equatable {
    /// The id of the product.
    public var id: ProductID
    /// The type of the product.
    public var productType: ProductType
    /// Whether only subscribers can get it: a purchase then requires an active subscription that enables the product.
    public var isSubscribersOnly: Bool
    /// Whether it is allowed from the start, without any purchase.
    public var preAcquired: Bool
    /// Whether subscribers acquire it automatically: it is allowed whenever a subscription enables it.
    public var preAcquiredViaSubscription: Bool
    /// The prefixes of the ids that an active subscription of this product enables; `nil` enables everything.
    public var enablesProducts: [String]?
    /// The same product at lower prices.
    public var discountedProducts: [ProductID]
    /// For a discount, the product at full price; `nil` for other products.
    public var fullPriceProduct: ProductID?
    /// The variants: the same product at other prices. The store can sell one of them in its place. Each string is the
    /// part of a variant's id after `.Variant.`.
    public var variants: [String]
    /// For a variant, its base product; `nil` for other products.
    public var baseProduct: ProductID?
    /// The parameters with which the product's content is fetched; `nil` if it has none.
    public var contentFetcherParameters: JSONObject?

    /// Creates a product of the list.
    ///
    /// - Parameters:
    ///   - id: The id of the product.
    ///   - productType: The type of the product.
    ///   - isSubscribersOnly: Whether only subscribers can get it.
    ///   - preAcquired: Whether it is allowed from the start.
    ///   - preAcquiredViaSubscription: Whether subscribers acquire it automatically.
    ///   - enablesProducts: The prefixes of the ids that a subscription enables; `nil` enables everything.
    ///   - discountedProducts: The same product at lower prices.
    ///   - fullPriceProduct: For a discount, the product at full price.
    ///   - variants: The ends of the ids of its variants.
    ///   - baseProduct: For a variant, its base product.
    ///   - contentFetcherParameters: The parameters with which its content is fetched.
    public init(
        id: ProductID, productType: ProductType, isSubscribersOnly: Bool = false, preAcquired: Bool = false,
        preAcquiredViaSubscription: Bool = false, enablesProducts: [String]? = nil,
        discountedProducts: [ProductID] = [], fullPriceProduct: ProductID? = nil, variants: [String] = [],
        baseProduct: ProductID? = nil, contentFetcherParameters: JSONObject? = nil
    ) {
        self.id = id
        self.productType = productType
        self.isSubscribersOnly = isSubscribersOnly
        self.preAcquired = preAcquired
        self.preAcquiredViaSubscription = preAcquiredViaSubscription
        self.enablesProducts = enablesProducts
        self.discountedProducts = discountedProducts
        self.fullPriceProduct = fullPriceProduct
        self.variants = variants
        self.baseProduct = baseProduct
        self.contentFetcherParameters = contentFetcherParameters
    }

    /// Returns whether an active subscription of this product gives access to the product `id`.
    public func enables(_ id: ProductID) -> Bool {
        guard productType.isSubscription else { return false }
        guard let prefixes = enablesProducts else { return true }
        return prefixes.contains { id.rawValue.utf8.starts(with: $0.utf8) }
    }
}

extension ProductType {
    /// The names of product types in product lists.
    static let listNames: [(type: ProductType, word: String)] = [
        (.nonConsumable, "nonConsumable"), (.consumable, "consumable"),
        (.autoRenewableSubscription, "renewableSubscription"), (.nonRenewingSubscription, "nonRenewingSubscription"),
    ]

    /// The name of the type in product lists; `nil` if it has none.
    var listName: String? { Self.listNames.first { $0.type == self }?.word }

    /// Creates the type with this name in product lists; `nil` for any other name.
    init?(listName word: String) {
        guard let found = Self.listNames.first(where: { $0.word == word }) else { return nil }
        self = found.type
    }
}

extension ListedProduct {
    private static let variantMark = ".Variant."

    /// Returns the id of a variant of `base`; `nil` if `suffix` is empty, or the id would be invalid.
    static func variantID(_ suffix: String, of base: ProductID) -> ProductID? {
        suffix.isEmpty ? nil : ProductID(rawValue: base.rawValue + variantMark + suffix)
    }

    /// Returns the base product that the name of a variant contains; `nil` if `id` is not the name of a variant.
    static func baseByName(of id: ProductID) -> ProductID? {
        id.rawValue.firstRange(of: variantMark).flatMap { ProductID(rawValue: String(id.rawValue[..<$0.lowerBound])) }
    }

    /// The product, its discounts, then the variants of each: everything that this entry defines.
    var withDiscountsAndVariants: [ListedProduct] {
        if discountedProducts.isEmpty, variants.isEmpty { return [self] }
        let discounts = discountedProducts.map { id in
            var discount = self
            discount.id = id
            discount.discountedProducts = []
            discount.fullPriceProduct = self.id
            return discount
        }
        let atTheirPrices = [self] + discounts
        return atTheirPrices + atTheirPrices.flatMap(\.asVariants)
    }

    private var asVariants: [ListedProduct] {
        variants.compactMap { suffix in
            Self.variantID(suffix, of: id).map { variantID in
                var variant = self
                variant.id = variantID
                variant.variants = []
                variant.discountedProducts = []
                variant.baseProduct = id
                return variant
            }
        }
    }
}

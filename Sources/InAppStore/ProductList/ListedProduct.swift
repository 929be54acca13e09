import Primitives
import StoreModel

/// One product of the list.
public struct ListedProduct: Sendable, Equatable {
    public var id: ProductID
    public var productType: ProductType
    /// Only for subscribers: a purchase then succeeds only with an active subscription that enables the product.
    public var isSubscribersOnly: Bool
    /// Allowed from the start, without any purchase.
    public var preAcquired: Bool
    /// Acquired without anybody's doing: allowed whenever a subscription enables it.
    public var preAcquiredViaSubscription: Bool
    /// What an active subscription of this product enables: prefixes of identifiers; `nil` is everything.
    public var enablesProducts: [String]?
    /// The same product at lower prices.
    public var discountedProducts: [ProductID]
    /// For a discount, the product at full price.
    public var fullPriceProduct: ProductID?
    /// The same product at other prices, one of which is sold in its place: what stands after `.Variant.` in their
    /// identifiers.
    public var variants: [String]
    /// For a variant, the product that it is a variant of.
    public var baseProduct: ProductID?
    /// How more content of the product is fetched; `nil` when it has none.
    public var contentFetcherParameters: JSONObject?

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

    /// Whether an active subscription of this product lets its owner use `id`.
    public func enables(_ id: ProductID) -> Bool {
        guard productType.isSubscription else { return false }
        guard let prefixes = enablesProducts else { return true }
        return prefixes.contains { id.rawValue.utf8.starts(with: $0.utf8) }
    }
}

extension ProductType {
    /// The words of product lists for the kinds of product, in seed 001's order.
    static let wordsInLists: [(type: ProductType, word: String)] = [
        (.nonConsumable, "nonConsumable"), (.consumable, "consumable"),
        (.autoRenewableSubscription, "renewableSubscription"), (.nonRenewingSubscription, "nonRenewingSubscription"),
    ]

    /// The word for it in product lists; `nil` when they have none.
    var wordInLists: String? { Self.wordsInLists.first { $0.type == self }?.word }

    /// Reads a word of product lists; any other word gives `nil`.
    init?(wordInLists word: String) {
        guard let found = Self.wordsInLists.first(where: { $0.word == word }) else { return nil }
        self = found.type
    }
}

extension ListedProduct {
    private static let variantMark = ".Variant."

    /// The identifier of the variant called `suffix`; `nil` when it would be too long or empty.
    static func variantID(_ suffix: String, of base: ProductID) -> ProductID? {
        suffix.isEmpty ? nil : ProductID(rawValue: base.rawValue + variantMark + suffix)
    }

    /// What `id` is a variant of by its name alone; `nil` when the name is none of a variant.
    static func baseByName(of id: ProductID) -> ProductID? {
        id.rawValue.firstRange(of: variantMark).flatMap { ProductID(rawValue: String(id.rawValue[..<$0.lowerBound])) }
    }

    /// The product itself, its discounts, then the variants of each: all that the store knows by this entry.
    var withDiscountsAndVariants: [ListedProduct] {
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

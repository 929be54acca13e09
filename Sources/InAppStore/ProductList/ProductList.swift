import Foundation
import Primitives
import StoreModel

/// The products that an app lets the store manage: the JSON list of seed 001, read and checked.
public struct ProductList: Sendable, Equatable {
    /// In the order of the file; the discounts of a product follow it.
    public let products: [ListedProduct]
    private let byID: [ProductID: ListedProduct]

    public init(_ products: [ListedProduct]) {
        self.products = products
        byID = Dictionary(products.map { ($0.id, $0) }, uniquingKeysWith: { first, _ in first })
    }

    public subscript(id: ProductID) -> ListedProduct? { byID[id] }
    public var isEmpty: Bool { products.isEmpty }

    /// Reads the list from a file. Throws `StoreError` naming the file, the JSON pointer and the reason.
    public init(contentsOf path: String) throws {
        guard let data = FileManager.default.contents(atPath: path) else {
            throw StoreError(
                .productListUnreadable, "\(path): the product list cannot be read; check the path and its permissions.")
        }
        let (list, findings) = Self.lint(Array(data), file: path)
        guard let list else {
            let fault = findings.first { $0.severity == .error }
            throw StoreError(
                .productListMalformed, fault?.description ?? "\(path): this is not a list of products.")
        }
        self = list
    }
}

/// One product of the list.
public struct ListedProduct: Sendable, Equatable {
    public var id: ProductID
    public var productType: ProductType
    /// Only for subscribers: a purchase then succeeds only with an active subscription that enables the product.
    public var isSubscribersOnly: Bool
    /// Allowed from the start, without any purchase.
    public var preAcquired: Bool
    /// Acquired as soon as a subscription enables it.
    public var preAcquiredViaSubscription: Bool
    /// What an active subscription of this product enables: prefixes of identifiers; `nil` is everything.
    public var enablesProducts: [String]?
    public var discountedProducts: [ProductID]
    /// For a discount, the product at full price.
    public var fullPriceProduct: ProductID?
    /// How more content of the product is fetched; `nil` when it has none.
    public var contentFetcherParameters: JSONObject?

    public init(
        id: ProductID, productType: ProductType, isSubscribersOnly: Bool = false, preAcquired: Bool = false,
        preAcquiredViaSubscription: Bool = false, enablesProducts: [String]? = nil,
        discountedProducts: [ProductID] = [], fullPriceProduct: ProductID? = nil,
        contentFetcherParameters: JSONObject? = nil
    ) {
        self.id = id
        self.productType = productType
        self.isSubscribersOnly = isSubscribersOnly
        self.preAcquired = preAcquired
        self.preAcquiredViaSubscription = preAcquiredViaSubscription
        self.enablesProducts = enablesProducts
        self.discountedProducts = discountedProducts
        self.fullPriceProduct = fullPriceProduct
        self.contentFetcherParameters = contentFetcherParameters
    }

    /// The four kinds of seed 001. Closed by the format.
    public enum ProductType: String, Sendable, CaseIterable {
        case nonConsumable, consumable, renewableSubscription, nonRenewingSubscription

        public var isSubscription: Bool { self == .renewableSubscription || self == .nonRenewingSubscription }
    }

    /// Whether an active subscription of this product lets its owner use `id`.
    public func enables(_ id: ProductID) -> Bool {
        guard productType.isSubscription else { return false }
        guard let prefixes = enablesProducts else { return true }
        return prefixes.contains { id.rawValue.hasPrefix($0) }
    }
}

import Foundation
import Primitives
import StoreModel

/// The products that an app lets the store manage: the JSON list of seed 001, read and checked.
///
///     let list = try ProductList(contentsOf: "products.json")
///     list["com.example.darkroom.filmpack"]?.isSubscribersOnly        // true
///
/// Copies share what they hold.
public struct ProductList: Sendable {
    /// What a file may hold.
    public static let sizeLimit = 64 << 20

    private let index: Index

    /// A list of these products as they are: discounts and variants are not added. Of two with one identifier the first
    /// counts.
    public init(_ products: [ListedProduct]) {
        index = Index(products)
    }

    /// Reads the list from a file, encrypted exactly when `decryptor` is given.
    ///
    /// Throws `StoreError`, with the file in its sentence: `productListUnreadable`, `productListMalformed` with the JSON
    /// pointer and the reason of the first fault, `productListKeyMissing`, `productListDecryptionFailed`.
    public init(contentsOf path: String, decryptor: (any ProductListDecryptor)? = nil) throws {
        guard let file = FileHandle(forReadingAtPath: path),
            let data = try? file.read(upToCount: Self.sizeLimit + 1) ?? Data()
        else {
            throw StoreError(
                .productListUnreadable, "\(path): the product list cannot be read; check the path and its permissions.")
        }
        try self.init(parsing: Array(data), file: path, decryptor: decryptor)
    }

    /// Reads the list from the bytes of a file; `file` is what errors call it. Throws as `init(contentsOf:decryptor:)`.
    public init(
        parsing bytes: [UInt8], file: String, decryptor: (any ProductListDecryptor)? = nil
    ) throws(StoreError) {
        guard bytes.count <= Self.sizeLimit else {
            throw StoreError(
                .productListMalformed, "\(file): a product list holds at most \(Self.sizeLimit >> 20) MiB.")
        }
        let json: [UInt8]
        do {
            json = try EncryptedProductList.json(of: bytes, decryptor: decryptor)
        } catch {
            throw StoreError(error.code, "\(file): \(error.sentence).", underlying: error.underlying)
        }
        var reader = ProductListReader(file: file)
        guard let list = reader.read(json) else {
            let fault = reader.findings.first { $0.severity == .error }
            throw StoreError(.productListMalformed, fault?.description ?? "\(file): this is not a list of products.")
        }
        self = list
    }

    /// In the order of the file; each product is followed by its discounts and then by the variants of them all.
    public var products: [ListedProduct] { index.products }
    public var isEmpty: Bool { products.isEmpty }
    public subscript(id: ProductID) -> ListedProduct? { index[id] }

    /// The product as which `id` counts: a variant as the one it is a variant of, a discount as the one at full price, any
    /// other as itself. A variant that is not listed any more is told by its name.
    public func base(of id: ProductID) -> ProductID { index.base(of: id) }

    /// Whether an active subscription of `subscription` lets its owner use the product `id`. A subscription itself and
    /// what is not listed are never enabled; a subscription that is not listed enables everything, so that nobody who
    /// pays is locked out by a list that is older than the subscription.
    public func isEnabled(_ id: ProductID, by subscription: ProductID) -> Bool {
        guard let product = self[id], !product.productType.isSubscription else { return false }
        guard let subscribed = self[subscription] ?? self[base(of: subscription)] else { return true }
        return index.isEnabled(id, by: subscribed)
    }

    /// Everything that an active subscription of `subscription` enables.
    public func productsEnabled(by subscription: ProductID) -> Set<ProductID> {
        Set(products.lazy.map(\.id).filter { isEnabled($0, by: subscription) })
    }

    var preAcquired: Set<ProductID> { index.preAcquired }
    var preAcquiredViaSubscription: Set<ProductID> { index.preAcquiredViaSubscription }
    /// By the names as which they count.
    var withoutContent: Set<String> { index.withoutContent }
}

extension ProductList: Equatable {
    public static func == (left: ProductList, right: ProductList) -> Bool {
        left.index === right.index || left.products == right.products
    }
}

/// What is asked of a list, looked up once.
private final class Index: Sendable {
    let products: [ListedProduct]
    let preAcquired: Set<ProductID>
    let preAcquiredViaSubscription: Set<ProductID>
    let withoutContent: Set<String>
    private let places: [ProductID: Int]
    private let prefixes: [ProductID: PrefixSet]

    init(_ products: [ListedProduct]) {
        self.products = products
        let places = Dictionary(products.enumerated().map { ($1.id, $0) }, uniquingKeysWith: { first, _ in first })
        self.places = places
        preAcquired = Set(products.lazy.filter(\.preAcquired).map(\.id))
        preAcquiredViaSubscription = Set(products.lazy.filter(\.preAcquiredViaSubscription).map(\.id))
        withoutContent = Set(
            products.lazy.filter { $0.contentFetcherParameters == nil }
                .map { Self.base(of: $0.id, products, places).rawValue })
        prefixes = Dictionary(
            products.compactMap { product in product.enablesProducts.map { (product.id, PrefixSet($0)) } },
            uniquingKeysWith: { first, _ in first })
    }

    subscript(id: ProductID) -> ListedProduct? { places[id].map { products[$0] } }

    func base(of id: ProductID) -> ProductID { Self.base(of: id, products, places) }

    private static func base(
        of id: ProductID, _ products: [ListedProduct], _ places: [ProductID: Int]
    ) -> ProductID {
        let listed = places[id].map { products[$0] }
        let base = listed.map { $0.baseProduct ?? id } ?? ListedProduct.baseByName(of: id) ?? id
        return places[base].flatMap { products[$0].fullPriceProduct } ?? base
    }

    func isEnabled(_ id: ProductID, by subscription: ListedProduct) -> Bool {
        guard subscription.productType.isSubscription else { return false }
        return prefixes[subscription.id]?.contains(prefixOf: id.rawValue) ?? true
    }
}

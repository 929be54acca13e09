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
    /// Throws `PurchaseError`, with the file in its sentence: `productListUnreadable`, `productListMalformed` with the JSON
    /// pointer and the reason of the first fault, `productListKeyMissing`, `productListDecryptionFailed`.
    public init(contentsOf path: String, decryptor: (any ProductListDecryptor)? = nil) throws {
        guard let file = FileHandle(forReadingAtPath: path),
            let data = try? file.read(upToCount: Self.sizeLimit + 1) ?? Data()
        else {
            throw PurchaseError(
                .productListUnreadable, "\(path): the product list cannot be read; check the path and its permissions.")
        }
        try self.init(parsing: Array(data), file: path, decryptor: decryptor)
    }

    /// Reads the list from the bytes of a file; `file` is what errors call it. Throws as `init(contentsOf:decryptor:)`.
    public init(
        parsing bytes: [UInt8], file: String, decryptor: (any ProductListDecryptor)? = nil
    ) throws(PurchaseError) {
        guard bytes.count <= Self.sizeLimit else {
            throw PurchaseError(
                .productListMalformed, "\(file): a product list holds at most \(Self.sizeLimit >> 20) MiB.")
        }
        let json: [UInt8]
        do {
            json = try EncryptedProductList.json(of: bytes, decryptor: decryptor)
        } catch {
            throw PurchaseError(error.code, "\(file): \(error.reason).", underlying: error.underlying)
        }
        var reader = ProductListReader(file: file)
        guard let list = reader.read(json) else {
            let fault = reader.findings.first { $0.severity == .error }
            throw PurchaseError(.productListMalformed, fault?.description ?? "\(file): this is not a list of products.")
        }
        self = list
    }

    /// In the order of the file; each product is followed by its discounts and then by the variants of them all.
    public var products: [ListedProduct] { index.products }
    public var isEmpty: Bool { products.isEmpty }
    public subscript(id: ProductID) -> ListedProduct? { index[id] }
    /// The product of that identifier; `nil` also for what is no identifier of a product.
    public subscript(identifier: String) -> ListedProduct? { ProductID(rawValue: identifier).flatMap { index[$0] } }

    /// The product as which `id` counts: a variant as the one it is a variant of, a discount as the one at full price, any
    /// other as itself. A variant that is not listed any more is told by its name.
    public func base(of id: ProductID) -> ProductID { index.base(of: id) }

    /// Whether an active subscription of `subscription` lets its owner use the product `id`. A subscription itself and
    /// what is not listed are never enabled; a subscription that is not listed enables everything, so that nobody who
    /// pays is locked out by a list that is older than the subscription.
    public func isEnabled(_ id: ProductID, by subscription: ProductID) -> Bool {
        index.isEnabled(id, by: index.enabling(subscription))
    }

    /// Everything that an active subscription of `subscription` enables.
    public func productsEnabled(by subscription: ProductID) -> Set<ProductID> {
        enabled(among: products.lazy.map(\.id), by: subscription)
    }

    /// Those of `ids` that an active subscription of `subscription` enables.
    func enabled(among ids: some Sequence<ProductID>, by subscription: ProductID) -> Set<ProductID> {
        let enabling = index.enabling(subscription)
        return Set(ids.lazy.filter { index.isEnabled($0, by: enabling) })
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
    /// What the products count as that do not count as themselves.
    private let bases: [ProductID: ProductID]
    /// Of the subscriptions that do not enable everything.
    private let prefixes: [ProductID: PrefixSet]

    /// What a subscription enables.
    enum Enabling {
        case everything, nothing
        case beginning(PrefixSet)
    }

    init(_ products: [ListedProduct]) {
        self.products = products
        let places = Dictionary(products.enumerated().map { ($1.id, $0) }, uniquingKeysWith: { first, _ in first })
        let bases = places.reduce(into: [ProductID: ProductID]()) { bases, placed in
            let product = products[placed.value]
            let base = product.baseProduct ?? product.id
            let atFullPrice = places[base].flatMap { products[$0].fullPriceProduct } ?? base
            if atFullPrice != product.id { bases[product.id] = atFullPrice }
        }
        self.places = places
        self.bases = bases
        preAcquired = Set(products.lazy.filter(\.preAcquired).map(\.id))
        preAcquiredViaSubscription = Set(products.lazy.filter(\.preAcquiredViaSubscription).map(\.id))
        withoutContent = Set(
            products.lazy.filter { $0.contentFetcherParameters == nil }.map { (bases[$0.id] ?? $0.id).rawValue })
        prefixes = Dictionary(
            products.compactMap { product in product.enablesProducts.map { (product.id, PrefixSet($0)) } },
            uniquingKeysWith: { first, _ in first })
    }

    subscript(id: ProductID) -> ListedProduct? { places[id].map { products[$0] } }

    func base(of id: ProductID) -> ProductID {
        if let base = bases[id] { return base }
        guard places[id] == nil, let base = ListedProduct.baseByName(of: id) else { return id }
        return bases[base] ?? base
    }

    func enabling(_ subscription: ProductID) -> Enabling {
        guard let place = places[subscription] ?? places[base(of: subscription)] else { return .everything }
        guard products[place].productType.isSubscription else { return .nothing }
        return prefixes[products[place].id].map(Enabling.beginning) ?? .everything
    }

    func isEnabled(_ id: ProductID, by enabling: Enabling) -> Bool {
        guard let place = places[id], !products[place].productType.isSubscription else { return false }
        return switch enabling {
        case .everything: true
        case .nothing: false
        case .beginning(let prefixes): prefixes.contains(prefixOf: id.rawValue)
        }
    }
}

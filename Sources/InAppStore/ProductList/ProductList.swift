import Foundation
import Primitives
import StoreModel

/// The products that an app lets the store manage: the JSON product list, read and checked.
///
///     let list = try ProductList(contentsOf: "products.json")
///     list["com.example.darkroom.filmpack"]?.isSubscribersOnly        // true
///
/// Copies share their storage.
public struct ProductList: Sendable {
    /// The size limit of a file, in bytes.
    public static let sizeLimit = 64 << 20

    private let index: Index

    /// Creates a list of `products` as they are, without their discounts and variants. If two have the same id, the
    /// first one is used.
    public init(_ products: [ListedProduct]) {
        index = Index(products)
    }

    /// Reads the list from a file.
    ///
    /// - Parameters:
    ///   - path: The path of the file.
    ///   - decryptor: Decrypts the file; `nil` for a file that is not encrypted.
    /// - Throws: `PurchaseError` with the path of the file: `productListUnreadable`, `productListMalformed` with the
    ///   JSON pointer and the reason of the first error, `productListKeyMissing`, `productListDecryptionFailed`.
    public init(contentsOf path: String, decryptor: (any ProductListDecryptor)? = nil) throws {
        guard let file = FileHandle(forReadingAtPath: path),
            let data = try? file.read(upToCount: Self.sizeLimit + 1) ?? Data()
        else {
            throw PurchaseError(
                .productListUnreadable, "\(path): cannot read the product list. Check the path and its permissions.")
        }
        try self.init(parsing: Array(data), file: path, decryptor: decryptor)
    }

    /// Reads the list from the bytes of a file.
    ///
    /// - Parameters:
    ///   - bytes: The bytes of the file.
    ///   - file: The name of the file in errors.
    ///   - decryptor: Decrypts the bytes; `nil` if they are not encrypted.
    /// - Throws: `PurchaseError`, as ``init(contentsOf:decryptor:)`` does.
    public init(
        parsing bytes: [UInt8], file: String, decryptor: (any ProductListDecryptor)? = nil
    ) throws(PurchaseError) {
        guard bytes.count <= Self.sizeLimit else {
            throw PurchaseError(
                .productListMalformed, "\(file): the size limit of a product list is \(Self.sizeLimit >> 20) MiB.")
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
            throw PurchaseError(.productListMalformed, fault?.description ?? "\(file): this is not a product list.")
        }
        self = list
    }

    /// The products in the order of the file. Each is followed by its discounts, and then by the variants of all of
    /// them.
    public var products: [ListedProduct] { index.products }
    /// Whether the list has no products.
    public var isEmpty: Bool { products.isEmpty }
    /// The product with the id `id`.
    public subscript(id: ProductID) -> ListedProduct? { index[id] }
    /// The product with this identifier; `nil` also for a string that is not a valid id.
    public subscript(identifier: String) -> ListedProduct? { ProductID(rawValue: identifier).flatMap { index[$0] } }

    /// Returns the product that represents a product in the store's sets: for a discount and its variants, the product
    /// at full price; for another variant, its base product; for any other, the product itself. A variant that is no
    /// longer listed is recognized by its name.
    ///
    /// - Parameter id: The id of a product.
    /// - Returns: The id of the product that represents it.
    public func base(of id: ProductID) -> ProductID { index.base(of: id) }

    /// Returns whether an active subscription enables a product. Subscriptions and unlisted products are never enabled.
    /// An unlisted subscription enables everything, so that an outdated list takes no access from a paying customer.
    ///
    /// - Parameters:
    ///   - id: The product.
    ///   - subscription: The product of the subscription.
    /// - Returns: Whether the subscription enables the product.
    public func isEnabled(_ id: ProductID, by subscription: ProductID) -> Bool {
        index.isEnabled(id, by: index.enabling(subscription))
    }

    /// Returns all products that an active subscription of `subscription` enables.
    public func productsEnabled(by subscription: ProductID) -> Set<ProductID> {
        let enabling = index.enabling(subscription)
        return Set(products.lazy.map(\.id).filter { index.isEnabled($0, by: enabling) })
    }

    /// Returns the base products of all `ids`, and of those that an active subscription of `subscription` enables.
    func bases(of ids: Set<ProductID>, enabledBy subscription: ProductID) -> (all: Set<String>, enabled: Set<String>) {
        index.bases(of: ids, enabledBy: index.enabling(subscription))
    }

    /// Whether two products have the same id.
    var hasDuplicates: Bool { index.hasDuplicates }
    var preAcquired: Set<ProductID> { index.preAcquired }
    var preAcquiredViaSubscription: Set<ProductID> { index.preAcquiredViaSubscription }
    /// The products without content, by the ids that ``base(of:)`` returns.
    var withoutContent: Set<String> { index.withoutContent }
}

extension ProductList: Equatable {
    public static func == (left: ProductList, right: ProductList) -> Bool {
        left.index === right.index || left.products == right.products
    }
}

/// The lookup tables of a list.
private final class Index: Sendable {
    let products: [ListedProduct]
    let preAcquired: Set<ProductID>
    let preAcquiredViaSubscription: Set<ProductID>
    let withoutContent: Set<String>
    private let places: [ProductID: Int]
    /// The base products of variants and discounts.
    private let bases: [ProductID: ProductID]
    /// The prefixes of the subscriptions that do not enable everything.
    private let prefixes: [ProductID: PrefixSet]

    /// The products that a subscription enables.
    enum Enabling {
        case everything, nothing
        case beginning(PrefixSet)
    }

    init(_ products: [ListedProduct]) {
        self.products = products
        // Accesses members by index, because a copy of a product retains all its strings.
        let places = Dictionary(
            products.indices.lazy.map { (products[$0].id, $0) }, uniquingKeysWith: { first, _ in first })
        var bases: [ProductID: ProductID] = [:]
        for place in products.indices where products[place].baseProduct ?? products[place].fullPriceProduct != nil {
            let id = products[place].id
            guard places[id] == place else { continue }
            let base = products[place].baseProduct ?? id
            let atFullPrice = places[base].flatMap { products[$0].fullPriceProduct } ?? base
            if atFullPrice != id { bases[id] = atFullPrice }
        }
        var withoutContent = Set<String>(minimumCapacity: products.count)
        for place in products.indices where products[place].contentFetcherParameters == nil {
            let id = products[place].id
            withoutContent.insert((bases[id] ?? id).rawValue)
        }
        self.places = places
        self.bases = bases
        self.withoutContent = withoutContent
        func ids(where isMember: (Int) -> Bool) -> Set<ProductID> {
            Set(products.indices.lazy.filter(isMember).map { products[$0].id })
        }
        preAcquired = ids { products[$0].preAcquired }
        preAcquiredViaSubscription = ids { products[$0].preAcquiredViaSubscription }
        prefixes = Dictionary(
            products.indices.lazy.compactMap { place in
                products[place].enablesProducts.map { (products[place].id, PrefixSet($0)) }
            }, uniquingKeysWith: { first, _ in first })
    }

    var hasDuplicates: Bool { places.count < products.count }

    subscript(id: ProductID) -> ListedProduct? { places[id].map { products[$0] } }

    func base(of id: ProductID) -> ProductID { base(of: id, at: places[id]) }

    private func base(of id: ProductID, at place: Int?) -> ProductID {
        if let base = bases[id] { return base }
        guard place == nil, let base = ListedProduct.baseByName(of: id) else { return id }
        return bases[base] ?? base
    }

    /// Returns the base products of `ids`, and of the enabled ones. Looks each id up once.
    func bases(of ids: Set<ProductID>, enabledBy enabling: Enabling) -> (all: Set<String>, enabled: Set<String>) {
        var all = Set<String>(minimumCapacity: ids.count)
        var enabled: [String] = []
        enabled.reserveCapacity(ids.count)
        for id in ids {
            let place = places[id]
            let name = base(of: id, at: place).rawValue
            all.insert(name)
            if isEnabled(id, at: place, by: enabling) { enabled.append(name) }
        }
        return (all, enabled.count == ids.count ? all : Set(enabled))
    }

    func enabling(_ subscription: ProductID) -> Enabling {
        guard let place = places[subscription] ?? places[base(of: subscription)] else { return .everything }
        guard products[place].productType.isSubscription else { return .nothing }
        return prefixes[products[place].id].map(Enabling.beginning) ?? .everything
    }

    func isEnabled(_ id: ProductID, by enabling: Enabling) -> Bool {
        isEnabled(id, at: places[id], by: enabling)
    }

    private func isEnabled(_ id: ProductID, at place: Int?, by enabling: Enabling) -> Bool {
        guard let place, !products[place].productType.isSubscription else { return false }
        return switch enabling {
        case .everything: true
        case .nothing: false
        case .beginning(let prefixes): prefixes.contains(prefixOf: id.rawValue)
        }
    }
}

import Foundation
import Primitives
import StoreModel

/// The products of an app: an Xcode StoreKit configuration file (`.storekit`, versions 1 to 5).
///
///     let catalogue = try Catalogue(parsing: bytes, file: "Darkroom.storekit")
///     catalogue.storeProducts.map(\.displayPrice)          // ["€14.99", …]
///     catalogue.settings.asksToBuy                         // false
///     catalogue.encoded() == bytes                         // true, for every file
///
/// The catalogue keeps the bytes of the file. Unknown fields stay where they are and are otherwise ignored, and a
/// change (`changingSettings`, `replacing`) leaves the rest of the file as it is.
public struct Catalogue: Sendable, Equatable {
    /// The file as a JSON value. It keeps the order, unknown fields and the text of numbers.
    public let document: JSONValue
    /// The version of the format that the file states; `nil` if it states none.
    package let version: Version?
    /// The settings in the file for the store.
    package let settings: CatalogueSettings
    /// The storefront in the file's settings (`_storefront` and `_locale`), by default the USA, or the one that
    /// `sold(in:)` received.
    public let storefront: Storefront
    /// The products in the order of the file: products, non-renewing subscriptions, then group by group.
    package let items: [CatalogueItem]
    /// The subscription groups in the order of the file.
    package let groups: [CatalogueGroup]
    package let policies: AppPolicies
    /// The key with which the app's server signs promotional offers, if the file has one.
    package let offersKey: OffersKey?
    /// The findings that are warnings.
    package let warnings: [CatalogueFinding]
    let source: [UInt8]
    let file: String
    private let indices: [ProductID: Int]

    /// A version of the format.
    package struct Version: Sendable, Hashable {
        package var major: Int
        package var minor: Int

        package init(major: Int, minor: Int) {
            self.major = major
            self.minor = minor
        }
    }

    init(_ reader: CatalogueReader, document: JSONValue, source: [UInt8]) {
        self.document = document
        self.source = source
        file = reader.file
        version = reader.version
        settings = reader.settings
        storefront = reader.storefront
        items = reader.items
        groups = reader.groups
        policies = reader.policies
        offersKey = reader.offersKey
        warnings = reader.findings
        indices = Dictionary(items.enumerated().map { ($1.id, $0) }, uniquingKeysWith: { first, _ in first })
    }

    /// Reads a catalogue.
    ///
    /// - Parameters:
    ///   - bytes: The content of a StoreKit configuration file.
    ///   - file: The name of the file in error messages.
    /// - Throws: An error that lists all errors of the file, if it cannot be used.
    public init(parsing bytes: [UInt8], file: String) throws {
        var reader = CatalogueReader(file: file)
        guard let catalogue = reader.read(bytes) else { throw CatalogueError(findings: reader.findings) }
        self = catalogue
    }

    /// Returns the bytes of the file as they were read, with the changes made since.
    public func encoded() -> [UInt8] { source }

    /// Returns all findings in a file, in its order.
    package static func lint(_ bytes: [UInt8], file: String) -> [CatalogueFinding] {
        var reader = CatalogueReader(file: file)
        _ = reader.read(bytes)
        return reader.findings
    }

    /// Returns whether a JSON document is meant to be a catalogue, rather than a product list or a feature map.
    ///
    /// - Parameter document: The document.
    /// - Returns: `true` if it has a member with the products, subscriptions or groups of a catalogue.
    public static func recognizes(_ document: JSONValue) -> Bool {
        ["products", "subscriptionGroups", "nonRenewingSubscriptions"].contains { document[$0] != nil }
    }

    package subscript(id: ProductID) -> CatalogueItem? { indices[id].map { items[$0] } }

    /// Returns the subscription group with an id.
    package func group(_ id: String) -> CatalogueGroup? { groups.first { $0.id.hasSameBytes(as: id) } }

    /// Returns the subscriptions of a group in the order of the file.
    package func items(inGroup id: String) -> [CatalogueItem] { group(id)?.products.compactMap { self[$0] } ?? [] }

    /// Returns the catalogue for another storefront. As in Xcode, every amount is in the storefront's currency, and
    /// names are in its language.
    ///
    ///     catalogue.sold(in: Storefronts.storefront("JPN")!).storeProducts.first?.displayPrice     // "¥5"
    ///
    /// - Parameter storefront: The storefront.
    /// - Returns: The same file, read for `storefront`.
    public func sold(in storefront: Storefront) -> Catalogue {
        if storefront == self.storefront { return self }
        var reader = CatalogueReader(file: file, soldIn: storefront)
        // Reading cannot fail: the file was read before, and another storefront causes no error.
        return reader.read(source) ?? self
    }

    /// The products as the storefront presents them.
    public var storeProducts: [StoreProduct] {
        let writer = PriceWriter(storefront: storefront)
        return items.map { $0.storeProduct(in: storefront, writer) }
    }

    /// Returns whether two catalogues have equal documents, storefronts and warnings. The formatting of their files does not matter.
    ///
    /// - Parameters:
    ///   - left: A catalogue.
    ///   - right: Another catalogue.
    /// - Returns: `true` if all three are equal.
    public static func == (left: Catalogue, right: Catalogue) -> Bool {
        left.document == right.document && left.storefront == right.storefront && left.warnings == right.warnings
    }
}

extension Catalogue {
    /// The app's product list, in the order of the catalogue: JSON for the SDK's `StoreConfiguration`. It has no
    /// products of an unknown type, because the SDK does not accept them.
    public var productList: JSONValue {
        .array(
            items.compactMap { item in
                guard let type = Self.productTypes[item.kind] else { return nil }
                return [
                    "identifier": .string(item.id.rawValue), "productType": .string(type), "isSubscribersOnly": false,
                ]
            })
    }

    /// Whether the catalogue has no product of a known type.
    public var isEmpty: Bool { !items.contains(where: Self.isSold) }

    /// Whether a product has a known type.
    static func isSold(_ item: CatalogueItem) -> Bool { productTypes[item.kind] != nil }

    private static let productTypes: [ProductType: String] = [
        .consumable: "consumable", .nonConsumable: "nonConsumable",
        .autoRenewableSubscription: "renewableSubscription", .nonRenewingSubscription: "nonRenewingSubscription",
    ]
}

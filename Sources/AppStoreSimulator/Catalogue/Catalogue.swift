import Foundation
import Primitives
import StoreModel

/// What an app sells: an Xcode StoreKit configuration file (`.storekit`, versions 1 to 5).
///
///     let catalogue = try Catalogue(parsing: bytes, file: "Darkroom.storekit")
///     catalogue.storeProducts.map(\.displayPrice)          // ["€14.99", …]
///     catalogue.settings.asksToBuy                         // false
///     catalogue.encoded() == bytes                         // true, for every file
///
/// The file is the truth, the rest is read from it: fields that are not known stay where they are and are otherwise
/// ignored, and a change (`changingSettings`, `replacing`) touches no more of the file than it must.
public struct Catalogue: Sendable, Equatable {
    /// The file as a value: order, unknown fields and the text of numbers as they came.
    public let document: JSONValue
    /// The version of the format as the file states it; `nil` when it does not.
    package let version: Version?
    /// What the file asks of the store it is sold in.
    package let settings: CatalogueSettings
    /// The country's store in which it sells (`_storefront` and `_locale` of the settings).
    public let storefront: Storefront
    /// Everything sold, in the order of the file: products, non-renewing subscriptions, then group by group.
    package let items: [CatalogueItem]
    /// The subscription groups in the order of the file.
    package let groups: [CatalogueGroup]
    package let policies: AppPolicies
    /// The key with which the app's server signs promotional offers, where Xcode made one.
    package let offersKey: OffersKey?
    /// What the file left doubtful.
    package let warnings: [CatalogueFinding]
    let source: [UInt8]
    let file: String
    private let places: [ProductID: Int]

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
        places = Dictionary(items.enumerated().map { ($1.id, $0) }, uniquingKeysWith: { first, _ in first })
    }

    /// Reads a catalogue; `file` names it in findings.
    ///
    /// Throws when something in the file cannot be used. The description of the error names everything that is wrong.
    public init(parsing bytes: [UInt8], file: String) throws {
        var reader = CatalogueReader(file: file)
        guard let catalogue = reader.read(bytes) else { throw CatalogueError(findings: reader.findings) }
        self = catalogue
    }

    /// The file, byte for byte as it was read but for what has been changed since.
    public func encoded() -> [UInt8] { source }

    /// Everything wrong or doubtful in a file, in its order; empty when there is nothing.
    package static func lint(_ bytes: [UInt8], file: String) -> [CatalogueFinding] {
        var reader = CatalogueReader(file: file)
        _ = reader.read(bytes)
        return reader.findings
    }

    /// Whether a JSON document is meant to be a catalogue, as opposed to a product list or a feature map.
    public static func recognizes(_ document: JSONValue) -> Bool {
        ["products", "subscriptionGroups", "nonRenewingSubscriptions"].contains { document[$0] != nil }
    }

    package subscript(id: ProductID) -> CatalogueItem? { places[id].map { items[$0] } }

    /// The subscription group of that id.
    package func group(_ id: String) -> CatalogueGroup? { groups.first { $0.id.hasSameBytes(as: id) } }

    /// The subscriptions of a group in the order of the file.
    package func items(inGroup id: String) -> [CatalogueItem] { group(id)?.products.compactMap { self[$0] } ?? [] }

    /// The same file sold in another country's store: every amount is that storefront's money, as in Xcode, and names
    /// are in its language.
    ///
    ///     catalogue.sold(in: Storefronts.storefront("JPN")!).storeProducts.first?.displayPrice     // "¥5"
    public func sold(in storefront: Storefront) -> Catalogue {
        if storefront == self.storefront { return self }
        var reader = CatalogueReader(file: file, soldIn: storefront)
        // What could be read once can be read again: a storefront decides on no finding but the one about itself.
        return reader.read(source) ?? self
    }

    /// The products as the storefront shows them.
    public var storeProducts: [StoreProduct] {
        let writer = PriceWriter(storefront: storefront)
        return items.map { $0.storeProduct(in: storefront, writer) }
    }

    /// Equal when the files say the same, however they are written.
    public static func == (left: Catalogue, right: Catalogue) -> Bool {
        left.document == right.document && left.storefront == right.storefront && left.warnings == right.warnings
    }
}

extension Catalogue {
    /// The app's product list (the JSON of the SDK's `StoreConfiguration`), in the order of the catalogue. Products of
    /// an unknown type are left out: the list has no word for them.
    public var productList: JSONValue {
        .array(
            items.compactMap { item in
                guard let type = Self.productTypes[item.kind] else { return nil }
                return [
                    "identifier": .string(item.id.rawValue), "productType": .string(type), "isSubscribersOnly": false,
                ]
            })
    }

    /// Whether anything of a kind that is known is sold.
    public var isEmpty: Bool { !items.contains(where: Self.isSold) }

    /// Whether an item is of a kind that is known.
    static func isSold(_ item: CatalogueItem) -> Bool { productTypes[item.kind] != nil }

    private static let productTypes: [ProductType: String] = [
        .consumable: "consumable", .nonConsumable: "nonConsumable",
        .autoRenewableSubscription: "renewableSubscription", .nonRenewingSubscription: "nonRenewingSubscription",
    ]
}

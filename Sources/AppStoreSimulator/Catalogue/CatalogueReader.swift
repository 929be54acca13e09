import Foundation
import Primitives
import StoreModel

/// Reads a `.storekit` file and collects all findings.
struct CatalogueReader: CatalogueFieldReader {
    static let knownVersions = 1...5

    let file: String
    var findings: [CatalogueFinding] = []
    private(set) var version: Catalogue.Version?
    var settings = CatalogueSettings()
    var storefront = Storefronts.usa
    var items: [CatalogueItem] = []
    var groups: [CatalogueGroup] = []
    private(set) var policies = AppPolicies()
    private(set) var offersKey: OffersKey?
    private var places: [ProductID: String] = [:]
    var internalIDs: [String: String] = [:]

    /// The storefront to use instead of the one in the file.
    private let soldIn: Storefront?

    init(file: String, soldIn: Storefront? = nil) {
        self.file = file
        self.soldIn = soldIn
    }

    /// Returns the catalogue, or `nil` if a finding is an error.
    mutating func read(_ bytes: [UInt8]) -> Catalogue? {
        guard let root = document(bytes, "a StoreKit configuration file should be a JSON object") else { return nil }
        readVersion(root)
        readSettings(root)
        storefront = soldIn ?? storefront
        readPolicies(root)
        readOffersKey(root)
        let sections = ["products", "nonRenewingSubscriptions", "subscriptionGroups"]
        if sections.allSatisfy({ root[$0] == nil }) {
            fail(
                .wrongShape, "", "\(sections.joined(separator: ", ")) are all missing; this may not be a .storekit file"
            )
        }
        for place in list(root, "products") { readProduct(place, expected: nil) }
        for place in list(root, "nonRenewingSubscriptions") { readProduct(place, expected: .nonRenewingSubscription) }
        readGroups(list(root, "subscriptionGroups"))
        if !items.contains(where: Catalogue.isSold), !hasErrors {
            warn(.noProducts, "", "the catalogue has no products")
        }
        guard !hasErrors else { return nil }
        return Catalogue(self, document: root.value, source: bytes)
    }

    private mutating func readVersion(_ root: JSONPlace) {
        guard let version = root["version"] else {
            return warn(.unknownVersion, "/version", "the version of the format is not stated; it is read as 4")
        }
        guard let major = version["major"]?.value.intValue else {
            return warn(.unknownVersion, "/version/major", "the version's major number is missing; it is read as 4")
        }
        self.version = .init(major: major, minor: version["minor"]?.value.intValue ?? 0)
        if !Self.knownVersions.contains(major) {
            warn(
                .unknownVersion, "/version/major",
                "version \(major) of the format is not known; it is read as the nearest known version (1 to 5)")
        }
    }

    private mutating func readPolicies(_ root: JSONPlace) {
        guard let place = root["appPolicies"] else { return }
        guard place.isObject else {
            return warn(.wrongShape, place.pointer, "the app's policies should be a JSON object; they are ignored")
        }
        policies.licenceAgreement = place["eula"]?.value.stringValue ?? ""
        for entry in place["policies"]?.elements ?? [] {
            policies.policies.append(
                .init(
                    locale: entry["locale"]?.value.stringValue ?? "",
                    text: entry["policyText"]?.value.stringValue ?? "",
                    url: entry["policyURL"]?.value.stringValue ?? ""))
        }
    }

    private mutating func readOffersKey(_ root: JSONPlace) {
        guard let place = root["subscriptionOffersKeyPair"] else { return }
        guard let id = place["id"]?.value.stringValue, let key = place["privateKey"]?.value.stringValue else {
            return warn(
                .wrongShape, place.pointer,
                "a key for promotional offers should have an id and a privateKey; it is ignored")
        }
        offersKey = OffersKey(id: id, privateKey: key)
    }

    private mutating func readProduct(_ place: JSONPlace, expected: ProductType?) {
        guard let id = productID(place) else { return }
        var kind = expected ?? .nonConsumable
        if let type = text(place, "type") {
            if let known = Self.kinds[type] {
                kind = known
            } else {
                kind = ProductType(rawValue: type)
                warn(.unknownType, "\(place.pointer)/type", "the type \(type) is not known; the product is not sold")
            }
        } else if expected == nil {
            return fail(.missingField, "\(place.pointer)/type", "the type of the product \(id) is missing")
        }
        guard kind != .autoRenewableSubscription else {
            return fail(
                .wrongShape, "\(place.pointer)/type", "a recurring subscription belongs in a subscription group")
        }
        let internalID = internalID(place)
        guard let price = price(place, of: "the product \(id)") else { return }
        let item = item(id, kind, price, place, internalID, nil)
        if item.isFamilyShareable, kind == .consumable || kind == .nonRenewingSubscription {
            warn(
                .notShareable, "\(place.pointer)/familyShareable",
                "families share non-consumables and renewing subscriptions only, not \(id)")
        }
        items.append(item)
    }

    static let kinds: [String: ProductType] = [
        "Consumable": .consumable, "NonConsumable": .nonConsumable,
        "NonRenewingSubscription": .nonRenewingSubscription, "RecurringSubscription": .autoRenewableSubscription,
    ]

    mutating func item(
        _ id: ProductID, _ kind: ProductType, _ price: Price, _ place: JSONPlace,
        _ internalID: String?, _ terms: SubscriptionTerms?
    ) -> CatalogueItem {
        CatalogueItem(
            id: id, kind: kind, price: price, referenceName: text(place, "referenceName"),
            internalID: internalID, localizations: texts(place),
            isFamilyShareable: flag(place, "familyShareable") ?? false, subscription: terms, introductoryOffers: [],
            promotionalOffers: [], offerCodes: [], winBackOffers: [], billingPlans: [], pointer: place.pointer)
    }

    /// Reads the identifier of a product, which is unique in the file.
    mutating func productID(_ place: JSONPlace) -> ProductID? {
        guard place.isObject else {
            fail(.wrongShape, place.pointer, "a product should be a JSON object")
            return nil
        }
        let pointer = "\(place.pointer)/productID"
        guard let text = text(place, "productID"), !text.isEmpty else {
            if place["productID"] == nil || place["productID"]?.value.stringValue?.isEmpty == true {
                fail(.missingField, pointer, "the productID is missing")
            }
            return nil
        }
        guard let id = ProductID(rawValue: text) else {
            fail(.badIdentifier, pointer, "a productID has \(ProductID.rule)")
            return nil
        }
        if let first = places[id] {
            fail(.duplicateProduct, pointer, "the product \(id) is already at \(first)")
            return nil
        }
        places[id] = place.pointer
        return id
    }

    /// Reads the number by which Xcode distinguishes products and offers.
    mutating func internalID(_ place: JSONPlace) -> String? {
        guard let id = text(place, "internalID") else { return nil }
        let pointer = "\(place.pointer)/internalID"
        if let first = internalIDs[id], !id.isEmpty {
            warn(
                .duplicateInternalID, pointer, "the internalID \(id) is already at \(first); Xcode requires unique ones"
            )
        }
        internalIDs[id] = internalIDs[id] ?? pointer
        return id
    }
}

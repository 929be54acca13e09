import Foundation
import Primitives
import StoreModel

/// Reads a `.storekit` file and collects everything it finds wrong on the way.
struct CatalogueReader {
    static let byteLimit = 16 << 20
    static let knownVersions = 1...5

    let file: String
    private(set) var findings: [CatalogueFinding] = []
    private var storefront = Storefronts.usa
    private var items: [CatalogueItem] = []
    private var places: [ProductID: String] = [:]

    init(file: String) { self.file = file }

    /// A value and where it stands.
    struct Place {
        let value: JSONValue
        let pointer: String

        /// A member that is there and not null.
        subscript(name: String) -> Place? {
            guard let value = value[name], !value.isNull else { return nil }
            return Place(value: value, pointer: "\(pointer)/\(Self.escaped(name))")
        }

        private static func escaped(_ name: String) -> String {
            name.replacingOccurrences(of: "~", with: "~0").replacingOccurrences(of: "/", with: "~1")
        }
    }

    /// `nil` when at least one finding is an error.
    mutating func read(_ bytes: [UInt8]) -> Catalogue? {
        guard bytes.count <= Self.byteLimit else {
            fail(.tooLarge, "", "a catalogue has at most \(Self.byteLimit) bytes, this one has \(bytes.count)")
            return nil
        }
        let document: JSONValue
        do {
            document = try JSONValue(parsing: bytes)
        } catch {
            fail(.notJSON, "", "this is not JSON: \(error)")
            return nil
        }
        guard case .object = document else {
            fail(.wrongShape, "", "a StoreKit configuration file is a JSON object")
            return nil
        }
        let root = Place(value: document, pointer: "")
        readVersion(root)
        readSettings(root)
        let sections = ["products", "nonRenewingSubscriptions", "subscriptionGroups"]
        if sections.allSatisfy({ root[$0] == nil }) {
            fail(.wrongShape, "", "none of \(sections.joined(separator: ", ")) is there; is this a .storekit file?")
        }
        for place in list(root, "products") { readProduct(place, expected: nil) }
        for place in list(root, "nonRenewingSubscriptions") { readProduct(place, expected: .nonRenewingSubscription) }
        readGroups(list(root, "subscriptionGroups"))
        if items.isEmpty, !hasErrors { warn(.noProducts, "", "the catalogue sells nothing") }
        guard !hasErrors else { return nil }
        return Catalogue(document: document, storefront: storefront, items: items, warnings: findings)
    }

    // MARK: - Findings

    private var hasErrors: Bool { findings.contains { $0.severity == .error } }

    mutating func fail(_ code: CatalogueFinding.Code, _ pointer: String, _ reason: String) {
        findings.append(.init(severity: .error, code: code, file: file, pointer: pointer, reason: reason))
    }

    mutating func warn(_ code: CatalogueFinding.Code, _ pointer: String, _ reason: String) {
        findings.append(.init(severity: .warning, code: code, file: file, pointer: pointer, reason: reason))
    }

    // MARK: - Head

    private mutating func readVersion(_ root: Place) {
        guard let version = root["version"] else {
            return warn(.unknownVersion, "/version", "the version of the format is not stated; it is read as 4")
        }
        guard let major = version["major"]?.value.intValue else {
            return warn(.unknownVersion, "/version/major", "the version's major number is missing; it is read as 4")
        }
        if !Self.knownVersions.contains(major) {
            warn(
                .unknownVersion, "/version/major",
                "version \(major) of the format is not known (1 to 5 are); it is read as the nearest of them")
        }
    }

    private mutating func readSettings(_ root: Place) {
        guard let settings = root["settings"] else { return }
        guard case .object = settings.value else {
            return fail(.wrongShape, settings.pointer, "the settings are a JSON object")
        }
        var country = Storefronts.usa.countryCode
        if let place = settings["_storefront"] {
            guard let text = place.value.stringValue else {
                return fail(.wrongShape, place.pointer, "a storefront is a country code such as \"USA\"")
            }
            country = text.uppercased()
        }
        let locale = text(settings, "_locale")
        if let known = Storefronts.storefront(country, locale: locale) {
            storefront = known
        } else {
            storefront.locale = locale ?? storefront.locale
            warn(
                .unknownStorefront, "/settings/_storefront",
                "the storefront \(country) is not known; prices are in \(storefront.currency) as in the USA")
        }
    }

    // MARK: - Products

    private mutating func readProduct(_ place: Place, expected: StoreProduct.Kind?) {
        guard let id = productID(place) else { return }
        var kind = expected ?? .nonConsumable
        if let type = text(place, "type") {
            if let known = Self.kinds[type] {
                kind = known
            } else {
                kind = StoreProduct.Kind(rawValue: type)
                warn(.unknownType, "\(place.pointer)/type", "the type \(type) is not known; the product is not sold")
            }
        } else if expected == nil {
            return fail(.missingField, "\(place.pointer)/type", "the type of the product \(id) is missing")
        }
        guard kind != .autoRenewableSubscription else {
            return fail(
                .wrongShape, "\(place.pointer)/type", "a recurring subscription stands in a subscription group")
        }
        guard let price = price(place, of: "the product \(id)") else { return }
        items.append(item(id, kind, price, place, nil))
    }

    static let kinds: [String: StoreProduct.Kind] = [
        "Consumable": .consumable, "NonConsumable": .nonConsumable,
        "NonRenewingSubscription": .nonRenewingSubscription, "RecurringSubscription": .autoRenewableSubscription,
    ]

    private func item(
        _ id: ProductID, _ kind: StoreProduct.Kind, _ price: Price, _ place: Place, _ terms: SubscriptionTerms?
    ) -> CatalogueItem {
        let localizations = (place["localizations"]?.value.arrayValue ?? []).compactMap { entry in
            entry["locale"]?.stringValue.map {
                CatalogueItem.Localization(
                    locale: $0, displayName: entry["displayName"]?.stringValue ?? "",
                    description: entry["description"]?.stringValue ?? "")
            }
        }
        return CatalogueItem(
            id: id, kind: kind, price: price, referenceName: place["referenceName"]?.value.stringValue,
            localizations: localizations, isFamilyShareable: place["familyShareable"]?.value.boolValue ?? false,
            subscription: terms, codeOffers: [], winBackOffers: [])
    }

    /// The identifier of a product, unique in the file.
    private mutating func productID(_ place: Place) -> ProductID? {
        guard case .object = place.value else {
            fail(.wrongShape, place.pointer, "a product is a JSON object")
            return nil
        }
        let pointer = "\(place.pointer)/productID"
        guard let text = text(place, "productID"), !text.isEmpty else {
            fail(.missingField, pointer, "the productID is missing")
            return nil
        }
        guard let id = ProductID(rawValue: text) else {
            fail(.badIdentifier, pointer, "a productID has 1 to 255 bytes and no control characters")
            return nil
        }
        if let first = places[id] {
            fail(.duplicateProduct, pointer, "the product \(id) stands already at \(first)")
            return nil
        }
        places[id] = place.pointer
        return id
    }

    // MARK: - Subscriptions

    private mutating func readGroups(_ groups: [Place]) {
        var seen: [String: String] = [:]
        for group in groups {
            guard case .object = group.value else {
                fail(.wrongShape, group.pointer, "a subscription group is a JSON object")
                continue
            }
            guard let id = text(group, "id"), !id.isEmpty else {
                fail(.missingField, "\(group.pointer)/id", "the id of the subscription group is missing")
                continue
            }
            if let first = seen[id] {
                fail(.duplicateGroup, "\(group.pointer)/id", "the group \(id) stands already at \(first)")
                continue
            }
            seen[id] = group.pointer
            for place in list(group, "subscriptions") { readSubscription(place, group: id) }
        }
    }

    private mutating func readSubscription(_ place: Place, group: String) {
        guard let id = productID(place) else { return }
        if let type = text(place, "type"), type != "RecurringSubscription" {
            warn(.unknownType, "\(place.pointer)/type", "\(type) in a subscription group is read as a subscription")
        }
        if let stated = text(place, "subscriptionGroupID"), stated != group {
            warn(
                .groupMismatch, "\(place.pointer)/subscriptionGroupID",
                "the product \(id) names the group \(stated) but stands in \(group), where it is sold")
        }
        let price = price(place, of: "the product \(id)")
        let period = period(place, "recurringSubscriptionPeriod", of: "the product \(id)")
        let level = count(place, "groupNumber") ?? 1
        let introductory = place["introductoryOffer"].flatMap { offer($0, isIntroductory: true) }
        let adHoc = list(place, "adHocOffers").compactMap { place in offer(place).map { (place.pointer, $0) } }
        let codes = list(place, "codeOffers").compactMap { offer($0, isSold: false) }
        let winBacks = list(place, "winbackOffers").compactMap { offer($0, isSold: false) }
        warnAboutRepeated(adHoc)
        guard let price, let period else { return }
        let terms = SubscriptionTerms(
            groupID: group, level: level, period: period, introductoryOffer: introductory,
            promotionalOffers: adHoc.map(\.1))
        var item = item(id, .autoRenewableSubscription, price, place, terms)
        item.codeOffers = codes
        item.winBackOffers = winBacks
        items.append(item)
    }

    private mutating func warnAboutRepeated(_ offers: [(pointer: String, offer: Offer)]) {
        var seen: Set<String> = []
        for (pointer, offer) in offers {
            guard let id = offer.id, !seen.insert(id).inserted else { continue }
            warn(.duplicateOffer, pointer, "the offer \(id) stands more than once; the first is sold")
        }
    }

    /// An offer; what is not sold is only warned about and left out.
    private mutating func offer(_ place: Place, isIntroductory: Bool = false, isSold: Bool = true) -> Offer? {
        let before = findings.count
        defer { if !isSold { for index in before..<findings.count { findings[index].severity = .warning } } }
        let id = isIntroductory ? nil : text(place, "offerID") ?? text(place, "referenceName")
        if !isIntroductory, id == nil {
            fail(.missingField, "\(place.pointer)/offerID", "the offerID is missing")
            return nil
        }
        guard let word = text(place, "paymentMode") else {
            fail(.missingField, "\(place.pointer)/paymentMode", "the payment mode of the offer is missing")
            return nil
        }
        guard let mode = Self.paymentModes[word] else {
            warn(.unknownPaymentMode, "\(place.pointer)/paymentMode", "the offer is left out: unknown mode \(word)")
            return nil
        }
        let isFree = mode == .freeTrial
        let price = isFree ? nil : price(place, of: "the offer")
        guard let period = period(place, "subscriptionPeriod", of: "the offer"), isFree || price != nil else {
            return nil
        }
        return Offer(
            id: id, paymentMode: mode, period: period, periodCount: count(place, "numberOfPeriods") ?? 1, price: price)
    }

    private static let paymentModes: [String: Offer.PaymentMode] = [
        "free": .freeTrial, "payAsYouGo": .payAsYouGo, "payUpFront": .payUpFront,
    ]

    // MARK: - Fields

    private mutating func list(_ place: Place, _ name: String) -> [Place] {
        guard let member = place[name] else { return [] }
        guard let elements = member.value.arrayValue else {
            fail(.wrongShape, member.pointer, "\(name) is a list")
            return []
        }
        return elements.enumerated().map { Place(value: $1, pointer: "\(member.pointer)/\($0)") }
    }

    private mutating func text(_ place: Place, _ name: String) -> String? {
        guard let member = place[name] else { return nil }
        if member.value.stringValue == nil { fail(.wrongShape, member.pointer, "\(name) is a text") }
        return member.value.stringValue
    }

    private mutating func count(_ place: Place, _ name: String) -> Int? {
        guard let member = place[name] else { return nil }
        guard let value = member.value.intValue, (1...1000).contains(value) else {
            fail(.badCount, member.pointer, "\(name) is a whole number from 1 to 1000")
            return nil
        }
        return value
    }

    private mutating func period(_ place: Place, _ name: String, of whom: String) -> SubscriptionPeriod? {
        guard let text = text(place, name) else {
            if place[name] == nil {
                fail(.missingField, "\(place.pointer)/\(name)", "the \(name) of \(whom) is missing")
            }
            return nil
        }
        guard let period = SubscriptionPeriod(iso8601: text) else {
            fail(.badPeriod, "\(place.pointer)/\(name)", "\"\(text)\" is no period; write P1W, P1M, P1Y or the like")
            return nil
        }
        return period
    }

    /// A decimal text from 0 to 1,000,000 with at most three decimals, the store's milliunits.
    private mutating func price(_ place: Place, of whom: String) -> Price? {
        let pointer = "\(place.pointer)/displayPrice"
        guard let member = place["displayPrice"] else {
            fail(.missingField, pointer, "the displayPrice of \(whom) is missing")
            return nil
        }
        let text: String? =
            if case .number(let number) = member.value { number.text } else { member.value.stringValue }
        guard let text, let amount = JSONNumber(text: text)?.decimal, amount >= 0, amount <= 1_000_000,
            Price(milliunits: Price(amount: amount, currency: "").milliunits, currency: "").amount == amount
        else {
            fail(
                .badPrice, pointer,
                "\(member.value) is no price; write a decimal text such as \"4.99\", with at most three decimals")
            return nil
        }
        return Price(amount: amount, currency: storefront.currency)
    }
}

import Foundation
import GooglePlay
import Primitives
import StoreModel

/// Reads a catalogue of Google Play and collects all findings.
struct PlayCatalogueReader: CatalogueFieldReader {
    let file: String
    var findings: [CatalogueFinding] = []
    private var places: [ProductID: String] = [:]

    init(file: String) { self.file = file }

    /// Returns the catalogue, or `nil` if a finding is an error.
    mutating func read(_ bytes: [UInt8]) -> PlayCatalogue? {
        guard let root = document(bytes, "a catalogue of Google Play should be a JSON object") else { return nil }
        let package = packageName(root)
        let region = region(root, isRequired: false) ?? "US"
        let products = list(root, "oneTimeProducts").compactMap { product($0) }
        let subscriptions = list(root, "subscriptions").compactMap { subscription($0) }
        if products.isEmpty, subscriptions.isEmpty, !hasErrors {
            warn(.noProducts, "", "the catalogue has no products")
        }
        guard !hasErrors, let package else { return nil }
        return PlayCatalogue(
            packageName: package, regionCode: region, products: products, subscriptions: subscriptions,
            warnings: findings)
    }

    private mutating func packageName(_ root: JSONPlace) -> PackageName? {
        guard let text = text(root, "packageName") else {
            if root["packageName"] == nil { fail(.missingField, "/packageName", "the packageName is missing") }
            return nil
        }
        guard let name = PackageName(rawValue: text) else {
            fail(.badIdentifier, "/packageName", "a packageName has \(PackageName.rule)")
            return nil
        }
        return name
    }

    mutating func region(_ place: JSONPlace, isRequired: Bool = true) -> String? {
        guard let text = text(place, "regionCode") else {
            if isRequired, place["regionCode"] == nil {
                fail(.missingField, "\(place.pointer)/regionCode", "the regionCode is missing")
            }
            return nil
        }
        guard text.utf8.count == 2, text.utf8.allSatisfy({ (0x41...0x5A).contains($0) }) else {
            fail(.unknownStorefront, "\(place.pointer)/regionCode", "a regionCode is two capital letters such as US")
            return nil
        }
        return text
    }

    /// Reads the identifier of a product, which is unique in the file.
    private mutating func productID(_ place: JSONPlace) -> ProductID? {
        let pointer = "\(place.pointer)/productId"
        guard place.isObject else {
            fail(.wrongShape, place.pointer, "a product should be a JSON object")
            return nil
        }
        guard let text = text(place, "productId") else {
            if place["productId"] == nil { fail(.missingField, pointer, "the productId is missing") }
            return nil
        }
        guard Self.isProductID(text) else {
            fail(
                .badIdentifier, pointer,
                "a productId has 1 to 40 small letters, digits, underscores and periods, and begins with a letter or digit"
            )
            return nil
        }
        let id = ProductID(unchecked: text)
        if let first = places[id] {
            fail(.duplicateProduct, pointer, "the product \(id) is already at \(first)")
            return nil
        }
        places[id] = place.pointer
        return id
    }

    private static func isProductID(_ text: String) -> Bool {
        guard (1...40).contains(text.utf8.count), let first = text.utf8.first else { return false }
        return first != UInt8(ascii: "_") && first != UInt8(ascii: ".")
            && text.utf8.allSatisfy { isLabel($0) && $0 != UInt8(ascii: "-") || [0x5F, 0x2E].contains($0) }
    }

    private static func isLabel(_ byte: UInt8) -> Bool {
        (0x61...0x7A).contains(byte) || (0x30...0x39).contains(byte) || byte == UInt8(ascii: "-")
    }

    /// Reads the identifier of a base plan, an offer or a purchase option (RFC 1034).
    mutating func label(_ place: JSONPlace, _ name: String, _ known: [String]) -> String? {
        let pointer = "\(place.pointer)/\(name)"
        guard let text = text(place, name) else {
            if place[name] == nil { fail(.missingField, pointer, "the \(name) is missing") }
            return nil
        }
        guard (1...63).contains(text.utf8.count), text.utf8.allSatisfy(Self.isLabel) else {
            fail(.badIdentifier, pointer, "a \(name) has 1 to 63 small letters, digits and hyphens")
            return nil
        }
        guard !known.contains(where: { $0.hasSameBytes(as: text) }) else {
            fail(.duplicateOffer, pointer, "the \(name) \(text) is already used in this product")
            return nil
        }
        return text
    }

    private mutating func title(_ place: JSONPlace, _ id: ProductID) -> String {
        list(place, "listings").compactMap { text($0, "title") }.first ?? id.rawValue
    }

    mutating func tags(_ place: JSONPlace) -> [String] {
        list(place, "offerTags").compactMap { text($0, "tag") }
    }

    mutating func isActive(_ place: JSONPlace) -> Bool {
        guard let state = text(place, "state") else { return true }
        if !["ACTIVE", "INACTIVE", "DRAFT", "INACTIVE_PUBLISHED", "STATE_UNSPECIFIED"].contains(state) {
            warn(.unknownType, "\(place.pointer)/state", "the state \(state) is not known; the item is not sold")
        }
        return state == "ACTIVE"
    }

    // MARK: - One-time products

    private mutating func product(_ place: JSONPlace) -> PlayProduct? {
        guard let id = productID(place) else { return nil }
        var options: [PlayProduct.Option] = []
        for entry in list(place, "purchaseOptions") {
            guard let option = label(entry, "purchaseOptionId", options.map(\.id)) else { continue }
            if entry["rentOption"] != nil {
                warn(.unknownType, "\(entry.pointer)/rentOption", "rentals are not simulated; the option is not sold")
                continue
            }
            let several = entry["buyOption"].flatMap { flag($0, "multiQuantityEnabled") } ?? false
            let prices = prices(entry, "regionalPricingAndAvailabilityConfigs") {
                $0["availability"].map { $0.value == "AVAILABLE" } ?? true
            }
            options.append(
                .init(
                    id: option, allowsSeveral: several, isActive: isActive(entry), tags: tags(entry), prices: prices))
        }
        if options.isEmpty {
            warn(.noProducts, "\(place.pointer)/purchaseOptions", "the product \(id) has no option that is sold")
        }
        return PlayProduct(
            id: id, title: title(place, id), options: options, offers: productOffers(place, of: options))
    }

    /// Reads the prices of the regions for which `isSold` returns `true`.
    private mutating func prices(
        _ place: JSONPlace, _ name: String, isSold: (JSONPlace) -> Bool
    ) -> [PlayPrice] {
        var prices: [PlayPrice] = []
        for entry in list(place, name) {
            guard let region = region(entry) else { continue }
            guard prices.price(in: region) == nil else {
                fail(.duplicateProduct, "\(entry.pointer)/regionCode", "the region \(region) is named twice")
                continue
            }
            guard isSold(entry) else { continue }
            guard let price = money(entry, "price"), price.billionths > 0 else {
                if entry["price"] == nil {
                    fail(.missingField, "\(entry.pointer)/price", "the price in \(region) is missing")
                } else if !hasErrors {
                    fail(.badPrice, "\(entry.pointer)/price", "the price in \(region) should be over 0")
                }
                continue
            }
            prices.append(PlayPrice(regionCode: region, price: price))
        }
        if prices.isEmpty, !hasErrors {
            warn(.badPrice, "\(place.pointer)/\(name)", "there is no region with a price; the item is not sold")
        }
        return prices
    }

    /// Reads an amount from 0 to 1,000,000,000 units.
    mutating func money(_ place: JSONPlace, _ name: String) -> AndroidPublisher.Money? {
        guard let member = place[name] else { return nil }
        guard let money = try? WireJSON.decode(AndroidPublisher.Money.self, from: member.value),
            money.currencyCode.utf8.count == 3, money.currencyCode.utf8.allSatisfy({ (0x41...0x5A).contains($0) }),
            money.billionths >= 0, money.units <= 1_000_000_000
        else {
            fail(
                .badPrice, member.pointer,
                "this is not a price; write {\"currencyCode\": \"USD\", \"units\": \"4\", \"nanos\": 990000000}")
            return nil
        }
        return money
    }

    // MARK: - Subscriptions

    private mutating func subscription(_ place: JSONPlace) -> PlaySubscriptionProduct? {
        guard let id = productID(place) else { return nil }
        var plans: [PlayBasePlan] = []
        for entry in list(place, "basePlans") {
            if let plan = basePlan(entry, plans.map(\.id)) { plans.append(plan) }
        }
        var offers: [PlayOffer] = []
        for entry in list(place, "offers") {
            if let offer = offer(entry, of: id, plans, offers) { offers.append(offer) }
        }
        if plans.isEmpty { warn(.noProducts, "\(place.pointer)/basePlans", "the subscription \(id) has no base plan") }
        return PlaySubscriptionProduct(id: id, title: title(place, id), basePlans: plans, offers: offers)
    }

    private static let planTypes = [
        "autoRenewingBasePlanType", "prepaidBasePlanType", "installmentsBasePlanType",
    ]

    private mutating func basePlan(_ place: JSONPlace, _ known: [String]) -> PlayBasePlan? {
        guard let id = label(place, "basePlanId", known) else { return nil }
        let types = Self.planTypes.filter { place[$0] != nil }
        guard types.count == 1, let type = place[types[0]] else {
            fail(
                .missingField, place.pointer, "a base plan should have one of \(Self.planTypes.joined(separator: ", "))"
            )
            return nil
        }
        guard let period = period(type, "billingPeriodDuration", of: "the base plan \(id)") else { return nil }
        var plan = PlayBasePlan(id: id, kind: .autoRenewing, period: period)
        switch types[0] {
        case "prepaidBasePlanType":
            plan.kind = .prepaid
            plan.allowsExtension = text(type, "timeExtension") != "TIME_EXTENSION_INACTIVE"
        case "installmentsBasePlanType":
            plan.kind = .installments
            guard let count = count(type, "committedPaymentsCount"), count > 1 else {
                fail(
                    .badCount, "\(type.pointer)/committedPaymentsCount",
                    "an instalments plan should have at least two committed payments")
                return nil
            }
            plan.committedPayments = count
            plan.renewsWithCommitment = text(type, "renewalType") == "RENEWAL_TYPE_RENEWS_WITH_COMMITMENT"
        default: break
        }
        if plan.kind != .prepaid { recoveryPeriods(type, &plan) }
        plan.isActive = isActive(place)
        plan.tags = tags(place)
        plan.prices = prices(place, "regionalConfigs") { $0["newSubscriberAvailability"]?.value == true }
        return plan
    }

    /// Reads the grace period and the account hold, which together last 30 to 60 days.
    private mutating func recoveryPeriods(_ place: JSONPlace, _ plan: inout PlayBasePlan) {
        let start = Date(timeIntervalSince1970: 0)
        let length = Int(plan.period.end(from: start).timeIntervalSince(start) / 86400)
        let longest = min(30, length)
        let grace = days(place, "gracePeriodDuration", 0...longest) ?? (length < 28 ? 3 : 7)
        let hold = days(place, "accountHoldDuration", 0...60) ?? 60 - grace
        if !(30...60).contains(grace + hold), !hasErrors {
            fail(
                .badPeriod, place.pointer,
                "gracePeriodDuration and accountHoldDuration are \(grace) and \(hold) days; together they should be 30 to 60"
            )
        }
        plan.graceDays = grace
        plan.holdDays = hold
    }

    private mutating func days(_ place: JSONPlace, _ name: String, _ range: ClosedRange<Int>) -> Int? {
        guard let text = text(place, name) else { return nil }
        guard text.hasPrefix("P"), text.hasSuffix("D"), let days = Int(text.dropFirst().dropLast()),
            range.contains(days)
        else {
            fail(
                .badPeriod, "\(place.pointer)/\(name)",
                "\(text) is not a period of \(range.lowerBound) to \(range.upperBound) days such as P7D")
            return nil
        }
        return days
    }

    private mutating func offer(
        _ place: JSONPlace, of product: ProductID, _ plans: [PlayBasePlan], _ offers: [PlayOffer]
    ) -> PlayOffer? {
        guard let named = text(place, "basePlanId"), let plan = plans.first(where: { $0.id.hasSameBytes(as: named) })
        else {
            fail(.groupMismatch, "\(place.pointer)/basePlanId", "an offer should name a base plan of its subscription")
            return nil
        }
        guard let id = label(place, "offerId", offers.filter { $0.basePlanID == plan.id }.map(\.id)) else { return nil }
        guard plan.kind != .prepaid else {
            fail(.groupMismatch, "\(place.pointer)/basePlanId", "a prepaid base plan has no offers")
            return nil
        }
        let regions = list(place, "regionalConfigs").filter { $0["newSubscriberAvailability"]?.value == true }
            .compactMap { region($0) }
        let phases = list(place, "phases")
        guard (1...2).contains(phases.count) else {
            fail(.badCount, "\(place.pointer)/phases", "an offer should have one or two phases")
            return nil
        }
        return PlayOffer(
            id: id, basePlanID: plan.id,
            phases: phases.compactMap { phase($0, plan, regions) },
            audience: audience(place["targeting"], of: product), isActive: isActive(place),
            tags: plan.tags + tags(place))
    }

    private mutating func audience(_ place: JSONPlace?, of product: ProductID) -> PlayOffer.Audience {
        if let rule = place?["acquisitionRule"] {
            return rule["scope"]?["anySubscriptionInApp"] != nil ? .newToApp : .newToSubscription
        }
        if let rule = place?["upgradeRule"] {
            let named = rule["scope"]?["specificSubscriptionInApp"]?.value.stringValue
            return .upgrade(
                from: named.flatMap { ProductID(rawValue: $0) } ?? product,
                period: text(rule, "billingPeriodDuration").flatMap { SubscriptionPeriod(iso8601: $0) },
                isOncePerUser: flag(rule, "oncePerUser") ?? false)
        }
        return .anyone
    }

    private mutating func phase(
        _ place: JSONPlace, _ plan: PlayBasePlan, _ regions: [String]
    ) -> PlayOffer.Phase? {
        guard let duration = period(place, "duration", of: "the phase"), let count = count(place, "recurrenceCount")
        else {
            if place["recurrenceCount"] == nil {
                fail(.missingField, "\(place.pointer)/recurrenceCount", "the recurrenceCount is missing")
            }
            return nil
        }
        var prices: [PlayPrice] = []
        for entry in list(place, "regionalConfigs") {
            guard let region = region(entry), let base = plan.prices.price(in: region) else { continue }
            guard let price = phasePrice(entry, base, isWholePeriod: duration == plan.period) else { continue }
            prices.append(PlayPrice(regionCode: region, price: price))
        }
        for region in regions where prices.price(in: region) == nil && !hasErrors {
            fail(
                .missingField, "\(place.pointer)/regionalConfigs",
                "the offer is sold in \(region), but the phase or the base plan has no price there")
        }
        return PlayOffer.Phase(
            duration: duration, count: count, prices: prices.filter { regions.contains($0.regionCode) })
    }

    /// Reads the price of a phase: free, an amount, or a discount on the base plan's price.
    private mutating func phasePrice(
        _ place: JSONPlace, _ base: AndroidPublisher.Money, isWholePeriod: Bool
    ) -> AndroidPublisher.Money? {
        if place["free"] != nil { return .zero(base.currencyCode) }
        if place["price"] != nil {
            guard let price = money(place, "price") else { return nil }
            guard price.currencyCode == base.currencyCode, price.billionths > 0 else {
                fail(
                    .badPrice, "\(place.pointer)/price",
                    "the price of a phase should be over 0 and in \(base.currencyCode), as its base plan")
                return nil
            }
            return price
        }
        guard isWholePeriod else {
            fail(
                .offerPeriod, place.pointer,
                "a discount is simulated only for phases as long as the billing period; write a price")
            return nil
        }
        if let price = discountedPrice(place, base) { return price }
        fail(
            .badPrice, place.pointer,
            "a phase should be free, or have a price, an absoluteDiscount below the price or a relativeDiscount between 0 and 1"
        )
        return nil
    }
}

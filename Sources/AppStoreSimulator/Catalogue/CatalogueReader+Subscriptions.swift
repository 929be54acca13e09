import Foundation
import Primitives
import StoreModel

/// Reads subscription groups, their products and the products' offers.
extension CatalogueReader {
    mutating func readGroups(_ places: [JSONPlace]) {
        var seen: [String: String] = [:]
        for place in places {
            guard place.isObject else {
                fail(.wrongShape, place.pointer, "a subscription group should be a JSON object")
                continue
            }
            guard let id = name(place, "id"), !id.isEmpty else {
                if place["id"] == nil || place["id"]?.value.stringValue?.isEmpty == true {
                    fail(.missingField, "\(place.pointer)/id", "the id of the subscription group is missing")
                }
                continue
            }
            if let first = seen[id] {
                fail(.duplicateGroup, "\(place.pointer)/id", "the group \(id) is already at \(first)")
                continue
            }
            seen[id] = place.pointer
            var group = CatalogueGroup(
                id: id, name: text(place, "name") ?? id, localizations: texts(place), pointer: place.pointer)
            let products = list(place, "subscriptions")
            for product in products {
                readSubscription(product, in: &group)
                guard products.count > 1, product.isObject, product["groupNumber"] == nil else { continue }
                warn(
                    .missingLevel, "\(product.pointer)/groupNumber",
                    "the level of the product is missing; it is read as the highest, 1")
            }
            groups.append(group)
        }
    }

    private mutating func readSubscription(_ place: JSONPlace, in group: inout CatalogueGroup) {
        guard let id = productID(place) else { return }
        let owner = "the product \(id)"
        if let type = text(place, "type"), type != "RecurringSubscription" {
            warn(.unknownType, "\(place.pointer)/type", "\(type) in a subscription group is read as a subscription")
        }
        if let stated = name(place, "subscriptionGroupID"), stated != group.id {
            warn(
                .groupMismatch, "\(place.pointer)/subscriptionGroupID",
                "\(owner) names the group \(stated) but is in the group \(group.id); it is sold in \(group.id)")
        }
        let internalID = internalID(place)
        let price = price(place, of: owner)
        let period = period(place, "recurringSubscriptionPeriod", of: owner)
        if let period, !Self.periodsOnSale.contains(period) {
            warn(
                .unusualPeriod, "\(place.pointer)/recurringSubscriptionPeriod",
                "the App Store has periods of a week, of 1, 2, 3 or 6 months and of a year, not \(period.iso8601)")
        }
        let level = count(place, "groupNumber") ?? 1
        let introductory = introductoryOffers(place)
        let promotional = list(place, "adHocOffers").compactMap { entry in
            offer(entry, named: .required).map { (entry.pointer, $0) }
        }
        warnAboutRepeated(promotional.map { ($0.0, $0.1.id) })
        let codes = offerCodes(place)
        let winBacks = winBackOffers(place)
        let plans = billingPlans(place, price, period)
        guard let price, let period else { return }
        warnAboutLengths(place, period)
        let soldPromotional = promotional.map(\.1).filter { $0.billingPlan == .upFront }
        let terms = SubscriptionTerms(
            groupID: group.id, groupDisplayName: group.displayName(for: storefront.locale), level: level,
            period: period, introductoryOffer: introductory.first { $0.billingPlan == .upFront }?.offer,
            promotionalOffers: soldPromotional.map(\.offer),
            winBackOffers: winBacks.filter { $0.billingPlan == .upFront }.map(\.offer))
        var item = item(id, .autoRenewableSubscription, price, place, internalID, terms)
        item.introductoryOffers = introductory
        item.promotionalOffers = promotional.map(\.1)
        item.offerCodes = codes
        item.winBackOffers = winBacks
        item.billingPlans = plans
        let monthly = item.monthlyPlan
        item.subscription?.monthlyPlan = monthly.map { plan in
            SubscriptionTerms.MonthlyPlan(
                price: plan.price, billCount: BillingPlan.billCount,
                introductoryOffer: introductory.first { $0.billingPlan == .monthly }?.offer,
                promotionalOffers: promotional.map(\.1).filter { $0.billingPlan == .monthly }.map(\.offer),
                winBackOffers: winBacks.filter { $0.billingPlan == .monthly }.map(\.offer))
        }
        items.append(item)
        group.products.append(id)
    }

    private static let periodsOnSale: Set<SubscriptionPeriod> = [
        .weeks(1), .days(7), .months(1), .months(2), .months(3), .months(6), .years(1), .months(12),
    ]

    /// Reads the introductory offers. Version 5 of the format has a list, with one offer for each billing plan, beside
    /// the older single field.
    private mutating func introductoryOffers(_ place: JSONPlace) -> [CatalogueOffer] {
        var plans: Set<BillingPlan.Kind> = []
        let listed = list(place, "introductoryOffers").compactMap { entry -> CatalogueOffer? in
            guard let read = offer(entry, named: .none) else { return nil }
            if !plans.insert(read.billingPlan).inserted {
                warn(.duplicateOffer, entry.pointer, "this billing plan already has an introductory offer")
            }
            return read
        }
        guard listed.isEmpty, let single = place["introductoryOffer"] else { return listed }
        return offer(single, named: .none).map { [$0] } ?? []
    }

    private mutating func offerCodes(_ place: JSONPlace) -> [OfferCode] {
        var seen: [(String, String?)] = []
        let offers = list(place, "codeOffers").compactMap { entry -> OfferCode? in
            guard let read = offer(entry, named: .byReference) else { return nil }
            seen.append((entry.pointer, read.id))
            return OfferCode(
                offer: read.offer, referenceName: read.referenceName, internalID: read.internalID,
                billingPlan: read.billingPlan, eligibility: eligibility(entry),
                isStackable: flag(entry, "isStackable") ?? true)
        }
        warnAboutRepeated(seen)
        return offers
    }

    private mutating func winBackOffers(_ place: JSONPlace) -> [WinBackOffer] {
        var seen: [(String, String?)] = []
        let offers = list(place, "winbackOffers").compactMap { entry -> WinBackOffer? in
            guard let read = offer(entry, named: .byReference) else { return nil }
            seen.append((entry.pointer, read.id))
            return WinBackOffer(
                offer: read.offer, referenceName: read.referenceName, internalID: read.internalID,
                billingPlan: read.billingPlan, isEligible: flag(entry, "isEligible") ?? true)
        }
        warnAboutRepeated(seen)
        return offers
    }

    /// Reads the eligible customers. Without the member, all are eligible.
    private mutating func eligibility(_ place: JSONPlace) -> Set<OfferCode.Customer> {
        guard place["eligibility"] != nil else { return OfferCode.Customer.all }
        var customers: Set<OfferCode.Customer> = []
        for entry in list(place, "eligibility") {
            guard let word = entry.value.stringValue else {
                fail(.wrongShape, entry.pointer, "a kind of customer should be a string: new, existing or expired")
                continue
            }
            let customer = OfferCode.Customer(rawValue: word)
            if !OfferCode.Customer.all.contains(customer) {
                warn(
                    .unknownEligibility, entry.pointer,
                    "\(word) is not new, existing or expired; no customer matches it")
            }
            customers.insert(customer)
        }
        if customers.isEmpty {
            warn(.unknownEligibility, "\(place.pointer)/eligibility", "no customer is eligible for the offer")
        }
        return customers
    }

    private mutating func warnAboutRepeated(_ offers: [(pointer: String, id: String?)]) {
        var seen: Set<String> = []
        for (pointer, id) in offers {
            guard let id, !seen.insert(id).inserted else { continue }
            warn(.duplicateOffer, pointer, "the offer \(id) is in the file more than once; the first is sold")
        }
    }

    /// Warns about a pay-as-you-go offer whose period differs from that of its product, because both are billed
    /// together.
    private mutating func warnAboutLengths(_ place: JSONPlace, _ period: SubscriptionPeriod) {
        let lists = ["introductoryOffers", "adHocOffers", "codeOffers", "winbackOffers"]
        let offers = lists.flatMap { place[$0]?.elements ?? [] } + [place["introductoryOffer"]].compactMap(\.self)
        for offer in offers where offer["paymentMode"]?.value.stringValue == "payAsYouGo" {
            guard offer["billingPlanType"]?.value.stringValue != BillingPlan.Kind.monthly.rawValue,
                let stated = offer["subscriptionPeriod"]?.value.stringValue.flatMap({ SubscriptionPeriod(iso8601: $0) }
                ),
                stated.inSmallUnits != period.inSmallUnits
            else { continue }
            warn(
                .offerPeriod, "\(offer.pointer)/subscriptionPeriod",
                "a pay-as-you-go offer is billed with its product, every \(period.iso8601), not \(stated.iso8601)")
        }
    }

    /// The origin of an offer's identifier. The set is closed.
    private enum Naming { case none, required, byReference }

    private mutating func offer(_ place: JSONPlace, named naming: Naming) -> CatalogueOffer? {
        guard place.isObject else {
            fail(.wrongShape, place.pointer, "an offer should be a JSON object")
            return nil
        }
        let reference = naming == .byReference ? name(place, "referenceName") : text(place, "referenceName")
        let stated = name(place, "offerID").flatMap { $0.isEmpty ? nil : $0 }
        let internalID = naming == .none ? text(place, "internalID") : internalID(place)
        let id: String? =
            switch naming {
            case .none: nil
            case .required: stated
            case .byReference: stated ?? [reference, internalID].compactMap(\.self).first { !$0.isEmpty }
            }
        if naming != .none, id == nil {
            let what = naming == .required ? "offerID" : "offerID (or a referenceName)"
            fail(.missingField, "\(place.pointer)/offerID", "the \(what) is missing")
            return nil
        }
        guard let word = text(place, "paymentMode") else {
            if place["paymentMode"] == nil {
                fail(.missingField, "\(place.pointer)/paymentMode", "the payment mode of the offer is missing")
            }
            return nil
        }
        guard let mode = Self.paymentModes[word] else {
            warn(
                .unknownPaymentMode, "\(place.pointer)/paymentMode",
                "the offer is ignored: its mode \(word) is not known")
            return nil
        }
        let isFree = mode == .freeTrial
        let price = isFree ? nil : price(place, of: "the offer")
        let count = count(place, "numberOfPeriods") ?? 1
        let plan = planKind(place)
        guard let period = period(place, "subscriptionPeriod", of: "the offer"), isFree || price != nil else {
            return nil
        }
        return CatalogueOffer(
            offer: Offer(id: id, paymentMode: mode, period: period, periodCount: count, price: price),
            referenceName: reference, internalID: internalID, billingPlan: plan)
    }

    private static let paymentModes: [String: Offer.PaymentMode] = [
        "free": .freeTrial, "payAsYouGo": .payAsYouGo, "payUpFront": .payUpFront,
    ]

    private mutating func planKind(_ place: JSONPlace) -> BillingPlan.Kind {
        guard let word = text(place, "billingPlanType") else { return .upFront }
        let kind = BillingPlan.Kind(rawValue: word)
        if kind != .upFront, kind != .monthly {
            warn(.unknownBillingPlan, "\(place.pointer)/billingPlanType", "the billing plan \(word) is not known")
        }
        return kind
    }

    /// Warns about a monthly plan of a product that is not yearly, and about a commitment whose price is not that of its
    /// bills.
    private mutating func warnAboutCommitment(
        _ place: JSONPlace, _ price: Price, _ commitment: Price?, _ period: SubscriptionPeriod?
    ) {
        if let period, period.inSmallUnits != .months(BillingPlan.billCount) {
            warn(
                .unusualPeriod, "\(place.pointer)/billingPlanType",
                "only a subscription of a year can be billed monthly; this plan is not sold")
        }
        let sum = price.amount * Decimal(BillingPlan.billCount)
        if let commitment, commitment.amount != sum {
            warn(
                .planPrice, "\(place.pointer)/commitmentDisplayPrice",
                "the price of the commitment is \(commitment.amount), but it is sold at the price of its bills, \(sum)")
        }
    }

    private mutating func billingPlans(_ place: JSONPlace, _ full: Price?, _ period: SubscriptionPeriod?)
        -> [BillingPlan]
    {
        list(place, "billingPlans").compactMap { entry in
            guard entry.isObject else {
                fail(.wrongShape, entry.pointer, "a billing plan should be a JSON object")
                return nil
            }
            let kind = planKind(entry)
            let isEnabled = flag(entry, "isEnabled") ?? true
            let commitment =
                entry["commitmentDisplayPrice"] == nil
                ? nil : price(entry, "commitmentDisplayPrice", of: "the commitment")
            guard let price = price(entry, of: "the billing plan") else { return nil }
            if kind == .upFront, isEnabled, let full, price != full {
                warn(
                    .planPrice, "\(entry.pointer)/displayPrice",
                    "the up-front price is \(price.amount), but the product is sold at its displayPrice, \(full.amount)"
                )
            }
            if kind == .monthly, isEnabled { warnAboutCommitment(entry, price, commitment, period) }
            return BillingPlan(
                kind: kind, price: price, commitmentPrice: commitment, isEnabled: isEnabled,
                internalID: internalID(entry))
        }
    }
}

extension SubscriptionPeriod {
    /// The same length in days or months: a week has seven days, a year twelve months.
    fileprivate var inSmallUnits: SubscriptionPeriod {
        switch unit {
        case .week: .days(7 * value)
        case .year: .months(12 * value)
        default: self
        }
    }
}

import Foundation
import StoreModel

/// The random products of the reference model, and the equal catalogue for the store under test.
struct ReferenceCatalogue: Sendable {
    struct Offer: Sendable, Equatable {
        /// Apple's `offerType`.
        var kind: Int
        var id: String?
        /// `free`, `payAsYouGo` or `payUpFront`.
        var mode: String
        var period: String
        var count: Int
        /// The price in thousandths.
        var price: Int
        /// The customers that may redeem an offer code. `isStackable` is whether the introductory offer comes first.
        var customers: Set<String> = []
        var isStackable = true

        /// The number of its transactions.
        var sales: Int { mode == "payAsYouGo" ? count : 1 }
    }

    struct Product: Sendable {
        var id: ProductID
        /// `nil` for a product that does not renew.
        var group: String?
        var level = 1
        var period = ""
        var price: Int
        /// The price of each of twelve bills, if the product can be billed monthly.
        var billPrice: Int?
        var isConsumable = false
        var introductory: Offer?
        var offers: [Offer] = []
    }

    var products: [Product] = []

    subscript(id: ProductID) -> Product? { products.first { $0.id == id } }
    var subscriptions: [Product] { products.filter { $0.group != nil } }

    static let periods = ["P3D", "P1W", "P1M", "P1M", "P2M", "P3M", "P6M", "P1Y"]

    init(_ chance: inout Chance) {
        products = [
            Product(id: "coins", price: 990, isConsumable: true), Product(id: "pack", price: 9990),
        ]
        for group in ["plus", "news"] {
            for number in 1...chance.number(in: 2...4) {
                var product = Product(
                    id: ProductID(unchecked: "\(group).\(number)"), group: group, level: chance.number(in: 1...3),
                    period: chance.happens(25) ? "P1Y" : chance.one(of: Self.periods),
                    price: chance.number(in: 1...40) * 1000 - 10)
                if product.period == "P1Y", chance.happens(75) { product.billPrice = chance.number(in: 1...9) * 1000 }
                if chance.happens(60) { product.introductory = Self.offer(1, nil, for: product, &chance) }
                for (kind, name) in [(2, "promo"), (3, "code"), (4, "back")] where chance.happens(70) {
                    var offer = Self.offer(kind, "\(name).\(group).\(number)", for: product, &chance)
                    if kind == 3 {
                        offer.customers = Set(["new", "existing", "expired"].filter { _ in chance.happens(75) })
                        if offer.customers.isEmpty { offer.customers = ["new"] }
                        offer.isStackable = chance.happens(50)
                    }
                    product.offers.append(offer)
                }
                products.append(product)
            }
        }
    }

    private static func offer(_ kind: Int, _ id: String?, for product: Product, _ chance: inout Chance) -> Offer {
        let mode = chance.one(of: ["free", "payAsYouGo", "payUpFront"])
        return Offer(
            kind: kind, id: id, mode: mode, period: mode == "payAsYouGo" ? product.period : chance.one(of: periods),
            count: mode == "free" ? 1 : chance.number(in: 1...4),
            price: mode == "free" ? 0 : chance.number(in: 1...30) * 100 - 10)
    }

    // MARK: - StoreKit configuration file

    var catalogueText: String {
        let once = products.filter { $0.group == nil }.map {
            #"{"productID": "\#($0.id)", "type": "\#($0.isConsumable ? "Consumable" : "NonConsumable")", "#
                + #""displayPrice": "\#(Self.text($0.price))"}"#
        }
        let groups = Set(products.compactMap(\.group)).sorted().map { group in
            let members = products.filter { $0.group == group }.map(Self.text)
            return #"{"id": "\#(group)", "name": "\#(group)", "subscriptions": [\#(members.joined(separator: ", "))]}"#
        }
        return #"{"version": {"major": 4, "minor": 0}, "settings": {"_storefront": "USA", "_locale": "en_US"}, "#
            + #""products": [\#(once.joined(separator: ", "))], "#
            + #""subscriptionGroups": [\#(groups.joined(separator: ", "))]}"#
    }

    private static func text(_ product: Product) -> String {
        var members = [
            #""productID": "\#(product.id)""#, #""displayPrice": "\#(text(product.price))""#,
            #""recurringSubscriptionPeriod": "\#(product.period)""#, #""groupNumber": \#(product.level)"#,
        ]
        if let price = product.billPrice {
            members.append(
                #""billingPlans": [{"billingPlanType": "MONTHLY", "displayPrice": "\#(text(price))"}]"#)
        }
        if let offer = product.introductory { members.append(#""introductoryOffer": \#(text(offer))"#) }
        for (kind, list) in [(2, "adHocOffers"), (3, "codeOffers"), (4, "winbackOffers")] {
            let offers = product.offers.filter { $0.kind == kind }.map(text)
            members.append(#""\#(list)": [\#(offers.joined(separator: ", "))]"#)
        }
        return "{\(members.joined(separator: ", "))}"
    }

    private static func text(_ offer: Offer) -> String {
        var members = [
            #""paymentMode": "\#(offer.mode)""#, #""subscriptionPeriod": "\#(offer.period)""#,
            #""numberOfPeriods": \#(offer.count)"#, #""displayPrice": "\#(text(offer.price))""#,
        ]
        if let id = offer.id { members.append(#""offerID": "\#(id)""#) }
        if offer.kind == 3 {
            members.append(#""isStackable": \#(offer.isStackable)"#)
            let customers = offer.customers.sorted().map { "\"\($0)\"" }.joined(separator: ", ")
            members.append(#""eligibility": [\#(customers)]"#)
        }
        return "{\(members.joined(separator: ", "))}"
    }

    static func text(_ price: Int) -> String {
        let cents = price / 10
        return "\(cents / 100).\(cents % 100 < 10 ? "0" : "")\(cents % 100)"
    }
}

/// A random number generator with a seed.
struct Chance: RandomNumberGenerator {
    private var state: UInt64
    init(seed: UInt64) { state = seed &* 0x9E37_79B9_7F4A_7C15 &+ 0xD1B5_4A32_D192_ED03 }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }

    mutating func number(in range: ClosedRange<Int>) -> Int { Int.random(in: range, using: &self) }
    mutating func happens(_ percent: Int) -> Bool { number(in: 1...100) <= percent }
    mutating func one<Value>(of values: [Value]) -> Value { values[number(in: 0...values.count - 1)] }
}

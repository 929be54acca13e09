import Foundation
import StoreModel

extension StoreControlWire {
    /// The products that Google Play sells in a country.
    package struct PlayProducts: Codable, Sendable, Equatable {
        package var regionCode: String
        package var products: [PlayProduct]

        package init(regionCode: String, products: [PlayProduct]) {
            self.regionCode = regionCode
            self.products = products
        }
    }

    /// A product of Google Play: a one-time product with purchase options, or a subscription with base plans and offers.
    package struct PlayProduct: Codable, Sendable, Equatable {
        package var productID: ProductID
        package var title: String
        /// `product` or `subscription`.
        package var kind: String
        package var options: [PlayOption]?
        package var basePlans: [PlayBasePlan]?
        package var offers: [PlayOffer]?

        package init(productID: ProductID, title: String, kind: String) {
            self.productID = productID
            self.title = title
            self.kind = kind
        }
    }

    /// A purchase option of a one-time product.
    package struct PlayOption: Codable, Sendable, Equatable {
        package var purchaseOptionID: String
        package var price: Price
        /// Whether several items can be bought at once.
        package var allowsSeveral: Bool
        package var offers: [PlayDiscount]?

        package init(purchaseOptionID: String, price: Price, allowsSeveral: Bool) {
            self.purchaseOptionID = purchaseOptionID
            self.price = price
            self.allowsSeveral = allowsSeveral
        }
    }

    /// A discounted offer of a purchase option.
    package struct PlayDiscount: Codable, Sendable, Equatable {
        package var offerID: String
        package var price: Price
        /// The beginning and the end of the sale; absent without a limit.
        package var startTime: Date?
        package var endTime: Date?

        package init(offerID: String, price: Price, startTime: Date? = nil, endTime: Date? = nil) {
            self.offerID = offerID
            self.price = price
            self.startTime = startTime
            self.endTime = endTime
        }
    }

    package struct PlayBasePlan: Codable, Sendable, Equatable {
        package var basePlanID: String
        /// `autoRenewing`, `prepaid` or `installments`.
        package var kind: String
        package var period: SubscriptionPeriod
        package var price: Price
        /// The payments of a commitment; absent without one.
        package var committedPayments: Int?

        package init(
            basePlanID: String, kind: String, period: SubscriptionPeriod, price: Price, committedPayments: Int? = nil
        ) {
            self.basePlanID = basePlanID
            self.kind = kind
            self.period = period
            self.price = price
            self.committedPayments = committedPayments
        }
    }

    package struct PlayOffer: Codable, Sendable, Equatable {
        package var offerID: String
        package var basePlanID: String
        package var phases: [PlayPhase]

        package init(offerID: String, basePlanID: String, phases: [PlayPhase]) {
            self.offerID = offerID
            self.basePlanID = basePlanID
            self.phases = phases
        }
    }

    /// A phase of an offer: `count` periods of `duration` for `price` each.
    package struct PlayPhase: Codable, Sendable, Equatable {
        package var duration: SubscriptionPeriod
        package var count: Int
        package var price: Price

        package init(duration: SubscriptionPeriod, count: Int, price: Price) {
            self.duration = duration
            self.count = count
            self.price = price
        }
    }

    package struct PlayOrders: Codable, Sendable, Equatable {
        package var orders: [PlayOrder]
        package init(orders: [PlayOrder]) { self.orders = orders }
    }

    /// An order of Google Play: the payment of a purchase or of a period.
    package struct PlayOrder: Codable, Sendable, Equatable {
        package var orderID: String
        package var purchaseToken: String
        package var productID: ProductID
        /// Google's name of the state, such as `PROCESSED`.
        package var state: String
        package var at: Date
        package var total: Price
        package var quantity: Int?
        /// Google's name of the phase of an offer, or `BASE`.
        package var phase: String?
        /// The beginning and the end of the period.
        package var from: Date?
        package var until: Date?
        /// The instant of the latest refund.
        package var refundedAt: Date?

        package init(
            orderID: String, purchaseToken: String, productID: ProductID, state: String, at: Date, total: Price,
            quantity: Int? = nil, phase: String? = nil, from: Date? = nil, until: Date? = nil, refundedAt: Date? = nil
        ) {
            self.orderID = orderID
            self.purchaseToken = purchaseToken
            self.productID = productID
            self.state = state
            self.at = at
            self.total = total
            self.quantity = quantity
            self.phase = phase
            self.from = from
            self.until = until
            self.refundedAt = refundedAt
        }
    }
}

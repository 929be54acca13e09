import Foundation
import StoreModel

/// A subscription product with the terms at which a customer bought it. Renewals have the same terms, except for price
/// increases.
struct Plan: Sendable, Hashable {
    var productID: ProductID
    /// The length of one billing period.
    var period: SubscriptionPeriod
    /// The price of one bill.
    var price: Price
    /// The instant from which this price applies to the customer. Only later increases change it.
    var pricedAt: Date
    /// The country of the purchase and of its renewals; `nil` means the catalogue's.
    var storefront: String? = nil
    /// Present if the customer buys several seats. The price is that of one seat.
    var seats: Seats? = nil
    /// The number of bills of a commitment; `nil` for a plan that is paid up front.
    var bills: Int? = nil

    var billingPlan: BillingPlan.Kind { bills == nil ? .upFront : .monthly }

    /// The price until the end of a commitment, or of one period that is paid up front.
    var termPrice: Price { Price(amount: price.amount * Decimal(bills ?? 1), currency: price.currency) }

    /// Whether `other` is the same product with the same billing plan. The prices can differ.
    func isSame(as other: Plan) -> Bool { productID == other.productID && billingPlan == other.billingPlan }
}

/// An offer under which periods were or will be sold.
struct AppliedOffer: Sendable, Hashable {
    /// The kinds of offers of the App Store. Raw values are Apple's `offerType`. The set is closed.
    enum Kind: Int, Sendable { case introductory = 1, promotional, code, winBack }

    var kind: Kind
    /// `nil` for an introductory offer.
    var id: String?
    var paymentMode: Offer.PaymentMode
    /// The length of one period of the offer.
    var period: SubscriptionPeriod
    var periodCount: Int
    /// `nil` if the offer is free.
    var price: Price?

    init(_ kind: Kind, _ offer: Offer) {
        self.init(
            kind: kind, id: offer.id, paymentMode: offer.paymentMode, period: offer.period,
            periodCount: offer.periodCount, price: offer.price)
    }

    init(
        kind: Kind, id: String?, paymentMode: Offer.PaymentMode, period: SubscriptionPeriod, periodCount: Int,
        price: Price?
    ) {
        self.kind = kind
        self.id = id
        self.paymentMode = paymentMode
        self.period = period
        self.periodCount = periodCount
        self.price = price
    }

    /// The number of transactions under the offer: one per period for `payAsYouGo`, otherwise one for all periods.
    var transactionCount: Int { paymentMode == .payAsYouGo ? periodCount : 1 }

    /// Returns the end of transaction `index` of an offer that begins at `start`.
    func end(from start: Date, index: Int) -> Date {
        period.end(from: start, count: paymentMode == .payAsYouGo ? index + 1 : periodCount)
    }
}

import Foundation
import StoreModel

/// What is sold over and over: a product as it was when its customer took it.
struct Plan: Sendable, Hashable {
    var productID: ProductID
    var period: SubscriptionPeriod
    var price: Price
    /// Since when this price holds for the customer; only later increases concern them.
    var pricedAt: Date
    /// The country in which it was taken, which stays that of its renewals; `nil`: the catalogue's.
    var storefront: String? = nil
}

/// The offer under which periods were, or are to be, sold.
struct AppliedOffer: Sendable, Hashable {
    /// Closed: the offers that the App Store has. Raw values are Apple's `offerType`.
    enum Kind: Int, Sendable { case introductory = 1, promotional, code, winBack }

    var kind: Kind
    /// `nil` for an introductory offer.
    var id: String?
    var paymentMode: Offer.PaymentMode
    /// The length of one of its periods.
    var period: SubscriptionPeriod
    var periodCount: Int
    /// `nil` when it is free.
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

    /// How many transactions it makes: one for each of its periods when it is paid as one goes, else one for all.
    var transactionCount: Int { paymentMode == .payAsYouGo ? periodCount : 1 }

    /// The end of transaction `index`, counted from `start`.
    func end(from start: Date, index: Int) -> Date {
        period.end(from: start, count: paymentMode == .payAsYouGo ? index + 1 : periodCount)
    }
}

import Foundation

/// A price of a web shop, with the way in which the customer pays. The customer buys on the shop's page, not in the
/// app.
public struct WebPricePoint: Hashable, Sendable {
    /// The shop's identifier of the price point.
    public var ident: String
    /// The name of the price point, for customers.
    public var name: String
    /// The way in which the customer pays.
    public var payment: Payment

    /// Creates a price point.
    ///
    /// - Parameters:
    ///   - ident: The shop's identifier of the price point.
    ///   - name: The name of the price point, for customers.
    ///   - payment: The way in which the customer pays.
    public init(ident: String, name: String, payment: Payment) {
        self.ident = ident
        self.name = name
        self.payment = payment
    }

    /// The ways to pay at a web shop. The set is closed. Currencies are ISO 4217 codes.
    public enum Payment: Hashable, Sendable {
        /// One payment, for one period.
        case intro(price: Decimal, period: SubscriptionPeriod, currency: String)
        /// A first period, then regular periods that renew.
        case subscription(
            introPrice: Decimal, introPeriod: SubscriptionPeriod, price: Decimal, period: SubscriptionPeriod,
            currency: String)
        /// One payment, without an expiry.
        case oneTime(price: Decimal, currency: String)
        /// Free of charge.
        case freebie
    }
}

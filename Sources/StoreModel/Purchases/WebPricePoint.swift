import Foundation

/// What a web shop takes for something, and how it is paid. It is bought on the shop's page, not in the app.
public struct WebPricePoint: Hashable, Sendable {
    /// The shop's name for it.
    public var ident: String
    /// What customers read.
    public var name: String
    public var payment: Payment

    public init(ident: String, name: String, payment: Payment) {
        self.ident = ident
        self.name = name
        self.payment = payment
    }

    /// Closed: the ways of paying that seed 000's backend has. Currencies are ISO 4217.
    public enum Payment: Hashable, Sendable {
        /// Once, for one period.
        case intro(price: Decimal, period: SubscriptionPeriod, currency: String)
        /// A first period, then one like the second again and again.
        case subscription(
            introPrice: Decimal, introPeriod: SubscriptionPeriod, price: Decimal, period: SubscriptionPeriod,
            currency: String)
        /// Once, for good.
        case oneTime(price: Decimal, currency: String)
        /// Nothing.
        case freebie
    }
}

import Foundation
import StoreModel

/// What nobody can do from inside an app, at the store and for the account that a contract is run against. Whoever runs
/// the contract fills in what their store can do; what is `nil` leaves the parts that need it out, by name.
package struct StoreControls: Sendable {
    package typealias Act<Subject> = @Sendable (Subject) async throws -> Void

    /// Lets the store's time pass, a calendar period and a little more.
    package var advance: Act<SubscriptionPeriod>?
    /// The customer switches a subscription's renewal off.
    package var cancel: Act<ProductID>?
    /// Who has to approve a payment that was deferred does so.
    package var approve: Act<Payment>?
    package var decline: Act<Payment>?
    package var refund: Act<TransactionID>?
    package var reverseRefund: Act<TransactionID>?
    /// The card behind a subscription stops working, and works again.
    package var failBilling: Act<ProductID>?
    package var resolveBilling: Act<ProductID>?
    /// The price of a subscription rises, and its customers have to agree.
    package var raisePrice: Act<ProductID>?
    /// Whether the device may pay.
    package var setMayPay: Act<Bool>?
    /// The account moves to another storefront, which is returned.
    package var moveAbroad: (@Sendable () async throws -> Storefront)?
    /// Makes an offer code for a subscription that can be redeemed once.
    package var makeOfferCode: (@Sendable (ProductID) async throws -> String)?
    /// The customer begins to buy a product in the store itself.
    package var promote: Act<ProductID>?
    /// Signs a promotional offer as the app's server does.
    package var signOffer: (@Sendable (ProductID, _ offerID: String, UUID?) async throws -> OfferSignature)?

    /// Can do nothing; set what your store can.
    package init() {}
}

import Foundation
import StoreModel

/// Actions outside an app, at the store and for the account of a contract run. Set the actions that your store can
/// perform. The contract skips the parts whose actions are `nil`, and returns their names.
package struct StoreControls: Sendable {
    package typealias Act<Subject> = @Sendable (Subject) async throws -> Void

    /// Advances the store's time by a calendar period and a little more.
    package var advance: Act<SubscriptionPeriod>?
    /// Turns off the renewal of a subscription.
    package var cancel: Act<ProductID>?
    /// Approves a deferred payment.
    package var approve: Act<Payment>?
    package var decline: Act<Payment>?
    package var refund: Act<TransactionID>?
    package var reverseRefund: Act<TransactionID>?
    /// Makes the payments of a subscription fail. `resolveBilling` makes them succeed again.
    package var failBilling: Act<ProductID>?
    package var resolveBilling: Act<ProductID>?
    /// Raises the price of a subscription with the customers' consent.
    package var raisePrice: Act<ProductID>?
    /// Sets whether the device can pay.
    package var setMayPay: Act<Bool>?
    /// Moves the account to another storefront, which is returned.
    package var moveAbroad: (@Sendable () async throws -> Storefront)?
    /// Creates an offer code for a subscription that can be redeemed once.
    package var makeOfferCode: (@Sendable (ProductID) async throws -> String)?
    /// Begins a promoted purchase of the customer.
    package var promote: Act<ProductID>?
    /// Signs a promotional offer as the app's server does.
    package var signOffer: (@Sendable (ProductID, _ offerID: String, UUID?) async throws -> OfferSignature)?

    /// Creates controls without actions.
    package init() {}
}

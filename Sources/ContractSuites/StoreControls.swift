import Foundation
import StoreModel

/// Actions outside an app, at the store and for the account of a contract run. Set the actions that your store can
/// perform. The contract skips the parts whose actions are `nil`, and returns their names.
package struct StoreControls: Sendable {
    package typealias Action<Subject> = @Sendable (Subject) async throws -> Void

    /// Advances the store's time by a calendar period and a little more.
    package var advance: Action<SubscriptionPeriod>?
    /// Turns off the renewal of a subscription.
    package var cancel: Action<ProductID>?
    /// Approves a deferred payment.
    package var approve: Action<Payment>?
    package var decline: Action<Payment>?
    package var refund: Action<TransactionID>?
    package var reverseRefund: Action<TransactionID>?
    /// Makes the payments of a subscription fail. `resolveBilling` makes them succeed again.
    package var failBilling: Action<ProductID>?
    package var resolveBilling: Action<ProductID>?
    /// Raises the price of a subscription so that it needs the customers' consent.
    package var raisePrice: Action<ProductID>?
    /// Sets whether the device can pay.
    package var setMayPay: Action<Bool>?
    /// Moves the account to another storefront, which is returned.
    package var moveAbroad: (@Sendable () async throws -> Storefront)?
    /// Creates an offer code, which can be redeemed once, for a subscription.
    package var makeOfferCode: (@Sendable (ProductID) async throws -> String)?
    /// Begins a promoted purchase of the customer.
    package var promote: Action<ProductID>?
    /// Signs a promotional offer as the app's server does.
    package var signOffer: (@Sendable (ProductID, _ offerID: String, UUID?) async throws -> OfferSignature)?

    /// Creates controls without actions.
    package init() {}
}

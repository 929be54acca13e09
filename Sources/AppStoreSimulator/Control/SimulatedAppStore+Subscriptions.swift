import Foundation
import StoreKitAdapter
import StoreModel

/// What becomes of a subscription. Each names it by a product of its group, throws `unknownAccount` and
/// `unknownSubscription`, and returns its latest transaction.
extension SimulatedAppStore {
    /// Sells the next period now instead of when it is due.
    @discardableResult
    public func renew(_ product: ProductID, for account: AccountName) async throws -> StoreControlWire.Transaction {
        throw Self.unbuilt("Renewing before the period ends")
    }

    /// Turns auto-renewal on again, to `plan` if one is given. Throws `otherGroup`.
    @discardableResult
    public func resume(
        _ product: ProductID, renewingTo plan: ProductID? = nil, for account: AccountName
    ) async throws -> StoreControlWire.Transaction { throw Self.unbuilt("Turning auto-renewal on") }

    /// Ends the current period now.
    @discardableResult
    public func expire(_ product: ProductID, for account: AccountName) async throws -> StoreControlWire.Transaction {
        throw Self.unbuilt("Ending a period")
    }

    /// Lets its payments fail from now on: at the next renewal comes the grace period, if there is one, then billing retry.
    @discardableResult
    public func failBilling(
        _ product: ProductID, for account: AccountName
    ) async throws -> StoreControlWire.Transaction { throw Self.unbuilt("Failing payments") }

    /// Lets its payments work again; what is being retried is paid now.
    @discardableResult
    public func resolveBilling(
        _ product: ProductID, for account: AccountName
    ) async throws -> StoreControlWire.Transaction { throw Self.unbuilt("Failing payments") }

    /// The customer's answer to a higher price; who does not agree no longer renews. Throws `nothingToAnswer`.
    @discardableResult
    public func answerPriceIncrease(
        of product: ProductID, agreeing agrees: Bool, for account: AccountName
    ) async throws -> StoreControlWire.Transaction { throw Self.unbuilt("Price increases") }

    /// All subscriptions of an account, those that share a family's among them, oldest first. Throws `unknownAccount`.
    public func subscriptions(of account: AccountName) async throws -> [StoreControlWire.Subscription] {
        throw Self.unbuilt("Listing subscriptions")
    }

    // MARK: - For all who subscribe

    /// A higher price from the next renewal on. Throws `unknownProduct`, `invalidValue` for a price that is not higher.
    @discardableResult
    public func increasePrice(
        of product: ProductID, _ price: StoreControlWire.NewPrice
    ) async throws -> StoreControlWire.PriceIncrease { throw Self.unbuilt("Price increases") }

    /// The increases there were, oldest first.
    public func priceIncreases() throws -> [StoreControlWire.PriceIncrease] { throw Self.unbuilt("Price increases") }

    /// Sells a product no longer, or again; its subscriptions end with their period. Throws `unknownProduct`.
    public func setWithdrawn(_ product: ProductID, _ isWithdrawn: Bool) async throws {
        throw Self.unbuilt("Withdrawing products")
    }
}

import Foundation
import StoreKitAdapter
import StoreModel

/// What becomes of single transactions, and of orders that have none yet. Each throws `unknownTransaction`.
extension SimulatedAppStore {
    /// Gives the price back, whole or in part; devices hear of it. Throws `alreadyRevoked`.
    @discardableResult
    public func refund(
        _ transaction: TransactionID, _ request: StoreControlWire.Refund = .init()
    ) async throws -> StoreControlWire.Transaction { throw Self.unbuilt("Refunding") }

    /// Takes a refund back. Throws `notRefunded`.
    @discardableResult
    public func reverseRefund(_ transaction: TransactionID) async throws -> StoreControlWire.Transaction {
        throw Self.unbuilt("Refunding")
    }

    /// Takes access away without giving money back, as when a family no longer shares. Throws `alreadyRevoked`.
    @discardableResult
    public func revoke(_ transaction: TransactionID) async throws -> StoreControlWire.Transaction {
        throw Self.unbuilt("Revoking")
    }

    /// Ends the waiting of a purchase that asks to buy. Throws `notPending`.
    @discardableResult
    public func answerAskToBuy(
        _ transaction: TransactionID, _ decision: StoreControlWire.AskToBuy.Decision
    ) async throws -> StoreControlWire.Transaction { throw Self.unbuilt("Asking to buy") }

    /// The customer has settled what interrupted the purchase: it goes through. Throws `notPending`.
    @discardableResult
    public func resolveInterruption(_ transaction: TransactionID) async throws -> StoreControlWire.Transaction {
        throw Self.unbuilt("Interrupting purchases")
    }

    /// The purchases that wait, oldest first; of one account when it is named. Throws `unknownAccount`.
    public func pendingOrders(of account: AccountName? = nil) throws -> [StoreControlWire.PendingOrder] {
        throw Self.unbuilt("Listing pending orders")
    }

    /// The transactions that no device of the account has finished, oldest first. Throws `unknownAccount`.
    public func unfinishedTransactions(of account: AccountName) async throws -> [StoreControlWire.Transaction] {
        throw Self.unbuilt("Listing unfinished transactions")
    }

    /// Redeems an offer code as a device of the account would that nobody holds; every device hears of it.
    ///
    /// Throws `unknownAccount`, and `StoreFailure` (`invalidCode`, `ineligibleForOffer`).
    @discardableResult
    public func redeem(
        _ request: StoreControlWire.Redeem, for account: AccountName
    ) async throws -> StoreControlWire.Transaction { throw Self.unbuilt("Redeeming offer codes") }

    /// As `redeem`, by a device: the outcome is among its updates.
    public func redeem(_ redemption: OfferCodeRedemption, from device: DeviceID) async throws {
        throw Self.unbuilt("Redeeming offer codes")
    }

    /// What the customer said to a message of the store. Throws `unknownDevice`, `unknownMessage`.
    public func answer(
        _ message: StoreMessage.ID, with answer: StoreMessage.Answer, from device: DeviceID
    ) async throws { throw Self.unbuilt("Answering messages") }
}

import Foundation

/// Who decides whether signed transactions are true and what they give: the entitlement server.
public protocol ReceiptValidator: Sendable {
    /// Presents transactions of `customer`. Throws when no authoritative answer can be had (unreachable, refused key);
    /// single transactions that are not true are `rejected` in the answer.
    func validate(_ transactions: [StoreTransaction], for customer: CustomerID) async throws -> TransactionValidation
    /// What `customer` may use now, as the server knows it.
    func customer(_ customer: CustomerID) async throws -> Customer
}

/// The server's answer to presented transactions.
public struct TransactionValidation: Sendable, Equatable {
    public var customer: Customer
    /// Only these may be finished at the store.
    public var acknowledged: Set<TransactionID>
    public var rejected: [RejectedTransaction]

    public init(customer: Customer, acknowledged: Set<TransactionID>, rejected: [RejectedTransaction] = []) {
        self.customer = customer
        self.acknowledged = acknowledged
        self.rejected = rejected
    }
}

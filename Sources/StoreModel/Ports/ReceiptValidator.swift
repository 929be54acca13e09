import Foundation

/// Who decides whether signed transactions are true and what they give: the entitlement server.
public protocol ReceiptValidator: Sendable {
    /// Presents transactions of `customer`. Throws when no authoritative answer can be had (unreachable, refused key);
    /// single transactions that are not true are `rejected` in the answer.
    func validate(_ transactions: [StoreTransaction], for customer: CustomerID) async throws -> TransactionValidation
    /// What `customer` may use now, as the server knows it.
    func customer(_ customer: CustomerID) async throws -> Customer
    /// The same, with what time it is at the server: a device whose clock is wrong goes by that. To be implemented by a
    /// validator that hears it; by default nobody knows.
    func answer(about customer: CustomerID) async throws -> CustomerAnswer
}

extension ReceiptValidator {
    public func answer(about customer: CustomerID) async throws -> CustomerAnswer {
        CustomerAnswer(customer: try await self.customer(customer))
    }
}

/// What a customer may use, and when the server said so.
public struct CustomerAnswer: Sendable, Equatable {
    public var customer: Customer
    /// What time it was at the server when it answered, which may be long after the `asOf` of an answer that it keeps;
    /// `nil` when it did not say.
    public var saidAt: Date?

    public init(customer: Customer, saidAt: Date? = nil) {
        self.customer = customer
        self.saidAt = saidAt
    }
}

/// The server's answer to presented transactions.
public struct TransactionValidation: Sendable, Equatable {
    public var customer: Customer
    /// Only these may be finished at the store.
    public var acknowledged: Set<TransactionID>
    public var rejected: [RejectedTransaction]
    /// As in `CustomerAnswer`.
    public var saidAt: Date?

    public init(
        customer: Customer, acknowledged: Set<TransactionID>, rejected: [RejectedTransaction] = [],
        saidAt: Date? = nil
    ) {
        self.customer = customer
        self.acknowledged = acknowledged
        self.rejected = rejected
        self.saidAt = saidAt
    }
}

import Foundation

/// A service that verifies signed transactions and computes entitlements. The entitlement server is one.
public protocol ReceiptValidator: Sendable {
    /// Presents transactions of a customer to the service.
    ///
    /// - Parameters:
    ///   - transactions: The transactions to verify.
    ///   - customer: The customer who presents them.
    /// - Returns: The entitlements, the acknowledged transactions, and the rejected ones.
    /// - Throws: An error if there is no authoritative answer, for example because the service cannot be reached or
    ///   refuses the API key.
    func validate(_ transactions: [StoreTransaction], for customer: CustomerID) async throws -> TransactionValidation
    /// Returns the entitlements of a customer.
    ///
    /// - Parameter customer: The customer.
    /// - Returns: The entitlements as the service knows them.
    /// - Throws: An error if there is no authoritative answer.
    func customer(_ customer: CustomerID) async throws -> Customer
    /// Returns the entitlements of a customer, with the time at the server. A device whose clock is wrong uses this
    /// time. Implement this method if the service reports its time. By default `serverTime` is `nil`.
    ///
    /// - Parameter customer: The customer.
    /// - Returns: The entitlements and the time.
    /// - Throws: An error if there is no authoritative answer.
    func answer(about customer: CustomerID) async throws -> CustomerAnswer
}

extension ReceiptValidator {
    /// Returns the entitlements of a customer, without the time at the server.
    ///
    /// - Parameter customer: The customer.
    /// - Returns: The entitlements, with `serverTime` as `nil`.
    /// - Throws: An error if there is no authoritative answer.
    public func answer(about customer: CustomerID) async throws -> CustomerAnswer {
        CustomerAnswer(customer: try await self.customer(customer))
    }
}

/// The entitlements of a customer, with the time of the answer.
public struct CustomerAnswer: Sendable, Equatable {
    /// The entitlements of the customer.
    public var customer: Customer
    /// The time at the server when it answered, or `nil` if the server did not report its time. The time can be much
    /// later than the `asOf` of a cached answer.
    public var serverTime: Date?

    /// Creates an answer.
    ///
    /// - Parameters:
    ///   - customer: The entitlements of the customer.
    ///   - serverTime: The time at the server when it answered, or `nil` if the server did not report its time.
    public init(customer: Customer, serverTime: Date? = nil) {
        self.customer = customer
        self.serverTime = serverTime
    }

    /// The former name of `serverTime`.
    @available(*, deprecated, renamed: "serverTime")
    public var saidAt: Date? {
        get { serverTime }
        set { serverTime = newValue }
    }

    /// The initializer with the former name of `serverTime`.
    ///
    /// - Parameters:
    ///   - customer: The entitlements of the customer.
    ///   - saidAt: The `serverTime`.
    @available(*, deprecated, renamed: "init(customer:serverTime:)")
    public init(customer: Customer, saidAt: Date?) { self.init(customer: customer, serverTime: saidAt) }
}

/// The answer of the service to presented transactions.
public struct TransactionValidation: Sendable, Equatable {
    /// The entitlements of the customer.
    public var customer: Customer
    /// The transactions that the service stored. Only these may be finished at the store.
    public var acknowledged: Set<TransactionID>
    /// The transactions that the service did not accept.
    public var rejected: [RejectedTransaction]
    /// The time at the server when it answered, as in ``CustomerAnswer``.
    public var serverTime: Date?

    /// Creates a validation.
    ///
    /// - Parameters:
    ///   - customer: The entitlements of the customer.
    ///   - acknowledged: The transactions that the service stored.
    ///   - rejected: The transactions that the service did not accept.
    ///   - serverTime: The time at the server when it answered, as in ``CustomerAnswer``.
    public init(
        customer: Customer, acknowledged: Set<TransactionID>, rejected: [RejectedTransaction] = [],
        serverTime: Date? = nil
    ) {
        self.customer = customer
        self.acknowledged = acknowledged
        self.rejected = rejected
        self.serverTime = serverTime
    }

    /// The former name of `serverTime`.
    @available(*, deprecated, renamed: "serverTime")
    public var saidAt: Date? {
        get { serverTime }
        set { serverTime = newValue }
    }

    /// The initializer with the former name of `serverTime`.
    ///
    /// - Parameters:
    ///   - customer: The entitlements of the customer.
    ///   - acknowledged: The transactions that the service stored.
    ///   - rejected: The transactions that the service did not accept.
    ///   - saidAt: The `serverTime`.
    @available(*, deprecated, renamed: "init(customer:acknowledged:rejected:serverTime:)")
    public init(
        customer: Customer, acknowledged: Set<TransactionID>, rejected: [RejectedTransaction] = [], saidAt: Date?
    ) {
        self.init(customer: customer, acknowledged: acknowledged, rejected: rejected, serverTime: saidAt)
    }
}

import Foundation
import Primitives

/// POST `/v1/customers/{customer}/transactions`: the request.
package struct PostTransactionsRequest: Codable, Sendable, Equatable {
    package var signedTransaction: String?
    /// The signed transactions, at most 100.
    package var signedTransactions: [String]?
    /// The signed renewal infos of the subscriptions among the transactions. Optional; each becomes a fact of its own.
    package var signedRenewalInfos: [String]?
    /// Base64 of an app receipt.
    package var receipt: String?

    package init(
        signedTransaction: String? = nil, signedTransactions: [String]? = nil, signedRenewalInfos: [String]? = nil,
        receipt: String? = nil
    ) {
        self.signedTransaction = signedTransaction
        self.signedTransactions = signedTransactions
        self.signedRenewalInfos = signedRenewalInfos
        self.receipt = receipt
    }
}

/// POST `/v1/customers/{customer}/transactions`: the answer, a `Customer` with two more members.
package struct PostTransactionsAnswer: Codable, Sendable, Equatable {
    package var customer: Customer
    package var acknowledgedTransactionIDs: [TransactionID]
    package var rejected: [RejectedTransaction]

    package init(
        customer: Customer, acknowledgedTransactionIDs: [TransactionID], rejected: [RejectedTransaction] = []
    ) {
        self.customer = customer
        self.acknowledgedTransactionIDs = acknowledgedTransactionIDs
        self.rejected = rejected
    }

    package init(from decoder: any Decoder) throws {
        customer = try Customer(from: decoder)
        let container = try decoder.container(keyedBy: CodingKeys.self)
        acknowledgedTransactionIDs = try container.decode([TransactionID].self, forKey: .acknowledgedTransactionIDs)
        rejected = try container.decodeIfPresent([RejectedTransaction].self, forKey: .rejected) ?? []
    }

    package func encode(to encoder: any Encoder) throws {
        try customer.encode(to: encoder)
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(acknowledgedTransactionIDs, forKey: .acknowledgedTransactionIDs)
        try container.encode(rejected, forKey: .rejected)
    }

    private enum CodingKeys: String, CodingKey { case acknowledgedTransactionIDs, rejected }
}

/// A presented transaction that the server did not accept.
public struct RejectedTransaction: Codable, Hashable, Sendable {
    /// The index of the transaction in the request, from 0.
    public var index: Int
    /// The error code, one of `SignedDataError.Code`, for example `signatureInvalid`.
    public var code: String
    /// A sentence about the reason.
    public var detail: String
    /// Whether the server may accept the same transaction later.
    public var retryable: Bool

    /// Creates a rejection.
    ///
    /// - Parameters:
    ///   - index: The index of the transaction in the request, from 0.
    ///   - code: The error code, one of `SignedDataError.Code`, for example `signatureInvalid`.
    ///   - detail: A sentence about the reason.
    ///   - retryable: Whether the server may accept the same transaction later.
    public init(index: Int, code: String, detail: String, retryable: Bool) {
        self.index = index
        self.code = code
        self.detail = detail
        self.retryable = retryable
    }
}

/// POST `/v1/customers/{customer}/grants`: the request.
package struct GrantRequest: Codable, Sendable, Equatable {
    package var feature: String
    package var until: Date?
    package var reason: String

    package init(feature: String, until: Date? = nil, reason: String) {
        self.feature = feature
        self.until = until
        self.reason = reason
    }
}

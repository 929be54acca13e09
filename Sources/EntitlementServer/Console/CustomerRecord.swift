import Foundation
import Primitives
import SQLStorage
import StoreModel

/// Everything that the page of a customer shows.
struct CustomerRecord: Sendable {
    /// A grant, and the time of its withdrawal.
    struct GrantEntry: Sendable {
        let grant: Grant
        let withdrawnAt: Date?
    }

    /// The credit of one kind, with the purchases that gave it.
    struct CreditEntry: Sendable {
        let type: String
        let account: CreditAccount
    }

    /// Credit that an operator gave.
    struct CreditGrantEntry: Sendable {
        let grant: CreditGrant
        let at: Date
    }

    let entry: CustomerList.Entry
    /// The answer, and its bytes as the app receives them.
    let answer: Customer
    let answerBytes: [UInt8]
    /// The newest grants.
    let grants: [GrantEntry]
    /// The credit of each kind that the app has.
    let credits: [CreditEntry]
    /// The newest credit grants.
    let creditGrants: [CreditGrantEntry]
    let facts: FactList
    /// The newest entries of the audit log.
    let log: AuditList

    var customer: CustomerID { entry.customer }
}

/// A page of a customer's facts, newest first.
struct FactList: Sendable {
    let facts: [FactEntry]
    /// The purchase that the page is restricted to.
    let purchase: TransactionID?
    /// The position of the next page, if there is one.
    let next: Int64?
}

/// A fact in a list.
struct FactEntry: Sendable {
    let sequence: Int64
    let kind: String
    let source: String
    let format: String
    let digest: [UInt8]
    let transactionID: String?
    let original: TransactionID
    let signedAt: Date
    let receivedAt: Date
    /// The part that remains after an erasure: product, amounts and dates.
    let summary: JSONValue

    init(_ row: SQLRow) throws {
        sequence = try row["sequence"]
        kind = try row["kind"]
        source = try row["source"]
        format = try row["format"]
        digest = try row["digest"]
        transactionID = try row["transaction_id"]
        original = TransactionID(unchecked: try row["original_transaction_id"])
        signedAt = Date(milliseconds: try row["signed_at"])
        receivedAt = Date(milliseconds: try row["received_at"])
        let summary: String? = try row["summary"]
        self.summary = try summary.map { try JSONValue(parsing: $0) } ?? [:]
    }
}

/// A fact with its signed bytes, and the claims and documents that show how it arrived.
struct FactRecord: Sendable {
    /// A claim on the purchase of the fact.
    struct ClaimEntry: Sendable {
        let presenter: String
        let kind: String
        let at: Date
    }

    /// A notification or receipt about the purchase of the fact.
    struct DocumentEntry: Sendable {
        let kind: String
        let about: String
        let identity: String
        let receivedAt: Date
    }

    let customer: CustomerID
    let fact: FactEntry
    /// The signed bytes; `nil` after an erasure.
    let source: [UInt8]?
    /// The newest claims on the purchase.
    let claims: [ClaimEntry]
    /// The newest documents about the purchase.
    let documents: [DocumentEntry]

    /// The claims and documents that the ledger stored in the same millisecond as the fact.
    var concurrentClaims: [ClaimEntry] { claims.filter { $0.at == fact.receivedAt } }
    var concurrentDocuments: [DocumentEntry] { documents.filter { $0.receivedAt == fact.receivedAt } }
}

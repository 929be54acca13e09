import Foundation
import StoreModel

/// The columns of a fact that follow from its content and format, such as its ids and its summary.
struct FactRow: Sendable {
    static let transaction = "transaction"
    static let renewal = "renewal"

    let kind: String
    let source: PurchaseSource
    let digest: [UInt8]
    let transactionID: String?
    let original: TransactionID
    let token: UUID?
    let signedAt: Date
    let summary: String

    init(_ content: PresentedFact.Content, _ format: FactFormat) {
        switch content {
        case .transaction(let fact):
            kind = Self.transaction
            source = fact.source
            digest = fact.digest
            transactionID = fact.id.rawValue
            original = fact.originalID
            token = fact.appAccountToken
            signedAt = fact.signedDate
            summary = FactSummary.text(of: fact)
        case .renewal(let fact):
            kind = Self.renewal
            source = format.source
            digest = fact.digest
            transactionID = nil
            original = fact.originalID
            token = nil
            signedAt = fact.signedDate
            summary = FactSummary.text(of: fact)
        }
    }
}

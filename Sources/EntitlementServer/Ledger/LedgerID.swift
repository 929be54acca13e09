import Foundation
import SQLStorage
import StoreModel

/// One ledger of the many in a database: facts, customers and answers of different books never meet.
struct LedgerID: Hashable, Sendable {
    let app: BundleID
    let environment: StoreEnvironment

    /// For the columns `app` and `environment`, with which the key of nearly every table begins.
    var values: [SQLValue] { [.text(app.rawValue), .text(environment.rawValue)] }
}

/// A customer of one book.
struct CustomerKey: Hashable, Sendable {
    let ledgerID: LedgerID
    let customer: CustomerID

    /// By what tells most of them apart.
    func hash(into hasher: inout Hasher) { hasher.combine(customer) }
}

/// A customer's answer as it is kept: the bytes to send, and from when until when they are true.
struct StoredAnswer: Hashable, Sendable {
    /// Goes up by one with every change of the customer's answer in the ledger; 0 for a customer never seen.
    let revision: Int64
    let bytes: [UInt8]
    let etag: String
    let validFrom: Date
    /// Exclusive; `nil` when nothing changes by itself.
    let validUntil: Date?

    /// - Parameter skew: by how many seconds the clock of another server that computed the answer may be ahead of ours.
    func isValid(at instant: Date, skew: TimeInterval = 0) -> Bool {
        instant.addingTimeInterval(skew) >= validFrom && validUntil.map { instant < $0 } ?? true
    }

    /// How far the clocks of servers that share a database may differ, in seconds.
    static let clockSkew: TimeInterval = 10
}

/// How a fact's source bytes are to be read.
enum FactFormat: String, Sendable {
    /// The compact JWS that Apple signed.
    case jws
    /// The JSON of one purchase of an app receipt.
    case receipt
    /// The body of a web shop's signed request.
    case web
}

/// A verified fact on its way into a book.
struct PresentedFact: Sendable {
    enum Content: Sendable {
        case transaction(TransactionFact)
        case renewal(RenewalFact)
    }

    let content: Content
    let environment: StoreEnvironment
    let format: FactFormat
    /// What was verified, byte for byte, to be read by `format`.
    let source: [UInt8]
    /// All of a JWS that comes before its first dot.
    let header: ArraySlice<UInt8>?
    /// The order that the customer's invoice or the store names, where it is known.
    let orderID: String?
    /// Its place in the request.
    let index: Int
    /// What is written of it.
    let row: FactRow
    /// The ledger's number of the header of `source`, where it is known to have it.
    var headerNumber: Int64?
    /// `sourceBehindHeader` under a new key, where it is likely to be needed.
    var sealedSource: SealedSource?

    init(
        content: Content, environment: StoreEnvironment, format: FactFormat = .jws, source: [UInt8],
        orderID: String? = nil, index: Int
    ) {
        self.content = content
        self.environment = environment
        self.format = format
        self.source = source
        header = format == .jws ? source.firstIndex(of: UInt8(ascii: ".")).map { source[..<$0] } : nil
        self.orderID = orderID
        self.index = index
        row = FactRow(content, format)
    }

    /// The first transaction of the purchase it is about.
    var original: TransactionID { row.original }

    /// What is kept of `source` itself.
    var sourceBehindHeader: [UInt8] { header.map { Array(source[$0.endIndex...]) } ?? source }
}

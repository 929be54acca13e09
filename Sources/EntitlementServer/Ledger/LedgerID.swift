import Foundation
import SQLStorage
import StoreModel

/// The identity of a ledger: an app and an environment. A database holds many ledgers, whose facts, customers and
/// answers never mix.
struct LedgerID: Hashable, Sendable {
    let app: BundleID
    let environment: StoreEnvironment

    /// The values of the columns `app` and `environment`, with which nearly every key begins.
    var values: [SQLValue] { [.text(app.rawValue), .text(environment.rawValue)] }
}

/// A customer of one ledger.
struct CustomerKey: Hashable, Sendable {
    let ledgerID: LedgerID
    let customer: CustomerID

    /// Hashes only the customer id, which usually differs.
    func hash(into hasher: inout Hasher) { hasher.combine(customer) }
}

/// A customer's stored answer: the bytes to send, and the time in which they are valid.
struct StoredAnswer: Hashable, Sendable {
    /// The number of changes of the answer in the ledger; 0 for an unknown customer and for `StoredAnswer.none`.
    let revision: Int64
    let bytes: [UInt8]
    let etag: String
    let validFrom: Date
    /// The end of the validity, exclusive; `nil` if time alone does not change the answer.
    let validUntil: Date?

    /// - Parameter skew: The number of seconds by which the clock of the server that computed the answer may be ahead.
    func isValid(at instant: Date, skew: TimeInterval = 0) -> Bool {
        instant.addingTimeInterval(skew) >= validFrom && validUntil.map { instant < $0 } ?? true
    }

    /// The greatest difference between the clocks of servers that share a database, in seconds.
    static let clockSkew: TimeInterval = 10
}

/// The format of a fact's source bytes.
enum FactFormat: String, Sendable {
    /// The compact JWS that the store signed.
    case jws
    /// The JSON of one purchase of an app receipt.
    case receipt
    /// The body of a web shop's signed request.
    case web
    /// The JSON of a fetch from Google Play (`PlayFetch`), which is not signed.
    case googlePlay

    /// The source of the facts in this format.
    var source: PurchaseSource {
        switch self {
        case .jws, .receipt: .appStore
        case .web: .web
        case .googlePlay: .googlePlay
        }
    }
}

/// A verified fact that is about to be appended.
struct PresentedFact: Sendable {
    enum Content: Sendable {
        case transaction(TransactionFact)
        case renewal(RenewalFact)
    }

    let content: Content
    let environment: StoreEnvironment
    let format: FactFormat
    /// The verified bytes, in the format `format`.
    let source: [UInt8]
    /// The part of a JWS before its first dot.
    let header: ArraySlice<UInt8>?
    /// Apple's `webOrderLineItemId` or Google's order id, by which an operator finds the customer.
    let orderID: String?
    /// The position in the request or the receipt.
    let index: Int
    /// The columns of the fact.
    let row: FactRow
    /// The number of the source's header in the ledger, if it is known.
    var headerNumber: Int64?
    /// `sourceBehindHeader`, encrypted with a new key before the transaction; `nil` if the transaction encrypts it.
    var sealedSource: SealedSource?

    init(
        content: Content, environment: StoreEnvironment, format: FactFormat = .jws, source: [UInt8],
        orderID: String? = nil, index: Int
    ) {
        self.content = content
        self.environment = environment
        self.format = format
        self.source = source
        header = format == .jws ? source.index(ofByte: UInt8(ascii: ".")).map { source[..<$0] } : nil
        self.orderID = orderID
        self.index = index
        row = FactRow(content, format)
    }

    /// The original transaction of the purchase.
    var original: TransactionID { row.original }

    /// The part of `source` that is stored with the fact.
    var sourceBehindHeader: [UInt8] { header.map { Array(source[$0.endIndex...]) } ?? source }
}

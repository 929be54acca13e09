import Primitives
import StoreKitAdapter
import StoreModel

/// An event of a store, to log or to show.
public struct StoreEvent: Sendable, Equatable {
    /// The importance of the event; an open set.
    public typealias Kind = OpenEnum<StoreEvent>

    /// The importance of the event.
    public var kind: Kind
    /// The code of the error or of the event.
    public var code: PurchaseError.Code
    /// A sentence about the event.
    public var sentence: String
    /// The product of the event, if there is one.
    public var productID: ProductID?
    /// The transaction of the event, if there is one.
    public var transactionID: TransactionID?

    /// Creates an event.
    ///
    /// - Parameters:
    ///   - kind: The importance of the event.
    ///   - code: The code of the error or of the event.
    ///   - sentence: A sentence about the event.
    ///   - productID: The product of the event.
    ///   - transactionID: The transaction of the event.
    public init(
        kind: Kind, code: PurchaseError.Code, sentence: String, productID: ProductID? = nil,
        transactionID: TransactionID? = nil
    ) {
        self.kind = kind
        self.code = code
        self.sentence = sentence
        self.productID = productID
        self.transactionID = transactionID
    }
}

extension LogEntry {
    /// Creates a log entry for the store's event `event`. The sentence is its private detail, because it contains
    /// products and transactions.
    public init(_ event: StoreEvent) {
        let level: Level =
            switch event.kind {
            case .criticalError: .fault
            case .nonCriticalError: .error
            default: .info
            }
        var detail = event.sentence
        if let transaction = event.transactionID { detail += " (transaction \(transaction))" }
        self.init(level, category: "InAppStore", event.code.rawValue, detail: detail)
    }
}

extension StoreEvent {
    static let clockSetBack = StoreEvent(
        kind: .informational, code: .clockSetBack,
        sentence:
            "The device's clock was set back. Time continues from the latest known instant, and the access is fetched again."
    )

    /// Creates the event of an update that no caller waits for; `nil` if the update needs no event.
    init?(_ completion: StoreUpdate) {
        switch completion.state {
        case .purchasing, .deferred, .purchased, .renewalChanged: return nil
        case .revoked(let transaction):
            self.init(
                kind: .informational, code: .purchaseRevoked,
                sentence: "The store revoked the purchase of \(transaction.productID).",
                productID: transaction.productID,
                transactionID: transaction.id)
        case .failed(let failure):
            self.init(
                kind: .informational, code: failure.code == .declined ? .purchaseDeclined : .purchaseFailed,
                sentence: "\(completion.productID) was not bought: \(failure.reason)", productID: completion.productID)
        }
    }

    /// Returns the event of a successful purchase that a caller waited for. Without a transaction, the product was
    /// acquired through a subscription.
    static func purchased(_ product: ProductID, _ transaction: StoreTransaction?) -> StoreEvent {
        StoreEvent(
            kind: .informational, code: .purchaseSuccessful,
            sentence: transaction == nil
                ? "\(product) was acquired through a subscription." : "\(product) was bought.",
            productID: product, transactionID: transaction?.id)
    }

    /// Returns the event of a failed purchase that a caller waited for; `nil` if it was cancelled or waits for an
    /// approval.
    static func failed(_ product: ProductID?, _ error: any Error) -> StoreEvent? {
        let error = error as? PurchaseError ?? PurchaseError(.purchaseFailed, "The purchase failed: \(error)")
        guard ![.operationCancelled, .purchaseDeferred].contains(error.code) else { return nil }
        return StoreEvent(
            kind: .nonCriticalError, code: error.code, sentence: error.reason, productID: product)
    }

    /// Returns the event of a failed content fetch that a caller waited for; `nil` if it was cancelled.
    static func contentFailed(_ product: String, _ error: any Error) -> StoreEvent? {
        guard let error = error as? PurchaseError, error.code != .operationCancelled else { return nil }
        return StoreEvent(
            kind: .nonCriticalError, code: error.code, sentence: error.reason, productID: ProductID(rawValue: product)
        )
    }
}

extension StoreEvent.Kind {
    /// Not an error.
    public static var informational: Self { Self(rawValue: "informational") }
    /// An error without a loss: the operation is repeated, or a caller received the error.
    public static var nonCriticalError: Self { Self(rawValue: "nonCriticalError") }
    /// An error that needs attention, because a customer may not get a paid product.
    public static var criticalError: Self { Self(rawValue: "criticalError") }
}

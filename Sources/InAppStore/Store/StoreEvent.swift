import Primitives
import StoreKitAdapter
import StoreModel

/// Something that happened in a store and that its owner may want to log or show.
public struct StoreEvent: Sendable, Equatable {
    /// How much it matters; an open set.
    public typealias Kind = OpenEnum<StoreEvent>

    public var kind: Kind
    /// The code of the error, or of what happened.
    public var code: PurchaseError.Code
    public var sentence: String
    public var productID: ProductID?
    public var transactionID: TransactionID?

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
    /// An event of a store as a line of a log. Its sentence is the detail, because it names products and transactions.
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
        sentence: "The device's clock was set back; time goes on from where it was, and the server is asked.")

    /// What an app should hear of a completion besides its transaction.
    init?(_ completion: StoreUpdate) {
        switch completion.state {
        case .purchasing, .deferred, .purchased, .renewalChanged: return nil
        case .revoked(let transaction):
            self.init(
                kind: .informational, code: .purchaseRevoked,
                sentence: "The store took \(transaction.productID) back.", productID: transaction.productID,
                transactionID: transaction.id)
        case .failed(let failure):
            self.init(
                kind: .informational, code: failure.code == .declined ? .purchaseDeclined : .purchaseFailed,
                sentence: "\(completion.productID) was not bought: \(failure.reason)", productID: completion.productID)
        }
    }

    /// A purchase that somebody waited for was made: with the store's transaction, or acquired through a subscription.
    static func purchased(_ product: ProductID, _ transaction: StoreTransaction?) -> StoreEvent {
        StoreEvent(
            kind: .informational, code: .purchaseSuccessful,
            sentence: transaction == nil
                ? "\(product) was acquired through a subscription." : "\(product) was bought.",
            productID: product, transactionID: transaction?.id)
    }

    /// A purchase that somebody waited for failed; `nil` for what the customer decided, or has yet to hear of.
    static func failed(_ product: ProductID?, _ error: any Error) -> StoreEvent? {
        let error = error as? PurchaseError ?? PurchaseError(.purchaseFailed, "The purchase failed: \(error)")
        guard ![.operationCancelled, .purchaseDeferred].contains(error.code) else { return nil }
        return StoreEvent(
            kind: .nonCriticalError, code: error.code, sentence: error.reason, productID: product)
    }

    /// Content that somebody waited for was not fetched; `nil` when they gave up themselves.
    static func contentFailed(_ product: String, _ error: any Error) -> StoreEvent? {
        guard let error = error as? PurchaseError, error.code != .operationCancelled else { return nil }
        return StoreEvent(
            kind: .nonCriticalError, code: error.code, sentence: error.reason, productID: ProductID(rawValue: product)
        )
    }
}

extension StoreEvent.Kind {
    /// Nothing went wrong.
    public static var informational: Self { Self(rawValue: "informational") }
    /// Something did not work, and nothing is lost: it is tried again, or somebody was told.
    public static var nonCriticalError: Self { Self(rawValue: "nonCriticalError") }
    /// A customer may not get what they paid for unless somebody looks at it.
    public static var criticalError: Self { Self(rawValue: "criticalError") }
}

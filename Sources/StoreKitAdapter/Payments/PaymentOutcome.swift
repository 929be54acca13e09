import Primitives
import StoreModel

/// The outcome of a purchase or a restore.
public enum PurchaseOutcome: Sendable {
    case purchased(productId: String)
    case restored(productId: String)
    case nothingToRestore
    case failed(error: any Error)
}

/// Failures are equal if their errors are, by `areEqual(_:_:)`.
extension PurchaseOutcome: Equatable {
    public static func == (left: PurchaseOutcome, right: PurchaseOutcome) -> Bool {
        switch (left, right) {
        case (.purchased(let left), .purchased(let right)), (.restored(let left), .restored(let right)):
            left.hasSameBytes(as: right)
        case (.nothingToRestore, .nothingToRestore): true
        case (.failed(let left), .failed(let right)): areEqual(left, right)
        default: false
        }
    }
}

/// The answer to one payment. Each payment gets exactly one.
public struct PaymentAnswer: Equatable, Sendable {
    /// The outcome of the purchase.
    public var outcome: PurchaseOutcome
    /// The store's transaction, if there is one.
    public var transaction: StoreTransaction?
    /// Whether the store returned an earlier purchase of a product that can be owned only once.
    public var isAlreadyOwned: Bool

    /// Creates an answer.
    ///
    /// - Parameters:
    ///   - outcome: The outcome of the purchase.
    ///   - transaction: The store's transaction, if there is one.
    ///   - isAlreadyOwned: Whether the store returned an earlier purchase.
    public init(outcome: PurchaseOutcome, transaction: StoreTransaction? = nil, isAlreadyOwned: Bool = false) {
        self.outcome = outcome
        self.transaction = transaction
        self.isAlreadyOwned = isAlreadyOwned
    }
}

/// The error of a payment, of a restore or of another request to the queue. Two errors are equal if their codes are.
public struct PaymentError: Error, Equatable, Sendable {
    /// The kind of failure, from an open list.
    public typealias Code = OpenEnum<PaymentError>

    /// The kind of failure.
    public let code: Code
    /// A sentence about the failure.
    public let sentence: String
    /// The error that caused the failure, if there is one.
    public let underlying: (any Error)?

    /// Creates an error.
    ///
    /// - Parameters:
    ///   - code: The kind of failure.
    ///   - sentence: A sentence about the failure.
    ///   - underlying: The error that caused the failure.
    public init(_ code: Code, _ sentence: String, underlying: (any Error)? = nil) {
        self.code = code
        self.sentence = sentence
        self.underlying = underlying
    }

    /// Returns whether two errors have the same code.
    public static func == (left: PaymentError, right: PaymentError) -> Bool { left.code == right.code }
}

/// The result of the delivery of one transaction. The enum is closed: a delivery ends in one of these four ways.
public enum DeliveryVerdict: Sendable {
    /// The server has stored the transaction durably. It may be finished.
    case acknowledged
    /// The server refused the transaction, for example because it is not genuine. Until the next launch, it is
    /// delivered again only on request, or when the customer changes.
    case rejected(any Error)
    /// The transaction names another customer, so it was not presented. Until the next launch, it is delivered again
    /// only on request, or when the customer changes.
    case held(any Error)
    /// There is no authoritative answer. Present the transaction again later.
    case unavailable(any Error)
}

extension PaymentError.Code {
    /// The customer or the calling task cancelled. If the purchase is made anyway, it arrives in
    /// ``PaymentQueue/completions``.
    public static var cancelled: Self { Self(rawValue: "cancelled") }
    /// The purchase waits for an approval. If it is approved, it arrives in ``PaymentQueue/completions``.
    public static var deferred: Self { Self(rawValue: "deferred") }
    /// The customer has paid, but the server has not acknowledged the transaction yet. It is kept and delivered again.
    public static var acknowledgementPending: Self { Self(rawValue: "acknowledgementPending") }
    /// The customer has paid, but the server rejected the transaction. It stays unfinished, and can be redelivered.
    public static var rejected: Self { Self(rawValue: "rejected") }
    /// The store refused or could not be reached; `underlying` is the cause.
    public static var storeFailed: Self { Self(rawValue: "storeFailed") }
    /// No transaction with this id waits for an acknowledgement.
    public static var unknownTransaction: Self { Self(rawValue: "unknownTransaction") }
    /// The customer changed during the request. If the purchase is made anyway, it arrives in
    /// ``PaymentQueue/completions``.
    public static var customerChanged: Self { Self(rawValue: "customerChanged") }
    /// The queue was shut down.
    public static var shutDown: Self { Self(rawValue: "shutDown") }
}

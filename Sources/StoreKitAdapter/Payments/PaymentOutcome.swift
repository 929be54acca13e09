import Primitives
import StoreModel

/// How a purchase or a restore ended.
public enum PurchaseOutcome: Sendable {
    case purchased(productId: String)
    case restored(productId: String)
    case nothingToRestore
    case failed(error: any Error)
}

/// Failures are equal when their errors are, as `areEqual(_:_:)` says.
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

/// The answer to one payment, given exactly once.
public struct PaymentAnswer: Equatable, Sendable {
    public var outcome: PurchaseOutcome
    /// The store's transaction, when there is one.
    public var transaction: StoreTransaction?
    /// The store gave back an earlier purchase of a product that can be owned only once.
    public var isAlreadyOwned: Bool

    public init(outcome: PurchaseOutcome, transaction: StoreTransaction? = nil, isAlreadyOwned: Bool = false) {
        self.outcome = outcome
        self.transaction = transaction
        self.isAlreadyOwned = isAlreadyOwned
    }
}

/// Why a payment did not end with a delivered purchase. Equal when the codes are.
public struct PaymentError: Error, Equatable, Sendable {
    /// The kind of failure, from an open list.
    public typealias Code = OpenEnum<PaymentError>

    public let code: Code
    public let sentence: String
    public let underlying: (any Error)?

    public init(_ code: Code, _ sentence: String, underlying: (any Error)? = nil) {
        self.code = code
        self.sentence = sentence
        self.underlying = underlying
    }

    public static func == (left: PaymentError, right: PaymentError) -> Bool { left.code == right.code }
}

/// What became of a transaction that was handed over for delivery. Closed: these are the four ways it can end.
public enum DeliveryVerdict: Sendable {
    /// Whoever keeps the truth has it durably: it may be finished.
    case acknowledged
    /// It is not true, or not of whoever presented it; only somebody else may have more luck with it.
    case rejected(any Error)
    /// It is somebody else's than who is there: it was not presented, and waits for `PaymentQueue.redeliverAll()`.
    case held(any Error)
    /// No authoritative answer could be had; present it again later.
    case unavailable(any Error)
}

extension PaymentError.Code {
    /// The customer or the calling task gave up; a purchase that is made all the same arrives as completed.
    public static var cancelled: Self { Self(rawValue: "cancelled") }
    /// Waits for somebody's approval; the later purchase arrives as completed.
    public static var deferred: Self { Self(rawValue: "deferred") }
    /// Paid, but nobody who may has acknowledged it yet; it is kept and delivered again.
    public static var acknowledgementPending: Self { Self(rawValue: "acknowledgementPending") }
    /// Paid at the store, and found untrue by the verifier; it stays unfinished, and can be redelivered.
    public static var rejected: Self { Self(rawValue: "rejected") }
    /// The store refused or could not be asked; `underlying` says which.
    public static var storeFailed: Self { Self(rawValue: "storeFailed") }
    /// No transaction of that id waits to be acknowledged.
    public static var unknownTransaction: Self { Self(rawValue: "unknownTransaction") }
    /// Another customer is there than who asked; a purchase that is made all the same arrives as completed.
    public static var customerChanged: Self { Self(rawValue: "customerChanged") }
    /// The queue was shut down.
    public static var shutDown: Self { Self(rawValue: "shutDown") }
}

import StoreModel

/// The payments that callers wait for, and the latest payments that failed.
struct OpenPayments {
    enum FailureRecipient {
        case caller
        /// No caller waits any more, or an earlier run made the payment.
        case noCaller
        case alreadyReported
    }

    private var waiting: Set<PaymentID> = []
    /// The latest failed payments, oldest first.
    private var refused: [PaymentID] = []

    static let maximumRefused = 1000

    var all: [PaymentID] { waiting.sorted() }

    mutating func begin(_ id: PaymentID) { waiting.insert(id) }

    func contains(_ id: PaymentID) -> Bool { waiting.contains(id) }

    /// Removes a payment. Returns whether a caller was waiting for it.
    mutating func end(_ id: PaymentID) -> Bool { waiting.remove(id) != nil }

    /// Records that a payment failed. Returns the recipient of the failure.
    mutating func refuse(_ id: PaymentID) -> FailureRecipient {
        guard !refused.contains(id) else { return .alreadyReported }
        if refused.count == Self.maximumRefused { refused.removeFirst() }
        refused.append(id)
        return end(id) ? .caller : .noCaller
    }
}

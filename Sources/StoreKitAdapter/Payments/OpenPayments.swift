import StoreModel

/// Which payments somebody waits for, and of which it was told already that they came to nothing.
struct OpenPayments {
    /// What becomes of a refusal.
    enum Hearing {
        case caller
        /// Nobody waits any more, or it was asked for in an earlier run.
        case nobody
        case knownAlready
    }

    private var waiting: Set<PaymentID> = []
    /// The latest, oldest first.
    private var refused: [PaymentID] = []

    static let maximumRefused = 1000

    var all: [PaymentID] { waiting.sorted() }

    mutating func begin(_ id: PaymentID) { waiting.insert(id) }

    func include(_ id: PaymentID) -> Bool { waiting.contains(id) }

    /// Returns whether somebody waited; they do no longer.
    mutating func end(_ id: PaymentID) -> Bool { waiting.remove(id) != nil }

    mutating func refuse(_ id: PaymentID) -> Hearing {
        guard !refused.contains(id) else { return .knownAlready }
        if refused.count == Self.maximumRefused { refused.removeFirst() }
        refused.append(id)
        return end(id) ? .caller : .nobody
    }
}

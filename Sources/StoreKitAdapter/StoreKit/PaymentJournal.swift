import Foundation
import StoreModel

/// What must be known of payments in later runs, at a store that does not know their names.
struct PaymentJournal: Codable, Equatable, Sendable {
    struct Entry: Codable, Equatable, Sendable {
        var payment: PaymentID
        var product: ProductID
        var quantity: Int
        var appAccountToken: UUID?
        var state: State
        /// What was bought.
        var transaction: TransactionID?
    }

    enum State: String, Codable, Sendable {
        /// The store was asked; how that ended is not known.
        case begun
        case deferred
        case bought
    }

    private(set) var entries: [Entry] = []

    static let maximumEntries = 200

    subscript(payment: PaymentID) -> Entry? { entries.first { $0.payment == payment } }

    mutating func begin(_ payment: Payment) {
        forget(payment.id)
        entries.append(
            Entry(
                payment: payment.id, product: payment.productID, quantity: payment.quantity,
                appAccountToken: payment.appAccountToken, state: .begun))
        // What was bought longest ago is asked for least; what is open is kept for as long as there is room.
        while entries.count > Self.maximumEntries {
            entries.remove(at: entries.firstIndex { $0.state == .bought } ?? 0)
        }
    }

    mutating func set(_ payment: PaymentID, to state: State, transaction: TransactionID? = nil) {
        guard let index = entries.firstIndex(where: { $0.payment == payment }) else { return }
        entries[index].state = state
        entries[index].transaction = transaction
    }

    mutating func forget(_ payment: PaymentID) { entries.removeAll { $0.payment == payment } }

    /// The payment that a purchase nobody was waiting for answers: the oldest open one of the same product, quantity and
    /// customer. `isOpen` says of which payments no answer is on its way.
    func payment(answeredBy transaction: StoreTransaction, isOpen: (PaymentID) -> Bool) -> PaymentID? {
        guard transaction.reason != .renewal, transaction.ownership != .familyShared else { return nil }
        return entries.first { entry in
            entry.state != .bought && entry.product == transaction.productID && entry.quantity == transaction.quantity
                && entry.appAccountToken == transaction.appAccountToken && isOpen(entry.payment)
        }?.payment
    }
}

import Foundation
import StoreModel

/// The payments that were begun, in this run and in earlier ones. They are stored, because StoreKit has no ids for
/// payments.
struct PaymentJournal: Codable, Equatable, Sendable {
    struct Entry: Codable, Equatable, Sendable {
        var payment: PaymentID
        var product: ProductID
        var quantity: Int
        var appAccountToken: UUID?
        var state: State
        var transaction: TransactionID?
    }

    enum State: String, Codable, Sendable {
        /// The purchase was requested, and its outcome is unknown.
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
        // Removes the oldest completed purchases first, so that open payments stay as long as there is room.
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

    /// Returns the payment that led to a transaction, for a transaction that no purchase call returned: the oldest open
    /// payment of the same product, quantity and customer. Ignores the payments for which `isInProgress` returns
    /// `true`.
    func payment(for transaction: StoreTransaction, isInProgress: (PaymentID) -> Bool) -> PaymentID? {
        guard transaction.reason != .renewal, transaction.ownership != .familyShared,
            transaction.ownership != .assigned
        else { return nil }
        return entries.first { entry in
            entry.state != .bought && entry.product == transaction.productID && entry.quantity == transaction.quantity
                && entry.appAccountToken == transaction.appAccountToken && !isInProgress(entry.payment)
        }?.payment
    }
}

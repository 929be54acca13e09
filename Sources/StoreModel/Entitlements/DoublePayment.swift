/// Two subscriptions of a customer that renew and give the same features, so that the customer pays twice for them.
///
/// A subscription counts if it renews, was not cancelled and is paid by the customer: a free trial that becomes paid
/// counts, and a subscription that the family shares, an assigned seat and a product without a price do not. Two
/// subscriptions of one store count like those of two stores.
package struct DoublePayment: Hashable, Sendable {
    /// The original transactions of two subscriptions, the first in the order of their ids first.
    package struct Pair: Hashable, Comparable, Sendable {
        package let first: TransactionID
        package let second: TransactionID

        package init(_ one: TransactionID, _ other: TransactionID) {
            (first, second) = one < other ? (one, other) : (other, one)
        }

        package static func < (one: Pair, other: Pair) -> Bool {
            (one.first, one.second) < (other.first, other.second)
        }
    }

    /// Both subscriptions, in the order of `pair`.
    package let subscriptions: [CustomerSubscription]
    /// The features that both give, in the order of their names.
    package let features: [String]
    /// Whether both give access now. Otherwise the double payment is interrupted: a renewal is late, a payment failed,
    /// or a subscription is paused. It continues with the next payment.
    package let isPresent: Bool

    package var pair: Pair { Pair(subscriptions[0].originalTransactionID, subscriptions[1].originalTransactionID) }

    /// The number of subscriptions of a customer that are compared. It keeps the number of pairs small.
    static let maximumSubscriptions = 20
}

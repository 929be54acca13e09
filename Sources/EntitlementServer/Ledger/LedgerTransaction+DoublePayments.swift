import Primitives
import SQLStorage
import StoreModel

/// The events about customers who pay twice for the same features.
///
/// The row of a customer has the pairs of subscriptions whose event was recorded. A pair remains there while both
/// subscriptions renew, so that a late renewal, a failed payment or a pause does not cause another event.
extension LedgerTransaction {
    /// Records one event for each pair that pays twice from now on, and stores the pairs.
    ///
    /// - Parameters:
    ///   - payments: The pairs of the customer's present facts.
    ///   - known: The stored pairs.
    func record(_ payments: [DoublePayment], of customer: CustomerID, known: String?) throws {
        let recorded = Self.pairs(in: known)
        guard !payments.isEmpty || !recorded.isEmpty else { return }
        for payment in payments where payment.isPresent && !recorded.contains(payment.pair) {
            try addEvent(.paidTwice, of: customer, payment.event(about: customer).encoded())
        }
        let kept = Set(payments.filter { $0.isPresent || recorded.contains($0.pair) }.map(\.pair))
        if kept != recorded { try store(kept, of: customer) }
    }

    /// Adds the pairs of a customer who is merged into another one, so that the merge repeats no event.
    func moveDoublePayments(from old: CustomerID, to new: CustomerID) throws {
        let moved = Self.pairs(in: try doublePayments(of: old))
        guard !moved.isEmpty else { return }
        try store(moved.union(Self.pairs(in: try doublePayments(of: new))), of: new)
    }

    private func doublePayments(of customer: CustomerID) throws -> String? {
        try connection.first(
            "SELECT double_payments FROM customer WHERE app = ?1 AND environment = ?2 AND id = ?3",
            values(.text(customer.rawValue))
        ).flatMap { try $0["double_payments"] }
    }

    private func store(_ pairs: Set<DoublePayment.Pair>, of customer: CustomerID) throws {
        let json = JSONValue.array(
            pairs.sorted().map { JSONValue.array([.string($0.first.rawValue), .string($0.second.rawValue)]) })
        let text = pairs.isEmpty ? nil : String(decoding: json.encoded(), as: UTF8.self)
        try connection.perform(
            "UPDATE customer SET double_payments = ?4 WHERE app = ?1 AND environment = ?2 AND id = ?3",
            values(.text(customer.rawValue), SQLValue(text)))
    }

    /// Parses stored pairs. Damaged text has none, so that at worst an event is repeated.
    static func pairs(in text: String?) -> Set<DoublePayment.Pair> {
        guard let text, case .array(let pairs)? = try? JSONValue(parsing: Array(text.utf8)) else { return [] }
        return Set(
            pairs.compactMap { pair in
                guard let first = pair[0]?.stringValue, let second = pair[1]?.stringValue else { return nil }
                return DoublePayment.Pair(TransactionID(unchecked: first), TransactionID(unchecked: second))
            })
    }
}

extension DoublePayment {
    fileprivate func event(about customer: CustomerID) -> JSONValue {
        [
            "customer": .string(customer.rawValue), "features": .array(features.map { .string($0) }),
            "subscriptions": .array(
                subscriptions.map { subscription in
                    var json: JSONValue = [
                        "productID": .string(subscription.productID.rawValue),
                        "originalTransactionID": .string(subscription.originalTransactionID.rawValue),
                        "source": .string(subscription.source.rawValue),
                    ]
                    json["managementURL"] = subscription.managementURL.map { .string($0) }
                    return json
                }),
        ]
    }
}

extension Schema {
    /// The pairs of subscriptions with which a customer pays twice and whose event was recorded, as JSON:
    /// `[["1000000001","play.…"]]`. Empty for most customers.
    static let doublePayments = SQLMigration(
        "0027 double payments",
        [
            .sqlite: "ALTER TABLE customer ADD COLUMN double_payments TEXT",
            .postgreSQL: #"ALTER TABLE customer ADD COLUMN double_payments TEXT COLLATE "C""#,
        ],
        minimumProgram: programs.name)
}

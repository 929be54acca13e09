import Foundation

/// One credit of one customer: what their purchases gave, and what was spent of it.
///
/// Spending belongs to the purchase that paid, and moves with it to its next holder. Customers who share a purchase share
/// what is left of it. So all holders together spend at most what the purchase gave, and only a refund makes a balance
/// negative. It makes the balance of the customer who spent the units negative: a debt cannot be passed on with a purchase.
package struct CreditAccount: Hashable, Sendable {
    /// One purchase, with all its transactions.
    package struct Source: Hashable, Sendable {
        /// The first transaction of the purchase.
        package let original: TransactionID
        package let purchasedAt: Date
        /// The units it ever gave, refunded ones included.
        package let given: Int
        /// The units it gave that were not refunded.
        package let valid: Int
        /// The units that all its holders, past and present, spent.
        package fileprivate(set) var spent: Int
        /// The units of these that the account's customer spent.
        fileprivate var own: Int

        /// The units it adds to a balance. Negative after a refund of units that the account's customer spent. Never negative
        /// without a refund, even if the credit table now gives less for the product than before.
        package var left: Int { earned - spent }
        var earned: Int { max(valid, valid < given ? spent - min(own, spent) : spent) }
    }

    /// A part of a cost, and the purchase that pays it.
    package struct Portion: Hashable, Sendable {
        package let source: Source
        /// More than zero.
        package let amount: Int
    }

    /// Oldest first.
    package private(set) var sources: [Source]
    /// Units spent that no purchase of the customer covers: see `init`. Older ledgers could spend a purchase more than once.
    package let debt: Int

    /// - Parameters:
    ///   - purchases: those that the customer has.
    ///   - spent: what was spent of each, by its first transaction.
    ///   - own: what the customer spent of each; `nil` when all of it was.
    ///   - debt: units spent that no purchase gave, or of purchases that were refunded and are another customer's now.
    package init(
        of purchases: [CustomerPurchase], in credit: CreditTable.Credit, spent: [TransactionID: Int] = [:],
        own: [TransactionID: Int]? = nil, debt: Int = 0
    ) {
        let own = own ?? spent
        sources = Dictionary(grouping: purchases, by: \.originalTransactionID).map { original, transactions in
            Source(
                original: original, purchasedAt: transactions.map(\.purchasedAt).min() ?? .distantPast,
                given: credit.amount(of: transactions),
                valid: credit.amount(of: transactions.filter { $0.revokedAt == nil }), spent: spent[original] ?? 0,
                own: own[original] ?? 0)
        }.sorted { ($0.purchasedAt, $0.original) < ($1.purchasedAt, $1.original) }
        self.debt = max(0, debt)
    }

    package var earned: Int { sources.reduce(0) { $0.adding($1.earned) } }
    package var spent: Int { sources.reduce(debt) { $0.adding($1.spent) } }
    package var balance: Int { earned - spent }

    /// Takes a cost from the purchases, the oldest first. Returns `nil` and changes nothing if the balance is too small.
    package mutating func spend(_ cost: Int) -> [Portion]? {
        guard cost > 0 else { return [] }
        return balance >= cost ? take(cost) : nil
    }

    /// Takes as much of a cost as the purchases ever gave, including refunded ones. Ignores the balance.
    package mutating func settle(_ cost: Int) -> [Portion] { take(cost) { max(0, $0.given - $0.spent) } }

    private mutating func take(_ cost: Int, of available: (Source) -> Int = { max(0, $0.left) }) -> [Portion] {
        var (rest, portions) = (cost, [Portion]())
        for index in sources.indices where rest > 0 {
            let amount = min(rest, available(sources[index]))
            guard amount > 0 else { continue }
            sources[index].spent += amount
            sources[index].own += amount
            portions.append(Portion(source: sources[index], amount: amount))
            rest -= amount
        }
        return portions
    }
}

extension CreditTable.Credit {
    /// The units that the transactions of one purchase gave. Each consumable transaction gives; transactions of other kinds
    /// are restorations of one purchase, which gives once.
    fileprivate func amount(of transactions: [CustomerPurchase]) -> Int {
        let consumed = transactions.filter { $0.kind == .consumable }.reduce(0) { $0.adding(amount(of: $1)) }
        return consumed.adding(transactions.filter { $0.kind != .consumable }.map(amount).max() ?? 0)
    }
}

extension Int {
    /// The sum of two numbers that are not negative, or the largest number.
    fileprivate func adding(_ other: Int) -> Int {
        let (sum, isTooLarge) = addingReportingOverflow(other)
        return isTooLarge ? .max : sum
    }
}

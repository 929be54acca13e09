import Foundation

/// The account of one customer for one kind of credit: the units that purchases and operators gave, and the units that
/// were spent.
///
/// Units that were spent from a purchase belong to it and move with it to its next owner. Customers who share a
/// purchase share the rest of its units. All owners together spend at most the units that the purchase gave. A refund
/// can make a balance negative, but only the balance of the customer who spent the units. A debt cannot be passed on
/// with a purchase.
package struct CreditAccount: Hashable, Sendable {
    /// A purchase with all its transactions.
    package struct Source: Hashable, Sendable {
        /// The original transaction of the purchase.
        package let original: TransactionID
        package let purchasedAt: Date
        /// The units that the purchase gave, including refunded units.
        package let given: Int
        /// The units that the purchase gave and that were not refunded.
        package let valid: Int
        /// The units that all owners spent, past and present.
        package fileprivate(set) var spent: Int
        /// The part of `spent` that the account's customer spent.
        fileprivate var own: Int

        /// The units that the purchase adds to the balance. The number is negative only after a refund of units that
        /// the account's customer spent. A credit table that now gives less for the product does not make it negative.
        package var left: Int { earned - spent }
        var earned: Int { max(valid, valid < given ? spent - min(own, spent) : spent) }
    }

    /// A part of a cost, with the purchase that pays it.
    package struct Portion: Hashable, Sendable {
        package let source: Source
        /// The units. More than zero.
        package let amount: Int
    }

    /// The purchases, the oldest first.
    package private(set) var sources: [Source]
    /// Spent units that no purchase of the customer covers; see `init`. Some are from earlier versions, which could
    /// spend the units of a purchase more than once.
    package let debt: Int
    /// The units that operators gave. They belong to the customer and to no purchase.
    package let granted: Int
    /// The part of `granted` that was spent.
    package private(set) var grantedSpent: Int

    /// - Parameters:
    ///   - purchases: The purchases of the customer.
    ///   - credit: The kind of credit.
    ///   - spent: The units that were spent of each purchase, by original transaction.
    ///   - own: The units that the customer spent of each purchase, or `nil` if no other customer spent any.
    ///   - debt: Spent units that no purchase gave, or that come from refunded purchases of other customers.
    ///   - granted: The units that operators gave.
    ///   - grantedSpent: The part of `granted` that was spent.
    package init(
        of purchases: [CustomerPurchase], in credit: CreditTable.Credit, spent: [TransactionID: Int] = [:],
        own: [TransactionID: Int]? = nil, debt: Int = 0, granted: Int = 0, grantedSpent: Int = 0
    ) {
        let own = own ?? spent
        sources = Dictionary(grouping: purchases, by: \.originalTransactionID).map { original, transactions in
            Source(
                original: original, purchasedAt: transactions.map(\.purchasedAt).min() ?? .distantPast,
                given: Self.sum(of: transactions, credit.given(by:)),
                valid: Self.sum(of: transactions, credit.left(of:)), spent: spent[original] ?? 0,
                own: own[original] ?? 0)
        }.sorted { ($0.purchasedAt, $0.original) < ($1.purchasedAt, $1.original) }
        self.debt = max(0, debt)
        self.granted = max(0, granted)
        self.grantedSpent = max(0, grantedSpent)
    }

    package var earned: Int { sources.reduce(granted) { $0.adding($1.earned) } }
    package var spent: Int { sources.reduce(debt.adding(grantedSpent)) { $0.adding($1.spent) } }
    package var balance: Int { earned - spent }

    /// Takes a cost from the units that operators gave, and then from the purchases, the oldest first. Returns the
    /// portions of the purchases. Returns `nil` and changes nothing if the balance is too small.
    package mutating func spend(_ cost: Int) -> [Portion]? {
        guard cost > 0 else { return [] }
        guard balance >= cost else { return nil }
        let fromGrants = min(cost, max(0, granted - grantedSpent))
        grantedSpent += fromGrants
        return take(cost - fromGrants)
    }

    /// Takes as much of a cost as the purchases have unspent units, including refunded ones. Ignores the balance.
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

extension CreditAccount {
    /// Returns the units of the transactions of one purchase. Each consumable transaction gives units. Several
    /// transactions of another kind are restores of one purchase, which gives its units once.
    fileprivate static func sum(of transactions: [CustomerPurchase], _ units: (CustomerPurchase) -> Int) -> Int {
        let consumed = transactions.filter { $0.kind == .consumable }.reduce(0) { $0.adding(units($1)) }
        return consumed.adding(transactions.filter { $0.kind != .consumable }.map(units).max() ?? 0)
    }
}

extension Int {
    /// Returns the sum of two numbers that are not negative, or the largest `Int` on overflow.
    fileprivate func adding(_ other: Int) -> Int {
        let (sum, isTooLarge) = addingReportingOverflow(other)
        return isTooLarge ? .max : sum
    }
}

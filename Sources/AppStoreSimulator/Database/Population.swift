import Foundation
import SQLStorage
import StoreModel

/// Many subscribers and their renewals, for benchmarks.
extension SimulatedAppStore {
    /// Creates `count` accounts that subscribe to `product` now. Throws `unknownProduct` if it is not a subscription.
    package func populate(_ count: Int, subscribingTo product: ProductID) async throws {
        guard configuration.catalogue[product]?.subscription != nil else {
            throw SimulatorError(.unknownProduct, "The store sells no subscription \(product).")
        }
        let group = 10_000
        for first in stride(from: 0, to: count, by: group) {
            try await database.write { [catalogue = configuration.catalogue, virtualClock] sql in
                let db = SimulatorDatabase(sql)
                let now = try db.now(virtualClock)
                let row = try sql.first("SELECT coalesce(max(id), 0) AS last FROM account")
                let last: Int64 = try row?["last"] ?? 0
                var rules = StoreRules(
                    catalogue: catalogue, conditions: try db.conditions(), numbers: try db.numbers())
                for number in first..<min(first + group, count) {
                    let account = last + Int64(number - first) + 1
                    try db.add(
                        account: AccountName(unchecked: "subscriber-\(account)"), appTransactionID: "70\(account)",
                        at: now)
                    let order = Order(accountID: account, productID: product)
                    for case .subscription(let record) in rules.sell(order, StoreRules.ExistingPurchases(), at: now)
                        .changes
                    {
                        try db.save(record)
                    }
                }
                try db.save(rules.numbers)
            }
        }
    }

    /// Computes every transaction of every subscription as of now, and signs each `interval`-th of them. Stores
    /// nothing.
    package func readEverything(signingEach interval: Int) throws -> (transactions: Int, signed: Int) {
        let now = virtualClock.now()
        return try database.read { sql in
            let db = SimulatorDatabase(sql)
            let conditions = try db.conditions()
            var (count, signed) = (0, 0)
            try db.eachSubscription { record in
                for transaction in SubscriptionState(of: record, under: conditions, at: now).transactions {
                    count += 1
                    guard count.isMultiple(of: interval) else { continue }
                    _ = try signer.sign(
                        transaction, appTransactionID: "70\(record.accountID)", at: now, isFresh: true)
                    signed += 1
                }
            }
            return (count, signed)
        }
    }
}

import Foundation
import Primitives
import SQLStorage
import StoreModel

extension Ledger {
    /// Why nothing was redeemed.
    struct InsufficientCredit: Error {
        let balance: Int
        let cost: Int
    }

    /// How much credit a customer has.
    func balance(of key: CustomerKey, type: String, in credit: CreditTable.Credit) throws -> CreditBalance {
        try database.read { connection in
            let transaction = transaction(connection, on: key.book)
            let customer = try transaction.customer(named: key.customer) ?? key.customer
            return try transaction.balance(of: customer, type: type, in: credit)
        }
    }

    /// Redeems all items or none. What was redeemed before costs nothing.
    ///
    /// Throws `InsufficientCredit`. Each item's type has a price.
    func redeem(
        _ items: [RedeemRequest.Item], of key: CustomerKey, type: String, in credit: CreditTable.Credit,
        as request: IdempotentRequest?, respond: @escaping @Sendable (RedeemAnswer) throws -> KeptAnswer
    ) async throws -> KeptAnswer {
        try await write(once: request) { connection, outcome in
            var transaction = transaction(connection, on: key.book)
            let customer = try transaction.register(key.customer)
            let response = try respond(try transaction.redeem(items, of: customer, type: type, in: credit))
            try settle(transaction, asking: nil, &outcome)
            return response
        }
    }
}

extension LedgerTransaction {
    fileprivate func balance(
        of customer: CustomerID, type: String, in credit: CreditTable.Credit
    ) throws -> CreditBalance {
        let answer = rules.reducer.customer(customer, in: book.environment, try state(of: customer), at: now)
        let spent = try connection.first(
            """
            SELECT COALESCE(SUM(cost), 0) AS spent FROM redemption
            WHERE app = ?1 AND environment = ?2 AND customer = ?3 AND credit = ?4
            """, values(.text(customer.rawValue), .text(type)))
        return CreditBalance(
            type: type, earned: credit.earned(from: answer.purchases), spent: try spent?["spent"] ?? 0,
            prices: credit.prices)
    }

    fileprivate func redeem(
        _ items: [RedeemRequest.Item], of customer: CustomerID, type: String, in credit: CreditTable.Credit
    ) throws -> RedeemAnswer {
        var redeemed: [RedeemAnswer.Item] = []
        for item in items {
            let isNew = try connection.execute(
                """
                INSERT INTO redemption (app, environment, customer, credit, item, type, cost, redeemed_at)
                VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8) ON CONFLICT (app, environment, customer, credit, item) DO NOTHING
                """,
                values(
                    .text(customer.rawValue), .text(type), .text(item.id), .text(item.type),
                    .integer(Int64(credit.prices[exactly: item.type] ?? 0)), .integer(now.milliseconds)))
            let cost = isNew > 0 ? credit.prices[exactly: item.type] ?? 0 : 0
            redeemed.append(.init(id: item.id, type: item.type, cost: cost))
        }
        let after = try balance(of: customer, type: type, in: credit)
        let cost = redeemed.reduce(0) { $0 + $1.cost }
        guard after.balance >= 0 || cost == 0 else {
            throw Ledger.InsufficientCredit(balance: after.balance + cost, cost: cost)
        }
        return RedeemAnswer(type: type, balance: after.balance, items: redeemed)
    }
}

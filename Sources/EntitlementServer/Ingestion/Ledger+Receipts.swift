import Foundation
import StoreModel

extension Ledger {
    /// Two ways to look at the purchases of a receipt, computed when asked for.
    struct ReceiptAnswers {
        /// The answer of the one customer who has them.
        let holder: () throws -> Customer
        /// What follows from the purchases alone, for a customer named `unclaimed`.
        let purchases: () throws -> Customer
    }

    /// Who is named where nobody is: an answer about purchases of nobody, or of several.
    static let unclaimed: CustomerID = "unclaimed"

    /// Appends what a receipt says without a claim, and answers with what `respond` makes of whoever has its purchases:
    /// the customer, when it is one and the same for all of them.
    func record(
        _ receipt: PresentedReceipt, of app: BundleID, as request: IdempotentRequest?,
        respond: @escaping @Sendable (CustomerID?, ReceiptAnswers) throws -> KeptAnswer
    ) async throws -> KeptAnswer {
        let ledgerID = LedgerID(app: app, environment: receipt.environment)
        return try await write(once: request) { connection, outcome in
            var transaction = transaction(connection, on: ledgerID)
            let purchases = Set(receipt.facts.map(\.original))
            try transaction.lock(forAppending: receipt.facts)
            for fact in receipt.facts { try transaction.append(fact) }
            if !receipt.facts.isEmpty { try transaction.keep(receipt.document, about: purchases) }
            let holders = try Set(purchases.flatMap { try transaction.holders(of: $0) })
            let holder = holders.count == 1 ? holders.first : nil
            try settle(transaction, asking: holder, &outcome)
            let settled = transaction
            let answer = holder.flatMap { outcome.answers[CustomerKey(ledgerID: ledgerID, customer: $0)] }
            let views = ReceiptAnswers(
                holder: {
                    guard let answer else { return try settled.answer(about: purchases) }
                    return try WireJSON.decode(Customer.self, from: answer.bytes)
                }, purchases: { try settled.answer(about: purchases) })
            outcome.subject = holder
            return try respond(holder, views)
        }
    }
}

extension LedgerTransaction {
    /// What follows from some purchases alone, whoever has them.
    func answer(about purchases: Set<TransactionID>) throws -> Customer {
        var state = CustomerState()
        for purchase in purchases { try fold(purchase, into: &state) }
        return rules.reducer.customer(Ledger.unclaimed, in: ledgerID.environment, state, at: now)
    }
}

import Foundation
import StoreModel

extension Ledger {
    /// Two answers about the purchases of a receipt, computed on demand.
    struct ReceiptAnswers {
        /// The answer of the only customer with any of these purchases, or the answer of `purchases` if there is no
        /// such customer.
        let holder: () throws -> Customer
        /// The answer from the purchases alone, for a customer named `unclaimed`.
        let purchases: () throws -> Customer
    }

    /// The customer id in an answer about purchases of no customer, or of several.
    static let unclaimed: CustomerID = "unclaimed"

    /// Appends the facts of a receipt without a claim. `respond` receives a customer if exactly one has purchases of
    /// the receipt.
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
            try computeAnswers(transaction, including: holder, &outcome)
            let finished = transaction
            let answer = holder.flatMap { outcome.answers[CustomerKey(ledgerID: ledgerID, customer: $0)] }
            let views = ReceiptAnswers(
                holder: {
                    guard let answer else { return try finished.answer(about: purchases) }
                    return try WireJSON.decode(Customer.self, from: answer.bytes)
                }, purchases: { try finished.answer(about: purchases) })
            outcome.subject = holder
            return try respond(holder, views)
        }
    }
}

extension LedgerTransaction {
    /// Computes an answer from some purchases alone, independent of their customers.
    func answer(about purchases: Set<TransactionID>) throws -> Customer {
        var state = CustomerState()
        for purchase in purchases { try fold(purchase, into: &state) }
        return rules.reducer.customer(Ledger.unclaimed, in: ledgerID.environment, state, at: now)
    }
}

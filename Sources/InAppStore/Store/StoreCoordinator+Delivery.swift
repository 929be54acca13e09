import Foundation
import StoreKitAdapter
import StoreModel

/// The delivery of the store's transactions.
extension StoreCoordinator {
    /// Presents transactions to the server, and returns a verdict for each. A transaction with the token of a former
    /// customer of this device is held for that customer, so that no other customer gets the purchase. The server
    /// decides about tokens that this device does not have.
    func deliver(_ transactions: [StoreTransaction]) async -> [TransactionID: DeliveryVerdict] {
        do {
            let tokens = tokensOfThisDevice
            let (own, answer) = try await runSerially { [validator] customer in
                let own = Self.transactions(transactions, of: customer, tokensOfThisDevice: tokens)
                return (own, own.isEmpty ? nil : try await validator.validate(own, for: customer))
            } record: { (_, answer: TransactionValidation?) in
                answer.map { CustomerAnswer(customer: $0.customer, serverTime: $0.serverTime) }
            }
            if let answer {
                let rejected = answer.rejected.filter { !$0.retryable && own.indices.contains($0.index) }
                record(acknowledged: answer.acknowledged, rejected: Set(rejected.map { own[$0.index].id }))
            }
            return hold(allBut: own, of: transactions).merging(verdicts(on: own, answer)) { $1 }
        } catch {
            let own = Self.transactions(transactions, of: owner.customer, tokensOfThisDevice: tokensOfThisDevice)
            if !Task.isCancelled, !own.isEmpty {
                let sentence =
                    "\(own.count) transactions could not be presented to the server. They are presented later."
                report(StoreEvent(kind: .nonCriticalError, code: .receiptValidationFailed, sentence: sentence))
                await verifyLocally(own)
            }
            return own.reduce(into: hold(allBut: own, of: transactions)) { $0[$1.id] = .unavailable(error) }
        }
    }

    /// Returns the transactions, except those with the token of another customer of this device.
    private static func transactions(
        _ all: [StoreTransaction], of customer: CustomerID, tokensOfThisDevice tokens: [UUID]
    ) -> [StoreTransaction] {
        let own = customer.appAccountToken
        return all.filter { transaction in
            transaction.appAccountToken.map { $0 == own || !tokens.contains($0) } ?? true
        }
    }

    private func hold(
        allBut own: [StoreTransaction], of all: [StoreTransaction]
    ) -> [TransactionID: DeliveryVerdict] {
        let own = Set(own.map(\.id))
        return all.reduce(into: [:]) { verdicts, transaction in
            guard !own.contains(transaction.id) else { return }
            let error = PurchaseError(
                .acknowledgementPending,
                "Transaction \(transaction.id) belongs to another customer of this device; it is presented when that "
                    + "customer logs in.")
            report(
                StoreEvent(
                    kind: .nonCriticalError, code: error.code, sentence: error.reason,
                    transactionID: transaction.id))
            verdicts[transaction.id] = .held(error)
        }
    }

    private func verdicts(
        on transactions: [StoreTransaction], _ answer: TransactionValidation?
    ) -> [TransactionID: DeliveryVerdict] {
        guard let answer else { return [:] }
        let rejected = Dictionary(
            answer.rejected.compactMap { rejection in
                transactions.indices.contains(rejection.index) ? (transactions[rejection.index].id, rejection) : nil
            }, uniquingKeysWith: { first, _ in first })
        return transactions.reduce(into: [:]) { verdicts, transaction in
            verdicts[transaction.id] = verdict(
                on: transaction, isAcknowledged: answer.acknowledged.contains(transaction.id),
                rejection: rejected[transaction.id])
        }
    }

    private func verdict(
        on transaction: StoreTransaction, isAcknowledged: Bool, rejection: RejectedTransaction?
    ) -> DeliveryVerdict {
        if isAcknowledged { return .acknowledged }
        guard let rejection else {
            return .unavailable(
                PurchaseError(.acknowledgementPending, "The server has not acknowledged transaction \(transaction.id).")
            )
        }
        let error = PurchaseError(.receiptValidationFailed, "\(rejection.code): \(rejection.detail)")
        report(
            StoreEvent(
                kind: rejection.retryable ? .nonCriticalError : .criticalError, code: .receiptValidationFailed,
                sentence: error.reason, transactionID: transaction.id))
        return rejection.retryable ? .unavailable(error) : .rejected(error)
    }
}

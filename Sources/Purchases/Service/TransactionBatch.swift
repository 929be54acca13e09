import Foundation

/// As many transactions as one request may carry.
struct TransactionBatch: Equatable {
    /// The place of its first transaction among all.
    let offset: Int
    let transactions: [StoreTransaction]

    /// What WIRE.md allows in one request.
    static let maximumCount = 100
    /// Keeps a request well below the server's limit of a body. A single longer transaction still goes out alone.
    static let maximumBytes = 512 << 10

    static func batches(of transactions: [StoreTransaction]) -> [TransactionBatch] {
        var batches: [TransactionBatch] = []
        var start = 0
        var bytes = 0
        for (index, transaction) in transactions.enumerated() {
            let size = transaction.signedTransaction.utf8.count + (transaction.signedRenewalInfo?.utf8.count ?? 0)
            if index > start, index - start == maximumCount || bytes + size > maximumBytes {
                batches.append(TransactionBatch(offset: start, transactions: Array(transactions[start..<index])))
                (start, bytes) = (index, 0)
            }
            bytes += size
        }
        if start < transactions.count {
            batches.append(TransactionBatch(offset: start, transactions: Array(transactions[start...])))
        }
        return batches
    }

    var request: PostTransactionsRequest {
        let renewals = transactions.compactMap(\.signedRenewalInfo)
        return PostTransactionsRequest(
            signedTransactions: transactions.map(\.signedTransaction),
            signedRenewalInfos: renewals.isEmpty ? nil : renewals)
    }

    /// A refusal of the only transaction as the rejection it is; `nil` when the request as a whole was refused.
    func rejection(from error: PurchaseError) -> RejectedTransaction? {
        guard transactions.count == 1, error.code == .validationError, let problem = error.underlying as? Problem,
            problem.status == 422, problem.code != "idempotency_mismatch"
        else { return nil }
        return RejectedTransaction(
            index: 0, code: problem.code, detail: problem.detail, retryable: problem.retryable)
    }
}

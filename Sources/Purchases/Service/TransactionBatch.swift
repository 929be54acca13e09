import Foundation
import HTTPCore

/// The transactions of one request.
struct TransactionBatch: Equatable {
    /// The index of its first transaction among all transactions of the call.
    let offset: Int
    /// The number of renewal infos in earlier requests.
    let renewalOffset: Int
    let transactions: [StoreTransaction]

    /// The server's limit for the transactions of one request.
    static let maximumCount = 100
    /// Keeps a request well below the server's limit for a body. A single longer transaction is sent alone.
    static let maximumBytes = 512 << 10

    static func batches(of transactions: [StoreTransaction]) -> [TransactionBatch] {
        var batches: [TransactionBatch] = []
        var start = 0
        var bytes = 0
        var renewals = 0
        func close(before end: Int) {
            let batch = TransactionBatch(
                offset: start, renewalOffset: renewals, transactions: Array(transactions[start..<end]))
            batches.append(batch)
            renewals += batch.renewals.count
            (start, bytes) = (end, 0)
        }
        for (index, transaction) in transactions.enumerated() {
            let size = transaction.signedTransaction.utf8.count + (transaction.signedRenewalInfo?.utf8.count ?? 0)
            if index > start, index - start == maximumCount || bytes + size > maximumBytes { close(before: index) }
            bytes += size
        }
        if start < transactions.count { close(before: transactions.count) }
        return batches
    }

    private var renewals: [String] { transactions.compactMap(\.signedRenewalInfo) }

    var request: PostTransactionsRequest {
        PostTransactionsRequest(
            signedTransactions: transactions.map(\.signedTransaction),
            signedRenewalInfos: renewals.isEmpty ? nil : renewals)
    }

    /// Returns a rejection of this request with its index in the whole call. The server numbers transactions first and
    /// then renewal infos, and so does the answer to the call.
    func placed(_ rejection: RejectedTransaction, amongTransactions count: Int) -> RejectedTransaction {
        var rejection = rejection
        rejection.index +=
            rejection.index < transactions.count ? offset : count - transactions.count + renewalOffset
        return rejection
    }

    /// Returns the rejection of the only transaction, or `nil` for any other error of the request.
    func rejection(from error: PurchaseError) -> RejectedTransaction? {
        guard transactions.count == 1, error.code == .validationError, let problem = error.underlying as? HTTPProblem,
            problem.status == 422, problem.code != "idempotency_mismatch"
        else { return nil }
        return RejectedTransaction(
            index: 0, code: problem.code, detail: problem.detail, retryable: problem.isRetryable)
    }
}

import Foundation
import SQLStorage
import StoreModel

extension SimulatorDatabase {
    /// A transaction and the state of its subscription; `nil` if it was not sold by `now`.
    func transaction(_ id: Int64, at now: Date) throws -> (TransactionRecord, SubscriptionState?)? {
        if let purchase = try purchase(id, at: now) { return (purchase, nil) }
        guard let record = try subscription(having: id) else { return nil }
        let state = SubscriptionState(of: record, under: try conditions(), at: now)
        return state.transaction(id).map { ($0, state) }
    }

    /// The states of an account's subscriptions, oldest first.
    func states(of account: Int64, at now: Date) throws -> [SubscriptionState] {
        let conditions = try conditions()
        return try subscriptions(of: account).map { SubscriptionState(of: $0, under: conditions, at: now) }
    }

    /// The transactions of an account, in the order of their purchase.
    ///
    /// Throws `tooManyTransactions` for more than `limit`, before it computes them.
    func transactions(
        of account: Int64, at now: Date, limit: Int = SimulatedAppStore.transactionLimit
    ) throws -> [(TransactionRecord, SubscriptionState?)] {
        let states = try states(of: account, at: now)
        let row = try sql.first("SELECT count(*) AS n FROM purchase WHERE account = ?1", [.integer(account)])
        let bought: Int = try row?["n"] ?? 0
        let count = states.reduce(bought) { $0 + $1.count }
        guard count <= limit else { throw try tooMany(count, "transactions", of: account, limit: limit) }
        return Self.inOrder(try purchases(of: account, at: now), states.map { ($0, $0.transactions) })
    }

    /// The transactions that no device of the account has finished, in the order of their purchase.
    ///
    /// Throws `tooManyTransactions` for more than `limit`, before it computes them.
    func unfinishedTransactions(
        of account: Int64, at now: Date, limit: Int = SimulatedAppStore.transactionLimit
    ) throws -> [(TransactionRecord, SubscriptionState?)] {
        let states = try states(of: account, at: now).map { state in
            (state: state, finished: try finished(of: state.record.originalID).filter(state.has))
        }
        let row = try sql.first(
            "SELECT count(*) AS n FROM purchase WHERE account = ?1 AND is_finished = 0", [.integer(account)])
        let bought: Int = try row?["n"] ?? 0
        let count = states.reduce(bought) { $0 + $1.state.count - $1.finished.count }
        guard count <= limit else { throw try tooMany(count, "unfinished transactions", of: account, limit: limit) }
        let sold = states.map { state, finished in
            (
                state,
                state.transactions(soldAfter: nil, by: .distantFuture, limit: .max, isLeftOut: finished.contains)
            )
        }
        return Self.inOrder(try unfinishedPurchases(of: account, at: now), sold)
    }

    private static func inOrder(
        _ bought: [TransactionRecord], _ sold: [(SubscriptionState, [TransactionRecord])]
    ) -> [(TransactionRecord, SubscriptionState?)] {
        var all: [(TransactionRecord, SubscriptionState?)] = bought.map { ($0, nil) }
        for (state, transactions) in sold { all += transactions.map { ($0, state) } }
        return all.sorted { ($0.0.purchaseDate, $0.0.id) < ($1.0.purchaseDate, $1.0.id) }
    }

    private func tooMany(_ count: Int, _ what: String, of account: Int64, limit: Int) throws -> SimulatorError {
        let name = try self.account(account)?.name.rawValue ?? ""
        return SimulatorError(
            .tooManyTransactions,
            "The account \(name) has \(count) \(what), and one answer holds at most \(limit); read the history page by "
                + "page from the App Store Server API, or start with a new data folder and advance the clock less.")
    }

    /// The transactions that give an account access: the current period of each active subscription, and owned
    /// purchases.
    func entitlements(of account: Int64, at now: Date) throws -> [(TransactionRecord, SubscriptionState?)] {
        let active = try states(of: account, at: now)
            .filter(\.isActive).map { ($0.latest, Optional($0)) }
        return (active + (try ownedPurchases(of: account, at: now)).map { ($0, nil) }).sorted { $0.0.id < $1.0.id }
    }

    func isFinished(_ transaction: TransactionRecord) throws -> Bool {
        if transaction.kind == .autoRenewableSubscription, transaction.additionTo == nil {
            return try finished(of: transaction.originalID).contains(transaction.id)
        }
        let row = try sql.first("SELECT is_finished FROM purchase WHERE id = ?1", [.integer(transaction.id)])
        return try row?["is_finished"] ?? false
    }
}

import AppStorePayloads
import Foundation
import SQLStorage
import StoreModel

/// Searches and signatures for the App Store Server API.
extension SimulatedAppStore {
    /// Returns a transaction as it is now. Throws `ErrorCode` (`appTransactionIdNotSupported`,
    /// `transactionIdNotFound`).
    func findSale(_ transaction: Int64) throws -> Sale {
        try read({ try $0.owner(ofTransaction: transaction) }) { db, account, now in
            guard let (record, state) = try db.transaction(transaction, at: now) else {
                throw AppStoreServerAPI.ErrorCode.transactionIdNotFound
            }
            return Sale(transaction: record, state: state, account: account, now: now)
        }
    }

    /// Reads the account that has a transaction or an app transaction with number `id`.
    ///
    /// Throws `ErrorCode.transactionIdNotFound`.
    func readAccount<Value: Sendable>(
        ofTransaction id: Int64, _ body: (SimulatorDatabase, SimulatorDatabase.Account, Date) throws -> Value
    ) throws -> Value {
        try read({ try $0.owner(ofAny: id) }) { db, account, now in
            guard try account.appTransactionID == "\(id)" || db.transaction(id, at: now) != nil else {
                throw AppStoreServerAPI.ErrorCode.transactionIdNotFound
            }
            return try body(db, account, now)
        }
    }

    /// Signs transactions now, for a server.
    func sign(_ transactions: [TransactionRecord], of account: SimulatorDatabase.Account, at now: Date) throws
        -> [String]
    {
        try transactions.map {
            try signer.sign($0, appTransactionID: account.appTransactionID, at: now, isFresh: true)
        }
    }
}

extension SimulatorDatabase {
    /// Returns the account of a transaction, even of a renewal that is not yet due. Throws
    /// `ErrorCode.appTransactionIdNotSupported`, and `missing`.
    func owner(
        ofTransaction id: Int64, else missing: AppStoreServerAPI.ErrorCode = .transactionIdNotFound
    ) throws -> Account {
        if let account = try customer(ofTransaction: id) { return account }
        throw try customer(ofAppTransaction: id) == nil
            ? missing : AppStoreServerAPI.ErrorCode.appTransactionIdNotSupported
    }

    /// Returns the account of a transaction or an app transaction. Throws `ErrorCode.transactionIdNotFound`.
    func owner(ofAny id: Int64) throws -> Account {
        guard let account = try customer(ofTransaction: id) ?? customer(ofAppTransaction: id) else {
            throw AppStoreServerAPI.ErrorCode.transactionIdNotFound
        }
        return account
    }

    func customer(ofTransaction id: Int64) throws -> Account? {
        let row = try sql.first(
            """
            SELECT account FROM subscription WHERE original = ?1
            UNION ALL SELECT account FROM run JOIN subscription USING (original) WHERE base = ?1
            UNION ALL SELECT account FROM purchase WHERE id = ?2 LIMIT 1
            """, [.integer(TransactionNumber.base(of: id)), .integer(id)])
        return try row.flatMap { try account($0["account"] as Int64) }
    }

    private func customer(ofAppTransaction id: Int64) throws -> Account? {
        let row = try sql.first("SELECT id FROM account WHERE app_transaction = ?1", [.text("\(id)")])
        return try row.flatMap { try account($0["id"] as Int64) }
    }
}

import AppStorePayloads
import Foundation
import HTTPCore
import StoreModel

extension ServerAPIEndpoints {
    /// The endpoints for the purchases and the refunds of a customer.
    static let history: [Endpoint<ServerAPIHandler>] = [
        get("/inApps/v2/history/{anyTransactionId}", "Get Transaction History", rate: 50) { call in
            try history(call, version: 2)
        },
        get("/inApps/v1/history/{anyTransactionId}", "Get Transaction History V1", rate: 50) { call in
            try history(call, version: 1)
        },
        get("/inApps/v2/refund/lookup/{anyTransactionId}", "Get Refund History", rate: 10) { call in
            let id = try call.number("anyTransactionId")
            let revision = try call.single("revision", else: .invalidRequestRevision)
            let (account, page, now) = try call.store.readAccount(ofTransaction: id) { db, account, now in
                let pages = call.store.pages("refunds", of: account)
                let start = try pages.start(after: revision)
                return (account, pages.page(try db.refunds(of: account, at: now), from: start), now)
            }
            return try API.RefundHistoryResponse {
                $0.signedTransactions = try call.store.sign(page.transactions, of: account, at: now)
                $0.revision = page.revision
                $0.hasMore = page.hasMore
            }
        },
        get("/inApps/v1/refund/lookup/{originalTransactionId}", "Get Refund History V1", rate: 10) { call in
            let original = try call.number("originalTransactionId", else: .invalidOriginalTransactionId)
            let (account, refunds, now) = try call.store.refundsV1(of: original)
            return try API.RefundLookupResponse {
                $0.signedTransactions = try call.store.sign(refunds, of: account, at: now)
            }
        },
    ]

    private static func history(_ call: ServerCall, version: Int) throws -> API.HistoryResponse {
        let id = try call.number("anyTransactionId")
        let revision = try call.single("revision", else: .invalidRequestRevision)
        let request = try API.TransactionHistoryRequest(
            query: call.query.items.map { ($0.name, $0.value) })
        let (account, page, now) = try call.store.readAccount(ofTransaction: id) { db, account, now in
            var pages = call.store.pages("history \(version) \(request.query)", of: account)
            pages.isDescending = request.sort == .descending
            let start = try pages.start(after: revision)
            let search = HistorySearch(request, from: start)
            let subscriptionEntries = try db.states(of: account.id, at: now).flatMap { $0.entries(search) }
            // Version 1 omits finished consumables, unless they were revoked.
            let unfinished = version == 1 ? Set(try db.unfinishedPurchases(of: account.id, at: now).map(\.id)) : nil
            let oneTimePurchases = try db.purchases(of: account.id, at: now).filter(request.admits).filter { record in
                unfinished.map { record.kind != .consumable || record.revocation != nil || $0.contains(record.id) }
                    ?? true
            }
            return (
                account,
                pages.page(subscriptionEntries + oneTimePurchases.map(TransactionPages.Entry.init), from: start), now
            )
        }
        return try API.HistoryResponse {
            $0.revision = page.revision
            $0.hasMore = page.hasMore
            $0.bundleId = call.store.configuration.bundleID.rawValue
            $0.environment = .sandbox
            $0.signedTransactions = try call.store.sign(page.transactions, of: account, at: now)
        }
    }
}

extension SimulatedAppStore {
    fileprivate func pages(_ subject: String, of account: SimulatorDatabase.Account) -> TransactionPages {
        TransactionPages(subject: "\(summary.rootFingerprint) \(account.id) \(subject)")
    }

    /// Returns the last 50 refunds of a customer, oldest first.
    ///
    /// Throws `ErrorCode.originalTransactionIdNotFound`, also for the number of a renewal.
    fileprivate func refundsV1(
        of original: Int64
    ) throws -> (account: SimulatorDatabase.Account, refunds: [TransactionRecord], now: Date) {
        let missing = AppStoreServerAPI.ErrorCode.originalTransactionIdNotFound
        return try read({ db in
            guard let account = try db.customer(ofTransaction: original) else { throw missing }
            return account
        }) { db, account, now in
            guard try db.transaction(original, at: now)?.0.originalID == original else { throw missing }
            return (account, try db.refunds(of: account, at: now).suffix(50).map(\.transaction), now)
        }
    }
}

extension SimulatorDatabase {
    /// Returns a customer's refunded transactions, in the order of the refunds.
    fileprivate func refunds(of account: Account, at now: Date) throws -> [TransactionPages.Entry] {
        let subscriptionTransactions = try states(of: account.id, at: now).flatMap { state in
            state.record.revocations.keys.compactMap(state.transaction)
        }
        return try (purchases(of: account.id, at: now) + subscriptionTransactions).compactMap { transaction in
            guard let revocation = transaction.revocation, revocation.kind != .familyRevoke else { return nil }
            return TransactionPages.Entry(at: revocation.at, transaction: transaction)
        }.sorted { ($0.at, $0.transaction.id) < ($1.at, $1.transaction.id) }
    }
}

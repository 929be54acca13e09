import AppStorePayloads
import Foundation
import HTTPCore
import StoreModel

extension ServerAPIEndpoints {
    /// The endpoint for the status of subscriptions.
    static let subscriptions: [Endpoint<ServerAPIHandler>] = [
        get("/inApps/v1/subscriptions/{anyTransactionId}", "Get All Subscription Statuses", rate: 50) { call in
            let id = try call.number("anyTransactionId")
            let wanted = try statuses(call)
            let (account, states, now) = try call.store.readAccount(ofTransaction: id) { db, account, now in
                let conditions = try db.conditions()
                let states = try db.subscriptions(of: account.id).map {
                    SubscriptionState(of: $0, under: conditions, at: now)
                }
                return (account, states.filter { wanted.isEmpty || wanted.contains($0.status) }, now)
            }
            let groups = Dictionary(grouping: states) { $0.record.groupID }.sorted { $0.key < $1.key }
            return try API.StatusResponse {
                $0.environment = .sandbox
                $0.bundleId = call.store.configuration.bundleID.rawValue
                $0.data = try groups.map { group, states in
                    try .init {
                        $0.subscriptionGroupIdentifier = group
                        $0.lastTransactions = try states.map { state in
                            try call.store.lastTransaction(state, of: account, at: now)
                        }
                    }
                }
            }
        }
    ]

    /// Parses the statuses of the query. Throws `ErrorCode.invalidStatus` for a value that is not a status.
    private static func statuses(_ call: ServerCall) throws(API.ErrorCode) -> Set<SubscriptionState.Status> {
        var wanted: Set<SubscriptionState.Status> = []
        for text in call.query.values("status") {
            guard let number = Int(text), String(number) == text,
                let status = SubscriptionState.Status(rawValue: number)
            else {
                throw .invalidStatus
            }
            wanted.insert(status)
        }
        return wanted
    }
}

extension SimulatedAppStore {
    fileprivate func lastTransaction(
        _ state: SubscriptionState, of account: SimulatorDatabase.Account, at now: Date
    ) throws -> AppStoreServerAPI.LastTransactionsItem {
        try AppStoreServerAPI.LastTransactionsItem {
            $0.status = .init(rawValue: state.status.rawValue)
            $0.originalTransactionId = state.latest.originalTransactionID.rawValue
            $0.signedTransactionInfo = try sign([state.latest], of: account, at: now)[0]
            $0.signedRenewalInfo = try signer.sign(
                state, appTransactionID: account.appTransactionID, at: now, isFresh: true)
        }
    }
}

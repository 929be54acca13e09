import AppStorePayloads
import Foundation
import HTTPCore
import StoreModel

extension ServerAPIEndpoints {
    /// How subscriptions stand.
    static let subscriptions: [Endpoint<ServerAPIHandler>] = [
        get("/inApps/v1/subscriptions/{anyTransactionId}", "Get All Subscription Statuses", rate: 50) { call in
            let customer = try call.number("anyTransactionId")
            let wanted = try statuses(call)
            let (account, courses, now) = try call.store.asked(ofCustomer: customer) { books, account, now in
                let conditions = try books.conditions()
                let courses = try books.subscriptions(of: account.id).map {
                    Course(of: $0, under: conditions, at: now)
                }
                return (account, courses.filter { wanted.isEmpty || wanted.contains($0.status) }, now)
            }
            let groups = Dictionary(grouping: courses) { $0.record.groupID }.sorted { $0.key < $1.key }
            return try API.StatusResponse {
                $0.environment = .sandbox
                $0.bundleId = call.store.configuration.bundleID.rawValue
                $0.data = try groups.map { group, courses in
                    try .init {
                        $0.subscriptionGroupIdentifier = group
                        $0.lastTransactions = try courses.map { course in
                            try call.store.lastTransaction(course, of: account, at: now)
                        }
                    }
                }
            }
        }
    ]

    /// Throws `ErrorCode.invalidStatus` for what is no number of a status.
    private static func statuses(_ call: ServerCall) throws(API.ErrorCode) -> Set<Course.Status> {
        var wanted: Set<Course.Status> = []
        for text in call.query.values("status") {
            guard let number = Int(text), String(number) == text, let status = Course.Status(rawValue: number) else {
                throw .invalidStatus
            }
            wanted.insert(status)
        }
        return wanted
    }
}

extension SimulatedAppStore {
    fileprivate func lastTransaction(
        _ course: Course, of account: Books.Account, at now: Date
    ) throws -> AppStoreServerAPI.LastTransactionsItem {
        try AppStoreServerAPI.LastTransactionsItem {
            $0.status = .init(rawValue: course.status.rawValue)
            $0.originalTransactionId = course.latest.originalTransactionID.rawValue
            $0.signedTransactionInfo = try sign([course.latest], of: account, at: now)[0]
            $0.signedRenewalInfo = try signer.sign(
                course, appTransactionID: account.appTransactionID, at: now, isFresh: true)
        }
    }
}

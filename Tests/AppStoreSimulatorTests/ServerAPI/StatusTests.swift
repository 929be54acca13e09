import AppStorePayloads
import Foundation
import StoreKitAdapter
import StoreModel
import Testing

@testable import AppStoreSimulator

struct SubscriptionStatusTests {
    private typealias Answer = AppStoreServerAPI.StatusResponse

    private static func statuses(
        _ client: ServerClient, _ customer: TransactionID, _ query: String = ""
    ) async throws -> [String: [Int]] {
        let answer = try await client.get("/inApps/v1/subscriptions/\(customer)\(query)", as: Answer.self)
        #expect(answer.bundleId == "com.example.souk" && answer.environment == .sandbox && answer.appAppleId == nil)
        let groups = try #require(answer.data)
        let names: [String] = groups.map { $0.subscriptionGroupIdentifier ?? "" }
        #expect(names == names.sorted())
        let statuses: [[Int]] = groups.map { ($0.lastTransactions ?? []).compactMap(\.status?.rawValue) }
        return Dictionary(uniqueKeysWithValues: zip(names, statuses))
    }

    @Test func `each subscription has its latest transaction and renewal info, by group`() async throws {
        try await TestStore.withServer { test, client in
            let monthly = try await test.buy("monthly")
            try await test.buy("weekly")
            try await test.buy("coins")
            try await test.advance(.months(3))
            try await test.store.cancel("weekly", for: "anna")
            let answer = try await client.get(
                "/inApps/v1/subscriptions/\(try test.appTransactionID())", as: Answer.self)
            #expect(answer.data?.map(\.subscriptionGroupIdentifier) == ["plus", "week"])
            let item = try #require(answer.data?.first?.lastTransactions?.first)
            #expect(item.status == .active && item.originalTransactionId == monthly.transactionID.rawValue)
            let verifier = try test.verifier()
            let transaction = try verifier.transaction(try #require(item.signedTransactionInfo)).payload
            let renewal = try verifier.renewalInfo(try #require(item.signedRenewalInfo)).payload
            let subscription = try await test.store.subscriptions(of: "anna")[0]
            #expect(transaction.transactionId == subscription.transactionID.rawValue)
            #expect(renewal.autoRenewStatus == .on && renewal.originalTransactionId == item.originalTransactionId)
            #expect(renewal.renewalDate == subscription.expiresAt && renewal.deviceVerification == nil)
            let other = try #require(answer.data?.last?.lastTransactions?.first?.signedRenewalInfo)
            #expect(try verifier.renewalInfo(other).payload.autoRenewStatus == .off)
        }
    }

    @Test func `every status is returned, and a filter selects one or several`() async throws {
        try await TestStore.withServer { test, client in
            try await test.store.set(.gracePeriod, to: "3d")
            let monthly = try await test.buy("monthly").transactionID
            let weekly = try await test.buy("weekly")
            #expect(try await Self.statuses(client, monthly) == ["plus": [1], "week": [1]])
            try await test.store.failBilling("weekly", for: "anna")
            try await test.advance(.days(8))
            #expect(try await Self.statuses(client, monthly) == ["plus": [1], "week": [4]])
            try await test.advance(.days(3))
            #expect(try await Self.statuses(client, monthly) == ["plus": [1], "week": [3]])
            try await test.store.expire("weekly", for: "anna")
            let refunded = try #require(
                try await test.store.transactions(of: "anna").last { $0.productID == "monthly" })
            try await test.store.refund(refunded.transactionID)
            let both = ["plus": [5], "week": [2]]
            #expect(try await Self.statuses(client, weekly.transactionID) == both)
            for (query, expected) in [
                ("?status=2", ["week": [2]]), ("?status=5", ["plus": [5]]), ("?status=1&status=3&status=4", [:]),
                ("?status=5&status=2", both),
            ] {
                #expect(try await Self.statuses(client, monthly, query) == expected, "\(query)")
            }
        }
    }

    @Test func `a member's share is listed with the member's own subscriptions, and not for its owner`() async throws {
        try await TestStore.withServer(catalogue: TestStore.familyCatalogue) { test, client in
            try await test.makeFamily()
            let family = try await test.buy("family").transactionID
            let single = try await test.buy("single", "ben").transactionID
            #expect(try await Self.statuses(client, family) == ["plus": [1]])
            #expect(try await Self.statuses(client, single) == ["more": [1], "plus": [1]])
            let shared = try #require(try await test.store.subscriptions(of: "ben").first { $0.sharedBy == "anna" })
            #expect(try await Self.statuses(client, shared.transactionID) == ["more": [1], "plus": [1]])
            try await test.store.leave("us", "ben")
            #expect(try await Self.statuses(client, single) == ["more": [1], "plus": [5]])
        }
    }

    @Test func `a customer without subscriptions has no groups, and invalid requests are refused`() async throws {
        try await TestStore.withServer { test, client in
            let coins = try await test.buy("coins").transactionID
            #expect(try await Self.statuses(client, coins).isEmpty)
            for query in ["status=0", "status=6", "status=active", "status=", "status=1&status=x", "status=01"] {
                #expect(
                    try await client.code(.get, "/inApps/v1/subscriptions/\(coins)?\(query)") == .invalidStatus,
                    "\(query)")
            }
            for number in impossibleNumbers {
                #expect(try await client.code(.get, "/inApps/v1/subscriptions/\(number)") == .invalidTransactionId)
            }
            #expect(try await client.code(.get, "/inApps/v1/subscriptions/77") == .transactionIdNotFound)
        }
    }
}

import AppStorePayloads
import Foundation
import HTTPCore
import Primitives
import StoreKitAdapter
import StoreModel
import Testing

@testable import AppStoreSimulator

/// A daily subscription after centuries of virtual time. No request computes its whole history.
struct LongHistoryTests {
    private static let text = """
        {"version": {"major": 4, "minor": 0}, "settings": {"_storefront": "USA", "_locale": "en_US"},
         "products": [{"productID": "coins", "type": "Consumable", "displayPrice": "0.99"}],
         "subscriptionGroups": [{"id": "d", "name": "D", "subscriptions": [
             {"productID": "daily", "displayPrice": "0.99", "recurringSubscriptionPeriod": "P1D", "groupNumber": 1}]}]}
        """

    private static func with(_ body: (TestStore) async throws -> Void) async throws {
        let catalogue = try Catalogue(parsing: Array(text.utf8), file: "daily.storekit")
        try await TestStore.with(change: { $0.catalogue = catalogue }, body)
    }

    /// The number of renewals from 31 January 2026 to 31 January 2226.
    private static let renewals = 73_048

    @Test func `a list or a receipt of more than 10,000 transactions is refused with their number`() async throws {
        try await Self.with { test in
            let device = try await test.device()
            try await test.buy("daily")
            try await test.advance(.years(200))
            let client = StoreRoutesTests.Client(test)
            for path in [
                "/control/v1/accounts/anna/transactions", "/control/v1/accounts/anna/unfinished",
                "/control/v1/devices/\(device)/receipt", "/store/v1/devices/\(device)/receipt",
            ] {
                let (status, json) = try await client.ask(.get, path)
                #expect(status == 422 && json["code"] == "tooManyTransactions", "\(path)")
                let detail = try #require(json["detail"]?.stringValue)
                #expect(detail.contains("\(Self.renewals + 1)") && detail.contains("10000"), "\(detail)")
            }
            let connection = InProcessStoreConnection(store: test.store, device: device)
            await test.fails(StoreFailure.Code(rawValue: "tooManyTransactions")) { try await connection.receipt() }
            await connection.close()
            #expect(try await test.store.entitlements(of: "anna").count == 1)
            #expect(try await test.store.subscriptions(of: "anna").first?.status == .active)
            try await test.store.importState(test.store.exportState())
        }
    }

    @Test func `a list of the largest size is returned, and a longer one is refused`() async throws {
        try await Self.with { test in
            let first = try await test.buy("daily").transactionID
            try await test.buy("coins")
            try await test.advance(.days(4))
            let device = try await test.device()
            try await test.store.finish(first, from: device)
            try test.store.database.read { sql in
                let db = SimulatorDatabase(sql)
                let (account, now) = (
                    try db.existingAccount("anna" as AccountName).id, try db.now(test.store.virtualClock)
                )
                #expect(try db.transactions(of: account, at: now, limit: 6).count == 6)
                #expect(try db.unfinishedTransactions(of: account, at: now, limit: 5).count == 5)
                #expect(throws: SimulatorError(.tooManyTransactions, "")) {
                    try db.transactions(of: account, at: now, limit: 5)
                }
                #expect(throws: SimulatorError(.tooManyTransactions, "")) {
                    try db.unfinishedTransactions(of: account, at: now, limit: 4)
                }
            }
        }
    }

    @Test func `verifyReceipt reports the reason if it cannot list all transactions`() async throws {
        try await Self.with { test in
            try await test.buy("daily")
            let desk = try await ReceiptClient(test)
            let receipt = try await desk.receipt()
            try await test.advance(.years(200))
            let answer = try await desk.verify(receipt)
            #expect(answer["status"] == 21009 && answer["is_retryable"] == false && answer["receipt"] == nil)
            #expect(answer["exception"]?.stringValue?.contains("\(Self.renewals + 1) transactions") == true)
        }
    }

    @Test func `a device receives the updates of centuries in parts`() async throws {
        try await Self.with { test in
            let listener = try await Listener(test)
            let first = try #require(try await test.buy("daily").transactionID.number)
            #expect(try await listener.receive().count == 1)
            try await listener.finish(TransactionID(unchecked: "\(first)"))
            try await test.advance(.years(200))
            for part in 0..<3 {
                let ids = try await listener.receive().compactMap { $0.transaction?.id.number }
                let last = first + Int64(part * 200)
                #expect(ids.count == 200 && ids.first == last + 1 && ids.last == last + 200)
            }
        }
    }

    @Test func `a page deep in a long history has its 20 transactions, from either end`() async throws {
        try await TestStore.withServer(catalogue: Self.text) { test, client in
            let first = try #require(try await test.buy("daily").transactionID.number)
            try await test.advance(.years(200))
            let middle = Fixtures.start.addingTimeInterval(86400 * 40_000).payloadValue.text()
            for (query, start, step) in [
                ("startDate=\(middle)", 40_000, 1), ("sort=DESCENDING", Self.renewals, -1),
                ("sort=DESCENDING&endDate=\(middle)", 39_999, -1),
            ] {
                var revision = ""
                for page in 0..<2 {
                    let answer = try await client.get(
                        "/inApps/v2/history/\(first)?\(query)\(revision)",
                        as: AppStoreServerAPI.HistoryResponse.self)
                    let ids = try test.decoded(answer.signedTransactions).compactMap(\.transactionId)
                        .compactMap { Int64($0) }
                    #expect(ids == (0..<20).map { first + Int64(start + step * (page * 20 + $0)) }, "\(query)")
                    #expect(answer.hasMore == true)
                    revision = "&revision=\(try #require(answer.revision))"
                }
            }
            let none = try await client.get(
                "/inApps/v2/history/\(first)?revoked=true", as: AppStoreServerAPI.HistoryResponse.self)
            #expect(none.signedTransactions == [] && none.hasMore == false)
        }
    }

    @Test func `of many renewals the store notifies the latest, or each one if the setting is all`()
        async throws
    {
        try await Self.with { test in
            try await test.startNotifying()
            try await test.buy("daily")
            try await test.advance(.years(200))
            #expect(try await test.notificationLines() == ["daily SUBSCRIBED INITIAL_BUY", "daily DID_RENEW"])
            try await test.store.set(.notifySkippedTime, to: "all")
            let days = 2 * NotificationWriter.limit + 500
            try await test.advance(.days(days))
            // The purchase waits until the earlier notifications are written.
            try await test.buy("coins")
            let last = try test.store.notifications(after: 2, limit: 10_000)
            #expect(last.count == days + 1 && last.last?.type == "ONE_TIME_CHARGE")
            #expect(last.dropLast().allSatisfy { $0.type == "DID_RENEW" })
            #expect(Set(last.map(\.transactionID)).count == days + 1)
        }
    }
}

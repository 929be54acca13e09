import AppStorePayloads
import Foundation
import HTTPCore
import Primitives
import StoreKitAdapter
import StoreModel
import Testing

@testable import AppStoreSimulator

struct TransactionInfoTests {
    private typealias Info = AppStoreServerAPI.TransactionInfoResponse

    @Test func `a transaction is returned in its current state, signed at the time of the request`() async throws {
        try await TestStore.withServer { test, client in
            let coins = try await test.buy("coins", quantity: 3)
            let monthly = try await test.buy("monthly")
            try await test.advance(.months(2))
            let renewal = try #require(try await test.store.transactions(of: "anna").last)
            let now = await test.store.clockState().now
            for bought in [coins, monthly, renewal] {
                let info = try await client.get("/inApps/v1/transactions/\(bought.transactionID)", as: Info.self)
                let payload = try test.decoded(info.signedTransactionInfo.map { [$0] })[0]
                #expect(payload.transactionId == bought.transactionID.rawValue)
                #expect(payload.originalTransactionId == bought.originalTransactionID.rawValue)
                #expect(payload.signedDate == now && payload.deviceVerification == nil)
                #expect(payload.appTransactionId == (try test.appTransactionID()))
            }
            try await test.store.refund(renewal.transactionID)
            let info = try await client.get("/inApps/v1/transactions/\(renewal.transactionID)", as: Info.self)
            #expect(try test.decoded(info.signedTransactionInfo.map { [$0] })[0].revocationDate != nil)
        }
    }

    @Test func `an unknown transaction id, an invalid one and an app transaction id have different errors`()
        async throws
    {
        try await TestStore.withServer { test, client in
            let bought = try await test.buy("monthly")
            try await test.store.set(.askToBuy, to: true)
            let waiting = try await test.buy("pack")
            for text in impossibleNumbers {
                #expect(
                    try await client.code(.get, "/inApps/v1/transactions/\(text)") == .invalidTransactionId, "\(text)")
            }
            let app = try test.appTransactionID()
            #expect(try await client.code(.get, "/inApps/v1/transactions/\(app)") == .appTransactionIdNotSupported)
            let next = try #require(bought.transactionID.number) + 1
            for number in ["1", "\(next)", waiting.transactionID.rawValue] {
                #expect(try await client.code(.get, "/inApps/v1/transactions/\(number)") == .transactionIdNotFound)
            }
            try await test.advance(.months(2))
            #expect(
                try await client.code(.get, "/inApps/v1/transactions/\(next)") == nil,
                "The renewal must exist after the advance.")
            #expect(try await client.code(.get, "/inApps/v1/transactions/%FF") == .generalBadRequest)
            #expect(try await client.code(.get, "/inApps/v1/transactions/1?a=%FF") == .generalBadRequest)
        }
    }
}

struct AppTransactionInfoTests {
    @Test func `any transaction number of a customer leads to the app transaction`() async throws {
        try await TestStore.withServer { test, client in
            try await test.buy("monthly")
            try await test.buy("coins", "ben")
            try await test.advance(.months(2))
            let last = try #require(try await test.store.transactions(of: "anna").last)
            let verifier = try test.verifier()
            let app = try test.appTransactionID()
            for number in [last.transactionID.rawValue, last.originalTransactionID.rawValue, app] {
                let info = try await client.get(
                    "/inApps/v1/transactions/appTransactions/\(number)",
                    as: AppStoreServerAPI.AppTransactionInfoResponse.self)
                let payload = try verifier.appTransaction(try #require(info.signedAppTransactionInfo)).payload
                #expect(payload.appTransactionId == app && payload.deviceVerification == nil)
                #expect(payload.bundleId == "com.example.souk" && payload.receiptType == .sandbox)
            }
            for (number, code) in [("x", .invalidTransactionId), ("77", .transactionIdNotFound)]
                as [(String, ErrorCode)]
            {
                #expect(try await client.code(.get, "/inApps/v1/transactions/appTransactions/\(number)") == code)
            }
        }
    }
}

struct OrderLookUpTests {
    private typealias Answer = AppStoreServerAPI.OrderLookupResponse

    @Test func `each payment has an order id, which the control API returns`() async throws {
        try await TestStore.withServer { test, client in
            try await test.buy("monthly")
            try await test.buy("coins")
            try await test.advance(.months(2))
            let bought = try await test.store.transactions(of: "anna")
            #expect(Set(bought.compactMap(\.orderID)).count == bought.count && bought.count == 4)
            for transaction in bought {
                let order = try #require(transaction.orderID)
                let answer = try await client.get("/inApps/v1/lookup/\(order)", as: Answer.self)
                #expect(answer.status == .valid)
                let payloads = try test.decoded(answer.signedTransactions)
                #expect(payloads.map(\.transactionId) == [transaction.transactionID.rawValue])
            }
        }
    }

    @Test func `a shared transaction has no order, and an invalid order id is refused`() async throws {
        try await TestStore.withServer(catalogue: TestStore.familyCatalogue) { test, client in
            try await test.makeFamily()
            let pack = try await test.buy("pack")
            let shared = try #require(try await test.store.transactions(of: "ben").first)
            #expect(pack.orderID != nil && shared.orderID == nil)
            let number = try #require(shared.transactionID.number)
            let app = try #require(Int64(try test.appTransactionID()))
            for order in [
                OrderID(of: number).text, OrderID(of: number + 1).text, OrderID(of: app).text, "M1",
                "MZZZZZZZZZZZZZZZZ",
                try #require(pack.orderID).lowercased(), "A", "MVVZ9K0ABC", "0", pack.transactionID.rawValue,
            ] {
                let answer = try await client.get("/inApps/v1/lookup/\(order)", as: Answer.self)
                #expect(answer.status == .invalid && answer.signedTransactions == nil, "\(order)")
            }
            for order in ["M-1", "M%20", "%C3%84", String(repeating: "M", count: 65)] {
                #expect(try await client.code(.get, "/inApps/v1/lookup/\(order)") == .generalBadRequest, "\(order)")
            }
        }
    }
}

struct FinishTransactionTests {
    @Test func `a finished transaction is no longer listed as unfinished, and can be finished again`() async throws {
        try await TestStore.withServer { test, client in
            let coins = try await test.buy("coins")
            let monthly = try await test.buy("monthly")
            for transaction in [coins, monthly, coins] {
                let response = try await client.send(
                    .post, "/inApps/v1/transactions/\(transaction.transactionID)/finish")
                #expect(response.status == 200 && response.body.length == 0)
            }
            #expect(try await test.store.unfinishedTransactions(of: "anna").isEmpty)
        }
    }

    @Test func `an unknown transaction cannot be finished`() async throws {
        try await TestStore.withServer { test, client in
            let monthly = try await test.buy("monthly")
            let next = try #require(monthly.transactionID.number) + 1
            for (number, code) in [
                ("x", .invalidTransactionId), ("77", .transactionIdNotFound), ("\(next)", .transactionIdNotFound),
                (try test.appTransactionID(), .appTransactionIdNotSupported),
            ] as [(String, ErrorCode)] {
                #expect(try await client.code(.post, "/inApps/v1/transactions/\(number)/finish") == code)
            }
            #expect(try await test.store.unfinishedTransactions(of: "anna").count == 1)
        }
    }
}

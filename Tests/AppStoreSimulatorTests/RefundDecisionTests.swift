import Foundation
import HTTPCore
import Primitives
import StoreKitAdapter
import StoreModel
import Testing

@testable import AppStoreSimulator

struct RefundDecisionTests {
    private static func answer(
        _ preference: JSONValue, used: JSONValue? = nil, of transaction: TransactionID, _ client: ServerClient
    ) async throws {
        var body: JSONValue = [
            "customerConsented": true, "sampleContentProvided": false, "deliveryStatus": "DELIVERED",
        ]
        body["refundPreference"] = preference
        body["consumptionPercentage"] = used
        let path = "/inApps/v2/transactions/consumption/\(transaction)"
        #expect(try await client.send(.put, path, body.text()).status == 202)
    }

    private static func types(_ test: TestStore) throws -> [String] {
        try test.store.notifications().map(\.type).filter { $0.hasPrefix("REFUND") }
    }

    @Test func `by default the store waits for a decision`() async throws {
        try await TestStore.withServer { test, client in
            try await test.store.set(.notificationsURL, to: "http://receiver.test/")
            let coins = try await test.buy("coins").transactionID
            try await test.store.requestRefund(of: coins)
            try await Self.answer("GRANT_FULL", of: coins, client)
            try await test.advance(.days(2))
            #expect(try Self.types(test).isEmpty)
            try await test.store.declineRefund(of: coins)
            #expect(try Self.types(test) == ["REFUND_DECLINED"])
        }
    }

    @Test(
        arguments: [
            ("preference", "DECLINE", nil, "REFUND_DECLINED", nil), ("preference", "GRANT_FULL", nil, "REFUND", nil),
            ("preference", "GRANT_PRORATED", 25_000, "REFUND", 75_000), ("refund", "DECLINE", nil, "REFUND", nil),
            ("decline", "GRANT_FULL", nil, "REFUND_DECLINED", nil),
        ] as [(String, String, Int?, String, Int?)])
    func `the setting and the answer decide a request`(
        setting: String, preference: String, used: Int?, type: String, percentage: Int?
    ) async throws {
        try await TestStore.withServer { test, client in
            try await test.store.set(.notificationsURL, to: "http://receiver.test/")
            try await test.store.set(.refundDecisions, to: .string(setting))
            let coins = try await test.buy("coins").transactionID
            try await test.store.requestRefund(of: coins)
            try await Self.answer(.string(preference), used: used.map { .number($0) }, of: coins, client)
            // A second answer, and an answer without a request, decide nothing.
            if type != "REFUND" { try await Self.answer("GRANT_FULL", of: coins, client) }
            #expect(try Self.types(test) == [type])
            let transaction = try test.decoded(try await test.store.transactions(of: "anna").map(\.signedTransaction))
                .last
            #expect((transaction?.revocationDate != nil) == (type == "REFUND"))
            #expect(
                transaction?.revocationType?.rawValue
                    == (type != "REFUND" ? nil : percentage == nil ? "REFUND_FULL" : "REFUND_PRORATED"))
            if let percentage { #expect(transaction?.revocationPercentage == percentage) }
        }
    }

    @Test func `an answer to an earlier request does not decide a later one, which is refunded after 12 hours`()
        async throws
    {
        try await TestStore.withServer { test, client in
            try await test.store.set(.notificationsURL, to: "http://receiver.test/")
            try await test.store.set(.refundDecisions, to: "preference")
            let coins = try await test.buy("coins").transactionID
            try await test.store.requestRefund(of: coins)
            try await Self.answer("DECLINE", of: coins, client)
            try await test.advance(.days(1))
            try await test.store.requestRefund(of: coins)
            #expect(try Self.types(test) == ["REFUND_DECLINED"])
            try await test.store.advance(.init(seconds: 12 * 3600))
            #expect(try Self.types(test) == ["REFUND_DECLINED", "REFUND"])
        }
    }

    @Test func `a prorated refund of a subscription is the rest of its period`() async throws {
        try await TestStore.withServer { test, client in
            try await test.store.set(.refundDecisions, to: "preference")
            let pro = try await test.buy("yearly")
            let (start, end) = (try #require(pro.purchaseDate), try #require(pro.expiresDate))
            try await test.store.advance(to: start.addingTimeInterval(end.timeIntervalSince(start) / 4))
            try await test.store.requestRefund(of: pro.transactionID)
            try await Self.answer("GRANT_PRORATED", of: pro.transactionID, client)
            let transaction = try #require(
                try test.decoded(try await test.store.transactions(of: "anna").map(\.signedTransaction)).last)
            #expect(transaction.revocationType == .proratedRefund)
            let percentage = try #require(transaction.revocationPercentage)
            #expect((74_900...75_000).contains(percentage))
        }
    }
}

import BaseTestSupport
import Foundation
import HTTPCore
import StoreKitAdapter
import StoreModel
import Testing

@testable import AppStoreSimulator

struct AppAccountTokenTests {
    private static let tokens = (0..<3).map { _ in UUID() }

    private static func path(_ transaction: TransactionID) -> String {
        "/inApps/v1/transactions/\(transaction)/appAccountToken"
    }

    private static func body(_ token: UUID) -> String { #"{"appAccountToken":"\#(token.uuidString)"}"# }

    @Test func `a purchase that does not renew has the token that was set last`() async throws {
        try await TestStore.withServer { test, client in
            let coins = try await test.buy("coins")
            for token in Self.tokens {
                let response = try await client.send(.put, Self.path(coins.transactionID), Self.body(token))
                #expect(response.status == 200 && response.body.length == 0)
                #expect(try await test.payloads().map(\.appAccountToken) == [token])
            }
        }
    }

    @Test func `a token applies to a subscription from its current period on, in any plan`() async throws {
        try await TestStore.withServer { test, client in
            let (first, second, third) = (Self.tokens[0], Self.tokens[1], Self.tokens[2])
            let monthly = try await test.buy("monthly", token: first)
            try await test.advance(.months(2))
            let before = try await test.payloads()
            #expect(before.map(\.appAccountToken) == [first, first, first])
            #expect(try await client.code(.put, Self.path(monthly.transactionID), Self.body(third)) == nil)
            #expect(try await client.code(.put, Self.path(monthly.transactionID), Self.body(second)) == nil)
            #expect(try await test.payloads().map(\.appAccountToken) == [first, first, second])
            try await test.advance(.months(1))
            try await test.buy("pro")
            #expect(try await test.payloads().map(\.appAccountToken) == [first, first, second, second, second])
            let renewal = try await test.store.subscriptions(of: "anna")[0].signedRenewalInfo
            #expect(try test.verifier().renewalInfo(renewal).payload.appAccountToken == second)
            #expect(try await client.code(.put, Self.path(monthly.transactionID), Self.body(third)) == nil)
            #expect(
                try await test.payloads().map(\.appAccountToken) == [first, first, second, second, third])
            // A token that was replaced within its period is in no transaction.
            let number = try #require(monthly.transactionID.number)
            let record = try test.store.database.read { try SimulatorDatabase($0).subscription(number) }
            #expect(record?.earlierTokens.map(\.token) == [first, second])
        }
    }

    @Test func `the token stays when the store opens again, and a new subscription brings another`() async throws {
        let (folder, base) = (try ScratchFolder(), ManualClock())
        try await TestStore.with(in: folder, base: base) { test in
            let client = try ServerClient(test)
            let monthly = try await test.buy("monthly")
            try await test.advance(.months(2))
            #expect(try await client.code(.put, Self.path(monthly.transactionID), Self.body(Self.tokens[0])) == nil)
        }
        try await TestStore.with(in: folder, base: base) { test in
            #expect(try await test.payloads().map(\.appAccountToken) == [nil, nil, Self.tokens[0]])
            try await test.store.expire("monthly", for: "anna")
            try await test.buy("monthly", token: Self.tokens[1])
            #expect(try await test.payloads().map(\.appAccountToken) == [nil, nil, Self.tokens[0], Self.tokens[1]])
        }
    }

    @Test func `devices receive the change, signed later than their earlier transactions`() async throws {
        try await TestStore.withServer { test, client in
            let device = try await test.device()
            let monthly = try await test.buy("monthly")
            let known = try await test.store.updates(for: device, after: nil)
            let before = try #require(known.updates.last?.transaction)
            #expect(try await client.code(.put, Self.path(monthly.transactionID), Self.body(Self.tokens[0])) == nil)
            let response = try await test.store.updates(for: device, after: known.cursor)
            let after = try #require(response.updates.last?.transaction)
            #expect(after.appAccountToken == Self.tokens[0])
            let verifier = try test.verifier()
            let dates = try [before, after].map { try verifier.transaction($0.signedTransaction).payload.signedDate }
            #expect(try #require(dates[0]) < (try #require(dates[1])))
        }
    }

    @Test func `an invalid token or transaction is refused and changes nothing`() async throws {
        try await TestStore.withServer(catalogue: TestStore.familyCatalogue) { test, client in
            try await test.makeFamily()
            let pack = try await test.buy("pack", token: Self.tokens[0])
            let family = try await test.buy("family")
            try await test.advance(.months(1))
            let shared = try await test.store.transactions(of: "ben")
            let renewal = try #require(try await test.store.transactions(of: "anna").last)
            let good = Self.body(Self.tokens[1])
            let refused: [(String, String, ErrorCode)] = [
                ("x", good, .invalidTransactionId), ("77", good, .originalTransactionIdNotFound),
                (try test.appTransactionID(), good, .appTransactionIdNotSupported),
                (renewal.transactionID.rawValue, good, .transactionIdIsNotOriginalTransactionId),
                (pack.transactionID.rawValue, "{}", .invalidAppAccountTokenUUID),
                (pack.transactionID.rawValue, #"{"appAccountToken":""}"#, .invalidAppAccountTokenUUID),
                (pack.transactionID.rawValue, #"{"appAccountToken":null}"#, .invalidAppAccountTokenUUID),
                (family.transactionID.rawValue, #"{"appAccountToken":7}"#, .invalidAppAccountTokenUUID),
                (family.transactionID.rawValue, #"{"appAccountToken":"abc"}"#, .invalidAppAccountTokenUUID),
                (family.transactionID.rawValue, "[]", .generalBadRequest),
                (family.transactionID.rawValue, "{", .generalBadRequest),
                (family.transactionID.rawValue, "", .generalBadRequest),
                (family.transactionID.rawValue, "[\(String(repeating: " ", count: 65 << 10))]", .generalBadRequest),
            ]
            for (number, body, code) in refused
                + shared.map({ ($0.originalTransactionID.rawValue, good, .familyTransactionNotSupported) })
            {
                let path = "/inApps/v1/transactions/\(number)/appAccountToken"
                #expect(try await client.code(.put, path, body) == code, "\(number) \(body.prefix(40))")
            }
            #expect(try await test.payloads().map(\.appAccountToken) == [Self.tokens[0], nil, nil])
        }
    }

    @Test func `a body of another media type is refused`() async throws {
        try await TestStore.withServer { test, client in
            let coins = try await test.buy("coins")
            let token = try client.serverKey.token(at: test.base.now())
            for (type, status) in [
                ("application/x-www-form-urlencoded", 415), ("text/plain", 415), (nil, 415),
                ("application/json; charset=utf-8", 200), ("Application/JSON", 200),
            ] {
                let response = try await client.send(
                    .put, Self.path(coins.transactionID), Self.body(Self.tokens[0]), token: token, type: type)
                #expect(response.status == status, "\(type ?? "none")")
            }
        }
    }
}

import SimulatorControl
import Foundation
import HTTPCore
import Primitives
import StoreKitAdapter
import StoreModel
import Testing

@testable import AppStoreSimulator

struct ConsumptionTests {
    private static let first: JSONValue = [
        "customerConsented": true, "consumptionStatus": 1, "platform": 2, "sampleContentProvided": false,
        "deliveryStatus": 3, "appAccountToken": "7389a31a-fb6d-4569-a2a6-db7d85d84813", "accountTenure": 4,
        "playTime": 5, "lifetimeDollarsRefunded": 6, "lifetimeDollarsPurchased": 7, "userStatus": 4,
        "refundPreference": 3,
    ]
    private static let second: JSONValue = [
        "customerConsented": true, "sampleContentProvided": false, "deliveryStatus": "DELIVERED",
        "consumptionPercentage": 50000, "refundPreference": "GRANT_FULL",
    ]

    private static func changed(_ body: JSONValue, _ changes: [String: JSONValue?]) -> String {
        var body = body
        for (name, value) in changes { body[name] = value }
        return body.text()
    }

    private static func path(_ version: Int, _ transaction: TransactionID) -> String {
        "/inApps/v\(version)/transactions/consumption/\(transaction)"
    }

    @Test func `the last report replaces the one before, and a tester can read it`() async throws {
        try await TestStore.withServer { test, client in
            let coins = try await test.buy("coins").transactionID
            let nothing = try test.store.consumption(of: coins)
            #expect(nothing.sentAt == nil && nothing.version == nil && nothing.information == nil)
            for (version, body) in [(1, Self.first), (2, Self.second)] {
                try await test.advance(.days(1))
                let response = try await client.send(.put, Self.path(version, coins), body.text())
                #expect(response.status == 202 && response.body.length == 0)
                let known = try test.store.consumption(of: coins)
                #expect(known.version == version && known.information == body)
                #expect(known.sentAt == (await test.store.clockState().now))
            }
            let routes = StoreRoutesTests.Client(test)
            let reported = try await routes.ask(.get, "/control/v1/transactions/\(coins)/consumption").json
            #expect(reported["information"]?["deliveryStatus"] == "DELIVERED" && reported["version"] == 2)
            let unknown = try await routes.ask(.get, "/control/v1/transactions/77/consumption")
            #expect(unknown.status == 404 && unknown.json["code"] == "unknownTransaction")
        }
    }

    @Test func `each invalid member has its own error code in version 1`() async throws {
        try await TestStore.withServer { test, client in
            let coins = try await test.buy("coins").transactionID
            let wrong: [(String, [JSONValue?], ErrorCode)] = [
                ("customerConsented", [nil, false, 1, "true"], .invalidCustomerConsented),
                ("sampleContentProvided", [nil, 0, "no"], .invalidSampleContentProvided),
                ("accountTenure", [nil, -1, 8, "1", 1.5], .invalidAccountTenure),
                ("consumptionStatus", [nil, -1, 4], .invalidConsumptionStatus),
                ("deliveryStatus", [nil, -1, 6, "DELIVERED"], .invalidDeliveryStatus),
                ("lifetimeDollarsPurchased", [nil, -1, 8], .invalidLifetimeDollarsPurchased),
                ("lifetimeDollarsRefunded", [nil, -1, 8], .invalidLifetimeDollarsRefunded),
                ("platform", [nil, -1, 3], .invalidPlatform), ("playTime", [nil, -1, 8], .invalidPlayTime),
                ("userStatus", [nil, -1, 5], .invalidUserStatus),
                ("appAccountToken", [nil, "x", 7], .invalidAppAccountToken),
                ("refundPreference", [-1, 4, "DECLINE"], ErrorCode(rawValue: 4_000_044)),
            ]
            for (name, values, code) in wrong {
                for value in values {
                    let body = Self.changed(Self.first, [name: value])
                    #expect(
                        try await client.code(.put, Self.path(1, coins), body) == code,
                        "\(name) \(String(describing: value))")
                }
            }
            #expect(try test.store.consumption(of: coins).version == nil)
            for changes in [["appAccountToken": ""], ["refundPreference": nil]] as [[String: JSONValue?]] {
                #expect(try await client.code(.put, Self.path(1, coins), Self.changed(Self.first, changes)) == nil)
            }
        }
    }

    @Test func `an invalid member has its documented error code in version 2`() async throws {
        try await TestStore.withServer { test, client in
            let pack = try await test.buy("pack").transactionID
            let preference = ErrorCode(rawValue: 4_000_044)
            let wrong: [([String: JSONValue?], ErrorCode)] = [
                (["customerConsented": nil], .invalidCustomerConsented),
                (["customerConsented": false], .invalidCustomerConsented),
                (["sampleContentProvided": nil], .invalidSampleContentProvided),
                (["deliveryStatus": nil], .invalidDeliveryStatus), (["deliveryStatus": "LOST"], .invalidDeliveryStatus),
                (["deliveryStatus": 0], .invalidDeliveryStatus), (["refundPreference": "MAYBE"], preference),
                (["refundPreference": 1], preference), (["consumptionPercentage": -1], .generalBadRequest),
                (["consumptionPercentage": 100_001], .generalBadRequest),
                (["consumptionPercentage": "50"], .generalBadRequest),
                (["deliveryStatus": "UNDELIVERED_OTHER"], .generalBadRequest),
                (["refundPreference": "GRANT_PRORATED", "consumptionPercentage": nil], .generalBadRequest),
                (["refundPreference": "GRANT_PRORATED", "consumptionPercentage": 0], .generalBadRequest),
                (["refundPreference": "GRANT_PRORATED", "consumptionPercentage": 100_000], .generalBadRequest),
            ]
            for (changes, code) in wrong {
                let body = Self.changed(Self.second, changes)
                #expect(try await client.code(.put, Self.path(2, pack), body) == code, "\(body)")
            }
            #expect(try test.store.consumption(of: pack).version == nil)
            for changes in [
                ["refundPreference": nil], ["consumptionPercentage": nil], ["consumptionPercentage": 100_000],
                ["deliveryStatus": "UNDELIVERED_QUALITY_ISSUE", "consumptionPercentage": 0],
                ["refundPreference": "GRANT_PRORATED"], ["more": 7],
            ] as [[String: JSONValue?]] {
                #expect(try await client.code(.put, Self.path(2, pack), Self.changed(Self.second, changes)) == nil)
            }
        }
    }

    @Test
    func `a subscription has no percentage, and version 1 refuses non-consumables and non-renewing subscriptions`()
        async throws
    {
        try await TestStore.withServer { test, client in
            let monthly = try await test.buy("monthly").transactionID
            let code = try await client.code(.put, Self.path(2, monthly), Self.second.text())
            #expect(code == ErrorCode(rawValue: 4_000_209))
            for preference in ["GRANT_PRORATED", "DECLINE"] as [JSONValue] {
                let body = Self.changed(
                    Self.second, ["consumptionPercentage": nil, "refundPreference": preference])
                #expect(try await client.code(.put, Self.path(2, monthly), body) == nil)
            }
            #expect(try await client.code(.put, Self.path(1, monthly), Self.first.text()) == nil)
            for product in ["pack", "pass"] as [ProductID] {
                let once = try await test.buy(product).transactionID
                #expect(
                    try await client.code(.put, Self.path(1, once), Self.first.text())
                        == .invalidTransactionTypeNotSupported)
                #expect(try await client.code(.put, Self.path(2, once), Self.second.text()) == nil)
            }
        }
    }

    @Test func `a report about an unsupported transaction is refused`() async throws {
        try await TestStore.withServer(catalogue: TestStore.familyCatalogue) { test, client in
            try await test.makeFamily()
            let family = try await test.buy("family").transactionID
            let shared = try #require(try await test.store.transactions(of: "ben").first).transactionID
            for (version, body) in [(1, Self.first), (2, Self.second)] {
                for (number, code) in [
                    ("x", .invalidTransactionId), ("77", .transactionIdNotFound),
                    (try test.appTransactionID(), .appTransactionIdNotSupported),
                    (shared.rawValue, .familyTransactionNotSupported),
                ] as [(String, ErrorCode)] {
                    let path = "/inApps/v\(version)/transactions/consumption/\(number)"
                    #expect(try await client.code(.put, path, body.text()) == code)
                }
                #expect(try await client.code(.put, Self.path(version, family), "[]") == .generalBadRequest)
            }
        }
    }
}

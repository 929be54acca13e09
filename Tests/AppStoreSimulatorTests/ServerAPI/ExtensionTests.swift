import AppStorePayloads
import Foundation
import HTTPCore
import Primitives
import StoreKitAdapter
import StoreModel
import Testing

@testable import AppStoreSimulator

/// Extensions of renewal dates with the App Store Server API.
struct ExtensionTests {
    private typealias Moved = AppStoreServerAPI.ExtendRenewalDateResponse
    private typealias Status = AppStoreServerAPI.MassExtendRenewalDateStatusResponse

    private static func body(_ changes: [String: JSONValue?] = [:]) -> String {
        var body: JSONValue = ["extendByDays": 10, "extendReasonCode": 1, "requestIdentifier": "outage-1"]
        for (name, value) in changes { body[name] = value }
        return body.text()
    }

    private static func path(_ transaction: TransactionID) -> String {
        "/inApps/v1/subscriptions/extend/\(transaction)"
    }

    @Test func `the current period ends later, and the response has the new date`() async throws {
        try await TestStore.withServer { test, client in
            let weekly = try await test.buy("weekly")
            let before = try #require(weekly.expiresDate)
            let response = try await client.send(.put, Self.path(weekly.transactionID), Self.body())
            let json = try await response.body.json()
            #expect(response.status == 200 && response.headers["Content-Type"] == "application/json")
            let moved = try Moved(json: json)
            #expect(moved.success == true && moved.originalTransactionId == weekly.transactionID.rawValue)
            #expect(moved.effectiveDate == before.addingTimeInterval(10 * 86400))
            let payload = try #require(try await test.payloads().first)
            #expect(payload.expiresDate == moved.effectiveDate)
            #expect(payload.webOrderLineItemId == moved.webOrderLineItemId)
        }
    }

    @Test func `an invalid or ineligible extension is refused with its own error code`() async throws {
        try await TestStore.withServer(catalogue: TestStore.familyCatalogue) { test, client in
            try await test.makeFamily()
            let coins = try await test.buy("coins").transactionID
            let family = try await test.buy("family").transactionID
            try await test.advance(.months(1))
            let renewal = try #require(try await test.store.transactions(of: "anna").last).transactionID
            let shared = try #require(try await test.store.subscriptions(of: "ben").first).originalTransactionID
            for number in impossibleNumbers {
                let path = "/inApps/v1/subscriptions/extend/\(number)"
                #expect(try await client.code(.put, path, Self.body()) == .invalidOriginalTransactionId)
            }
            let app = TransactionID(unchecked: try test.appTransactionID())
            for (number, code) in [
                ("77", .originalTransactionIdNotFound), (coins, .originalTransactionIdNotFound),
                (renewal, .originalTransactionIdNotFound), (app, .originalTransactionIdNotFound),
                (shared, .familySharedSubscriptionExtensionIneligible),
            ] as [(TransactionID, ErrorCode)] {
                #expect(try await client.code(.put, Self.path(number), Self.body()) == code)
            }
            let wrong: [(String, [JSONValue?], ErrorCode)] = [
                ("extendByDays", [nil, 0, 91, -1, "10", 1.5], .invalidExtendByDays),
                ("extendReasonCode", [nil, -1, 4, "1"], .invalidExtendReasonCode),
                (
                    "requestIdentifier", [nil, "", 7, .string(String(repeating: "x", count: 129))],
                    .invalidRequestIdentifier
                ),
            ]
            for (name, values, code) in wrong {
                for value in values {
                    #expect(try await client.code(.put, Self.path(family), Self.body([name: value])) == code, "\(name)")
                }
            }
            #expect(try await client.code(.put, Self.path(family), "[]") == .generalBadRequest)
            for (place, request) in ["a", "b", "c"].enumerated() {
                let code = try await client.code(
                    .put, Self.path(family), Self.body(["requestIdentifier": .string(request)]))
                #expect(code == (place < 2 ? nil : .subscriptionMaxExtension))
            }
            try await test.store.expire("family", for: "anna")
            let late = try await client.code(.put, Self.path(family), Self.body(["requestIdentifier": "d"]))
            #expect(late == .subscriptionExtensionIneligible)
        }
    }

    @Test func `a mass extension counts all subscribers, and a repeated request changes nothing`() async throws {
        try await TestStore.withServer { test, client in
            for name in ["anna", "ben", "cora"] as [AccountName] { try await test.buy("weekly", name) }
            try await test.store.cancel("weekly", for: "cora")
            let question = Self.body(["productId": "weekly", "storefrontCountryCodes": ["USA", "DEU"]])
            let response = try await client.send(.post, "/inApps/v1/subscriptions/extend/mass", question)
            #expect(response.status == 200)
            #expect(try await response.body.json() == ["requestIdentifier": "outage-1"])
            let path = "/inApps/v1/subscriptions/extend/mass/weekly/outage-1"
            let status = try await client.get(path, as: Status.self)
            #expect(status.complete == true && status.requestIdentifier == "outage-1")
            #expect((status.succeededCount ?? 0) + (status.failedCount ?? 0) == 3)
            #expect(status.completeDate != nil)
            let ends = try await test.store.transactions(of: "anna").compactMap(\.expiresDate)
            #expect(
                try await client.code(.post, "/inApps/v1/subscriptions/extend/mass", question) == nil,
                "A repeated request must be accepted.")
            #expect(try await client.get(path, as: Status.self) == status)
            #expect(try await test.store.transactions(of: "anna").compactMap(\.expiresDate) == ends)
        }
    }

    @Test func `an invalid mass extension is refused, and an unknown one has no status`() async throws {
        try await TestStore.withServer { test, client in
            try await test.buy("weekly")
            let wrong: [(String, [JSONValue?], ErrorCode)] = [
                ("extendByDays", [nil, 91], .invalidExtendByDays), ("extendReasonCode", [4], .invalidExtendReasonCode),
                ("requestIdentifier", [""], .invalidRequestIdentifier),
                ("productId", [nil, "", "nothing", "coins", 7], .invalidProductId),
                ("storefrontCountryCodes", [[]], .invalidEmptyStorefrontCountryCodeList),
                ("storefrontCountryCodes", [["US"], ["XXX"], "USA", [7], ["USA", ""]], .invalidStorefrontCountryCode),
            ]
            for (name, values, code) in wrong {
                for value in values {
                    let question = Self.body(["productId": "weekly"].merging([name: value]) { $1 })
                    let refused = try await client.code(.post, "/inApps/v1/subscriptions/extend/mass", question)
                    #expect(refused == code, "\(name)")
                }
            }
            let long = String(repeating: "x", count: 129)
            for (path, code) in [
                ("weekly/outage-1", .statusRequestNotFound), ("nothing/outage-1", .invalidProductId),
                ("coins/outage-1", .invalidProductId), ("weekly/\(long)", .invalidRequestIdentifier),
            ] as [(String, ErrorCode)] {
                #expect(try await client.code(.get, "/inApps/v1/subscriptions/extend/mass/\(path)") == code)
            }
        }
    }
}

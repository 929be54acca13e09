import Foundation
import Primitives
import Testing

@testable import AppStoreSimulator

/// Both stores in one scenario.
struct PlayScenarioTests {
    private func scenario(_ steps: JSONValue) throws -> Scenario {
        let document: JSONValue = [
            "name": "both stores", "start": "2026-01-31T10:00:00Z",
            "catalogue": try JSONValue(parsing: Fixtures.catalogueText),
            "playCatalogue": try JSONValue(parsing: PlayFixtures.text), "steps": steps,
        ]
        return try Scenario(parsing: document.encoded(), file: "both.json", folder: "")
    }

    @Test func `a customer has subscriptions of both stores for two years`() async throws {
        let report = try await scenario([
            ["createAccount": "anna"],
            ["buy": ["account": "anna", "productID": "yearly"]],
            ["playBuy": ["account": "anna", "productID": "plus", "basePlanID": "monthly"], "as": "plus"],
            ["playAcknowledge": "plus"],
            ["advance": "P6M"],
            ["playHold": "plus"],
            ["advance": "P1M"],
            ["expect": ["purchase": "plus", "playPurchase": ["state": "inGracePeriod"]]],
            ["advance": "8d"],
            ["expect": ["purchase": "plus", "playPurchase": ["state": "onHold"]]],
            ["playRecover": "plus"],
            ["playPause": ["purchase": "plus", "period": "P1M"]],
            ["advance": "P1M"],
            ["expect": ["purchase": "plus", "playPurchase": ["state": "paused"]]],
            ["playResume": "plus"],
            [
                "playBuy": [
                    "account": "anna", "productID": "pro", "oldPurchaseToken": "plus",
                    "replacementMode": "CHARGE_FULL_PRICE",
                ], "as": "pro",
            ],
            ["playAcknowledge": "pro"],
            ["advance": "P14M"],
            ["expect": ["purchase": "pro", "playPurchase": ["state": "active"]]],
            ["playChargeback": ["purchase": "pro"]],
            ["playCancel": "pro", "refused": "notNow"],
            [
                "expect": [
                    "account": "anna",
                    "playPurchases": [["productID": "plus", "state": "expired"], ["productID": "pro"]],
                    "transactions": ["count": 2],
                ]
            ],
        ]).run()
        #expect(report.holds, "\(report.steps.filter { $0.outcome != .passed })")
    }

    @Test func `notifications of Google Play are expected once, with their attempts`() async throws {
        let report = try await scenario([
            ["createAccount": "anna"],
            ["createAccount": "bob"],
            ["playBuy": ["account": "anna", "productID": "plus", "basePlanID": "monthly"], "as": "plus"],
            ["playBuy": ["account": "bob", "productID": "coins"], "as": "coins"],
            ["playAcknowledge": "plus"],
            ["expect": ["account": "anna", "playNotifications": ["SUBSCRIPTION_PURCHASED"]]],
            ["expect": ["purchase": "coins", "playNotifications": [["type": "ONE_TIME_PRODUCT_PURCHASED"]]]],
            ["expect": ["playNotifications": []]],
            ["receiver": [500, "down", 204]],
            ["advance": "P1M"],
            ["advance": "1h"],
            ["advance": "1h"],
            [
                "expect": [
                    "playNotifications": [
                        "VOIDED_PURCHASE",
                        ["type": "SUBSCRIPTION_RENEWED", "purchaseToken": "plus", "account": "anna"],
                    ],
                    "playAttempts": [
                        "last": [
                            ["type": "SUBSCRIPTION_RENEWED", "attempt": 3, "result": "204", "purchaseToken": "plus"]
                        ]
                    ],
                ]
            ],
            [
                "expect": [
                    "account": "anna", "playAttempts": ["count": 0], "playNotifications": ["count": 0],
                ]
            ],
        ]).run()
        #expect(report.holds, "\(report)")
    }

    @Test func `a notification that is missing or has another purchase is a difference`() async throws {
        let report = try await scenario([
            ["createAccount": "anna"],
            ["playBuy": ["account": "anna", "productID": "coins"], "as": "one"],
            ["playConsume": "one"],
            ["playBuy": ["account": "anna", "productID": "coins"], "as": "two"],
            ["expect": ["playNotifications": [["purchaseToken": "two"], ["purchaseToken": "two"]]]],
            ["expect": ["playNotifications": ["ONE_TIME_PRODUCT_PURCHASED"]]],
            ["expect": ["account": "nobody", "playNotifications": []]],
        ]).run()
        #expect(report.steps.suffix(3).allSatisfy { $0.outcome != .passed })
    }

    @Test(arguments: [
        (#"{"playNotifications": [{"subtype": "x"}]}"#, "/steps/1/expect/playNotifications/0/subtype"),
        (#"{"playAttempts": [{"purchaseToken": "unknown"}]}"#, "/steps/1/expect/playAttempts/0/purchaseToken"),
        (#"{"purchase": "unknown", "playAttempts": []}"#, "/steps/1/expect/purchase"),
        (#"{"family": "f", "playNotifications": []}"#, "/steps/1/expect/family"),
    ])
    func `a fault in an expectation is found before the run`(_ expectation: String, _ pointer: String) throws {
        do {
            _ = try scenario([["createAccount": "anna"], ["expect": try JSONValue(parsing: expectation)]])
            Issue.record("the expectation is accepted")
        } catch let error as ScenarioError {
            #expect(error.pointer == pointer)
        }
    }

    @Test func `a faulty catalogue is named with its place`() throws {
        let document: JSONValue = [
            "name": "n", "catalogue": try JSONValue(parsing: Fixtures.catalogueText),
            "playCatalogue": ["packageName": "a b"], "steps": [["createAccount": "anna"]],
        ]
        do {
            _ = try Scenario(parsing: document.encoded(), file: "both.json", folder: "")
            Issue.record("the catalogue is accepted")
        } catch let error as ScenarioError {
            #expect(error.pointer == "/playCatalogue/packageName")
        }
    }
}

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

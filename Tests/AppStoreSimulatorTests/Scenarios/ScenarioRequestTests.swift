import Foundation
import Primitives
import Testing

@testable import AppStoreSimulator

/// `POST /control/v1/scenarios/run`.
@Suite struct ScenarioRequestTests {
    private static let head =
        #"{"name": "a", "catalogue": "missing/shop.storekit", "steps": [{"createAccount": "anna"}, "#
    private static let buy = #"{"buy": {"account": "anna", "productID": "coins"}, "as": "it"}, "#
    private static let sold =
        head + buy + #"{"expect": {"account": "anna", "transactions": [{"productID": "coins"}]}}]}"#

    @Test func `a scenario runs with the catalogue of the store, and leaves the store as it is`() async throws {
        try await TestStore.with { test in
            let client = StoreRoutesTests.Client(test)
            let before = try await test.store.exportState()["tables"]
            let answer = try await client.ask(.post, "/control/v1/scenarios/run", Self.sold)
            #expect(answer.status == 200 && answer.json["ok"] == true && answer.json["name"] == "a")
            #expect(answer.json["steps"]?.arrayValue?.map { $0["ok"] } == [true, true, true])
            #expect(try await test.store.exportState()["tables"] == before)
            #expect(try await client.ask(.post, "/control/v1/scenarios/run", Self.sold).json["ok"] == true)
        }
    }

    @Test func `a difference is in the response, and steps after a refused action are skipped`() async throws {
        try await TestStore.with { test in
            let client = StoreRoutesTests.Client(test)
            let wrong = Self.sold.replacing(#"[{"productID": "coins"}]"#, with: #"[{"productID": "pack"}]"#)
            let steps = try await client.ask(.post, "/control/v1/scenarios/run", wrong).json["steps"]?.arrayValue
            #expect(steps?.last?["ok"] == false)
            let difference = steps?.last?["differences"]?.arrayValue?.first
            #expect(difference?["subject"]?.stringValue?.contains("transactions") == true)
            #expect(difference?["expected"]?.arrayValue?.isEmpty == false)
            let refused = Self.sold.replacing("coins", with: "nothing")
            let answer = try await client.ask(.post, "/control/v1/scenarios/run", refused)
            #expect(answer.status == 200 && answer.json["ok"] == false)
            #expect(answer.json["steps"]?.arrayValue?.last?["skipped"] == true)
        }
    }

    @Test(
        arguments: [
            ("{}", "/name"), (#"{"name": "a", "catalogue": {"products": 1}, "steps": []}"#, "/catalogue/products"),
            (#"{"name": "a", "catalogue": "/etc/passwd", "steps": []}"#, "/steps"),
            (head + #"{"runScenario": {}}, {"expect": {"account": "anna", "entitlements": []}}]}"#, "/steps/1"),
        ])
    func `an invalid scenario is refused with the place of the fault`(body: String, pointer: String) async throws {
        try await TestStore.with { test in
            let answer = try await StoreRoutesTests.Client(test).ask(.post, "/control/v1/scenarios/run", body)
            #expect(answer.status == 422 && answer.json["code"] == "invalidValue")
            #expect(answer.json["detail"]?.stringValue?.contains(pointer) == true, "\(answer.json)")
            #expect(answer.json["detail"]?.stringValue?.contains("root:") == false)
        }
    }

    @Test func `one scenario runs at a time`() async throws {
        try await TestStore.with { test in
            test.store.isRunningScenario.withLock { $0 = true }
            let answer = try await StoreRoutesTests.Client(test).ask(.post, "/control/v1/scenarios/run", Self.sold)
            #expect(answer.status == 409 && answer.json["code"] == "notNow")
            test.store.isRunningScenario.withLock { $0 = false }
        }
    }
}

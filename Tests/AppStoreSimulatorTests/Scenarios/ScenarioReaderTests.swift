import Foundation
import Primitives
import Testing

@testable import AppStoreSimulator

/// Faults in scenario files, and their places.
struct ScenarioReaderTests {
    private static let buy =
        #"{"createAccount": "anna"}, {"buy": {"account": "anna", "productID": "pack"}, "as": "one"}"#
    private static let expect = #"{"expect": {"accounts": []}}"#

    @Test(arguments: [
        ("", "", "not JSON"), ("[]", "", "a scenario should be a JSON object"),
        (#"{"name": 7}"#, "/name", "a string of 1 to 200"), (#"{"catalogue": "x"}"#, "/name", "name is missing"),
        (#"{"name": "a", "stepps": []}"#, "/stepps", "no member"), (#"{"name": "a"}"#, "/catalogue", "is missing"),
        (#"{"name": "a", "catalogue": 7, "steps": []}"#, "/catalogue", "path of a .storekit file"),
        (#"{"name": "a", "catalogue": "no.storekit", "steps": []}"#, "/catalogue", "no.storekit is not there"),
        (#"{"name": "a", "catalogue": {"products": [{}]}, "steps": []}"#, "/catalogue/products/0/", "missing"),
        (#"{"name": "a", "start": "2026-01-01", "catalogue": {}, "steps": []}"#, "/start", "an instant"),
        (#"{"name": "a", "seed": -1, "catalogue": {}, "steps": []}"#, "/seed", "whole number"),
        (#"{"name": "a", "bundleID": "", "catalogue": {}, "steps": []}"#, "/bundleID", "should have"),
        (
            #"{"name": "a", "settings": {"gracePeriods": 1}, "catalogue": {}, "steps": []}"#, "/settings/gracePeriods",
            "no setting"
        ),
        (
            #"{"name": "a", "settings": {"gracePeriod": "1d"}, "catalogue": {}, "steps": []}"#, "/settings/gracePeriod",
            "takes"
        ),
    ])
    func `an invalid scenario file is refused with the place of the fault`(
        text: String, pointer: String, reason: String
    ) {
        let error = #expect(throws: ScenarioError.self) {
            try Scenario(parsing: Array(text.utf8), file: "f.json", folder: "")
        }
        #expect(error?.file == "f.json" && error?.pointer.hasPrefix(pointer) == true, "\(error as Any)")
        #expect(error?.reason.contains(reason) == true, "\(error as Any)")
    }

    @Test(arguments: [
        ("", "/steps", "1 to 1000 steps"), (#"{"createAccount": "anna"}"#, "/steps", "nothing is expected"),
        ("7", "/steps/0", "a step should be a JSON object"), ("{}", "/steps/0", "needs an action"),
        (#"{"note": "nothing"}"#, "/steps/0", "needs an action"),
        (#"{"byu": {}}"#, "/steps/0/byu", "no action"),
        (#"{"transactions": {}}"#, "/steps/0/transactions", "no action"),
        (#"{"buy": {}, "cancel": {}}"#, "/steps/0/cancel", "has buy already"),
        (#"{"buy": {"account": "anna"}}"#, "/steps/0/buy/productID", "there"),
        (#"{"buy": {"productID": "pack"}}"#, "/steps/0/buy/account", "needs the account"),
        (#"{"buy": {"account": "anna", "product": "pack"}}"#, "/steps/0/buy/product", "no member"),
        (
            #"{"buy": {"account": "anna", "productID": "pack", "quantity": "2"}}"#, "/steps/0/buy/quantity",
            "whole number"
        ),
        (#"{"buy": "anna"}"#, "/steps/0/buy", "takes a JSON object"),
        (#"{"createAccount": 7}"#, "/steps/0/createAccount", "should be"),
        (#"{"createAccount": "anna", "as": "a"}"#, "/steps/0/as", "could have a name"),
        (#"{"refund": "one"}"#, "/steps/0/refund", "no earlier step"),
        (
            buy + #", {"buy": {"account": "anna", "productID": "pack"}, "as": "one"}"#, "/steps/2/as",
            "an earlier step gave"
        ),
        (
            buy + #", {"buy": {"account": "anna", "productID": "pack"}, "as": "2"}"#, "/steps/2/as",
            "begins with a letter"
        ),
        (buy + #", {"expect": {"accounts": []}, "as": "x"}"#, "/steps/2/as", "could have a name"),
        (#"{"expect": {"accounts": []}, "refused": "x"}"#, "/steps/0/refused", "cannot refuse"),
        (#"{"advance": "1 month"}"#, "/steps/0/advance", "duration"),
        (#"{"advance": {"period": "P1M", "seconds": 1}}"#, "/steps/0/advance", "exactly one"),
        (#"{"advance": {"to": "tomorrow"}}"#, "/steps/0/advance/to", "a date"),
        (#"{"set": {}}"#, "/steps/0/set", "nothing is set"), (#"{"set": {"x": 1}}"#, "/steps/0/set/x", "no setting"),
        (#"{"approve": "order"}"#, "/steps/0/approve", "no earlier step"),
        (#"{"approve": 7}"#, "/steps/0/approve", "name"),
        (#"{"receiver": "dead"}"#, "/steps/0/receiver", "a status such as 200"),
        (#"{"receiver": []}"#, "/steps/0/receiver", "1 to 100"),
        (#"{"receiver": [200, 99]}"#, "/steps/0/receiver/1", "status"),
        (#"{"extendRenewal": {"transaction": "1", "days": 91}}"#, "/steps/0/extendRenewal/days", "1 to 90"),
        (#"{"extendRenewal": {"transaction": "1"}}"#, "/steps/0/extendRenewal/days", "missing"),
        (
            #"{"extendRenewal": {"transaction": "x", "days": 1}}"#, "/steps/0/extendRenewal/transaction",
            "no earlier step"
        ),
        (#"{"serverAPI": {"path": "/control/v1/accounts"}}"#, "/steps/0/serverAPI/path", "path of Apple's"),
        (#"{"serverAPI": {"path": "/inApps/v1/transactions/{one}"}}"#, "/steps/0/serverAPI/path", "no earlier step"),
        (#"{"serverAPI": {"path": "/inApps/v1/x", "method": "PATCH"}}"#, "/steps/0/serverAPI/method", "one of GET"),
        (#"{"serverAPI": {"path": "/inApps/v1/x", "query": ""}}"#, "/steps/0/serverAPI/query", "no member"),
    ])
    func `an invalid step is refused with the place of the fault`(steps: String, pointer: String, reason: String) {
        expectFinding(steps, pointer, reason)
    }

    @Test(arguments: [
        ("[]", "", "a JSON object"), ("{}", "", "nothing is expected"),
        (#"{"account": "a"}"#, "", "nothing is expected"),
        (#"{"purchases": []}"#, "/purchases", "cannot be expected"),
        (#"{"exportState": {}}"#, "/exportState", "cannot be expected"),
        (#"{"transactions": []}"#, "/transactions", "name the account"),
        (#"{"accounts": [], "account": "a"}"#, "/account", "depends on the account"),
        (#"{"account": "a", "transactions": {}}"#, "/transactions", "this should be a list"),
        (#"{"account": "a", "transactions": 7}"#, "/transactions", "this should be a list"),
        (#"{"account": "a", "transactions": {"some": []}}"#, "/transactions/some", "this should be a list"),
        (#"{"account": "a", "transactions": {"count": "1"}}"#, "/transactions/count", "a count"),
        (#"{"account": "a", "transactions": {"last": {}}}"#, "/transactions/last", "a list"),
        (#"{"account": "a", "transactions": [7]}"#, "/transactions/0", "an object"),
        (#"{"account": "a", "transactions": [{"product": "x"}]}"#, "/transactions/0/product", "there is no"),
        (#"{"account": "a", "transactions": {"last": [{"stat": "x"}]}}"#, "/transactions/last/0/stat", "there is no"),
        (
            #"{"account": "a", "transactions": [{"transactionID": "x"}]}"#, "/transactions/0/transactionID",
            "no earlier step"
        ),
        (
            #"{"account": "a", "transactions": [{"as": "x"}, {"as": "x"}]}"#, "/transactions/1/as",
            "an earlier step gave"
        ),
        (
            #"{"account": "a", "transactions": [{"signedTransaction": {"prize": 1}}]}"#,
            "/transactions/0/signedTransaction/prize", "Apple has no"
        ),
        (
            #"{"account": "a", "transactions": [{"signedTransaction": "x"}]}"#, "/transactions/0/signedTransaction",
            "an object"
        ),
        (#"{"notifications": [{"kind": "DID_RENEW"}]}"#, "/notifications/0/kind", "there is no"),
        (#"{"notifications": ["A B C"]}"#, "/notifications/0", "an object"),
        (#"{"notifications": [{"attempts": [{"n": 1}]}]}"#, "/notifications/0/attempts/0/n", "there is no"),
        (
            #"{"notifications": [{"signedPayload": {"data": {"signedTransactionInfo": {"prize": 1}}}}]}"#,
            "/notifications/0/signedPayload/data/signedTransactionInfo/prize", "Apple has no"
        ),
        (#"{"attempts": [{"number": 1}]}"#, "/attempts/0/number", "there is no"),
        (#"{"clock": {"time": "x"}}"#, "/clock/time", "there is no"), (#"{"clock": []}"#, "/clock", "an object"),
    ])
    func `an invalid expectation is refused with the place of the fault`(
        expectation: String, pointer: String, reason: String
    ) {
        expectFinding(#"{"expect": \#(expectation)}"#, "/steps/0/expect" + pointer, reason)
    }

    private func expectFinding(_ steps: String, _ pointer: String, _ reason: String) {
        let more = steps.isEmpty || pointer == "/steps" ? "" : ", " + Self.expect
        let error = #expect(throws: ScenarioError.self) { try Scenarios.scenario(steps + more) }
        #expect(error?.pointer == pointer && error?.file == "test.json", "\(error as Any)")
        #expect(error?.reason.contains(reason) == true, "\(error as Any)")
    }

    @Test func `a scenario that is too long is refused`() throws {
        let steps = String(repeating: Self.expect + ",", count: 1000) + Self.expect
        #expect(throws: ScenarioError.self) { try Scenarios.scenario(steps) }
        let long = String(repeating: " ", count: ScenarioReader.byteLimit) + Scenarios.text(Self.expect)
        let error = #expect(throws: ScenarioError.self) {
            try Scenario(parsing: Array(long.utf8), file: "f", folder: "")
        }
        #expect(error?.reason.contains("at most") == true)
        let folder = try ScratchFolder()
        let file = folder.path + "/long.json"
        try Data(long.utf8).write(to: URL(fileURLWithPath: file))
        #expect(throws: ScenarioError.self) { try Scenario(contentsOf: file) }
    }

    @Test func `a catalogue is found relative to the scenario file, and the error names an invalid one`() throws {
        let folder = try ScratchFolder()
        try FileManager.default.createDirectory(atPath: folder.path + "/in", withIntermediateDirectories: true)
        let text = #"{"name": "a", "catalogue": "../shop.storekit", "steps": [\#(Self.expect)]}"#
        try Data(text.utf8).write(to: URL(fileURLWithPath: folder.path + "/in/s.json"))
        let shop = URL(fileURLWithPath: folder.path + "/shop.storekit")
        try Data(Fixtures.catalogueText.utf8).write(to: shop)
        #expect(try Scenario(contentsOf: folder.path + "/in/s.json").catalogue.items.count == 11)
        try Data(#"{"products": [{"productID": "a", "type": "Consumable", "displayPrice": "x"}]}"#.utf8).write(to: shop)
        let error = #expect(throws: ScenarioError.self) { try Scenario(contentsOf: folder.path + "/in/s.json") }
        #expect(error?.file.hasSuffix("../shop.storekit") == true && error?.pointer == "/products/0/displayPrice")
        #expect(throws: ScenarioError.self) { try Scenario(contentsOf: folder.path + "/in/none.json") }
        #expect(throws: ScenarioError.self) { try Scenario(contentsOf: folder.path) }
    }

    @Test func `the names of actions and their parameters are not ambiguous`() {
        for endpoint in StoreEndpoints.all where endpoint.isAction {
            let members: [String] =
                if case .object(let all) = endpoint.body?.schema.definition.json["properties"] { all.keys } else { [] }
            #expect(Set(endpoint.pathParameters).isDisjoint(with: members), "\(endpoint.id)")
            #expect(!["as", "note", "refused"].contains(endpoint.id))
        }
        let replaced = ["advance", "set", "expect", "receiver"]
        for word in ScenarioWords.special.keys where !replaced.contains(word) {
            #expect(!StoreEndpoints.all.contains { $0.id == word }, "\(word)")
        }
    }
}

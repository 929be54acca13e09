import Primitives
import StoreModel
import Testing

@testable import EntitlementServer

/// The file with offer rules.
@Suite struct OfferRuleTests {
    @Test(arguments: [
        ("[]", [""]), ("{}", ["/groups"]), (#"{"groups": {}}"#, ["/groups"]), (#"{"groups": []}"#, ["/groups"]),
        (#"{"groups": {"a/b": []}}"#, ["/groups/a~1b"]), (#"{"groups": {"": ["p"]}}"#, ["/groups/"]),
        (#"{"groups": {"g": ["p", "q"], "h": ["q"]}}"#, ["/groups/h/0"]),
        (#"{"groups": {"g": ["p", 1]}}"#, ["/groups/g/1"]), (#"{"groups": {"g": ["p"]}, "offer": []}"#, ["/offer"]),
        (#"{"groups": {"g": ["p"]}, "offers": {}}"#, ["/offers/0"]),
        (#"{"groups": {"g": ["p"]}, "offers": [{"productId": "q", "offerIdentifier": "o"}]}"#, ["/offers/0/productId"]),
        (
            #"{"groups": {"g": ["p"]}, "offers": [{"offerIdentifier": "o\u2063"}]}"#,
            ["/offers/0/productId", "/offers/0/offerIdentifier"]
        ),
        // A name in another normal form than NFC would not be the name in the catalogue.
        (
            #"{"groups": {"g": ["p"]}, "offers": [{"productId": "p", "offerIdentifier": "e\u0301"}]}"#,
            ["/offers/0/offerIdentifier"]
        ),
        (
            #"{"groups": {"g": ["p"]}, "offers": [{"productId": "p", "offerIdentifier": "o"}, {"productId": "p", "offerIdentifier": "o"}]}"#,
            ["/offers/1"]
        ),
        (
            #"{"groups": {"g": ["p"]}, "offers": [{"productId": "p", "offerIdentifier": "o", "oncePerCustomer": 1, "when": {"states": ["lapsed"], "state": 1, "paidPeriods": {"min": 2, "max": 1}, "environment": "xcode"}}]}"#,
            [
                "/offers/0/when/state", "/offers/0/when/states/0", "/offers/0/when/paidPeriods",
                "/offers/0/when/environment", "/offers/0/oncePerCustomer",
            ]
        ),
    ])
    func `each fault of a file has its place`(text: String, pointers: [String]) throws {
        let json = try JSONValue(parsing: text)
        do throws(RulesError) {
            _ = try OfferRules(json: json)
            Issue.record("The file was accepted.")
        } catch {
            #expect(error.findings.map(\.pointer).sorted() == pointers.sorted())
        }
    }

    @Test func `a file may have groups alone, for introductory offers`() throws {
        let rules = try OfferBench.rules(#"{"groups": {"g": ["p"]}}"#)
        #expect(rules.offers == [] && rules.group(of: "p")?.id == "g" && rules.group(of: "q") == nil)
    }

    @Test func `a file has at most 1000 offers`() throws {
        func file(_ count: Int) -> JSONValue {
            [
                "groups": ["g": ["p"]],
                "offers": .array((0..<count).map { ["productId": "p", "offerIdentifier": .string("o\($0)")] }),
            ]
        }
        #expect(try OfferRules(json: file(1000)).offers.count == 1000)
        #expect(throws: RulesError.self) { try OfferRules(json: file(1001)) }
    }
}

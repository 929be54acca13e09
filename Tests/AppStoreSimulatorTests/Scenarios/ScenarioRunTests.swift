import Foundation
import HostTestSupport
import Primitives
import Testing

@testable import AppStoreSimulator

/// Runs of scenarios, and the differences that they report.
struct ScenarioRunTests {
    private static let buy = """
        {"createAccount": "anna"}, {"buy": {"account": "anna", "productID": "weekly"}, "as": "first"},
        {"advance": "2w"}
        """

    @Test func `a difference shows the expected beside the actual values`() async throws {
        let report = try await Scenarios.run(
            Self.buy + """
                , {"expect": {"account": "anna", "transactions": [
                    {"transactionID": "first", "state": "expired"},
                    {"productID": "weekly", "expiresDate": "2026-01-15T00:00:01Z"},
                    {"state": "purchased"}, {"productID": "coins", "state": "purchased"}]}, "note": "four"},
                {"expect": {"clock": {"now": "2026-01-15T00:00:00Z", "rate": 1}}}
                """)
        #expect(!report.holds)
        #expect(report.steps.map { $0.outcome == .passed } == [true, true, true, false, false])
        let text = report.description.split(separator: "\n").map(String.init)
        #expect(text[0].hasPrefix("FAILED: a test (test.json, 5 steps, "))
        #expect(
            text.dropFirst() == [
                "  step 4 at /steps/3: expect transactions of anna  (four)",
                "    transactions",
                #"      {"transactionID":"first","state":"expired"}"#,
                #"    - {"productID":"weekly","expiresDate":"2026-01-15T00:00:01Z"}"#,
                #"    + {"productID":"weekly","expiresDate":"2026-01-15T00:00:00Z"}"#,
                #"      {"state":"purchased"}"#,
                #"    - {"productID":"coins","state":"purchased"}"#,
                "  step 5 at /steps/4: expect clock",
                "    clock", "    - rate: 1", "    + rate: 0",
            ], "\(report)")
        let step = report.json["steps"]?[3]
        #expect(report.json["ok"] == false && step?["ok"] == false && step?["note"] == "four")
        #expect(step?["differences"]?[0]?["pointer"] == "/steps/3/expect/transactions")
        #expect(step?["differences"]?[0]?["expected"]?.arrayValue?.count == 2)
        #expect(step?["differences"]?[0]?["actual"]?.arrayValue?.count == 1)
    }

    @Test func `a failed action ends the scenario, and so does a missing refusal`() async throws {
        for (step, expected, actual) in [
            (#"{"cancel": {"account": "anna", "productID": "coins"}}"#, "done", "refused: unknownSubscription: "),
            (#"{"refund": "first", "refused": "alreadyRevoked"}"#, "refused: alreadyRevoked", "done"),
            (
                #"{"renew": {"account": "ben", "productID": "coins"}, "refused": "notNow"}"#, "refused: notNow",
                "refused: unknownAccount: "
            ),
        ] {
            let report = try await Scenarios.run(Self.buy + ", \(step), {\"expect\": {\"accounts\": []}}")
            let lines = try #require(report.differences["/steps/3"])
            #expect(lines.count == 2 && lines[0] == "- \(expected)" && lines[1].hasPrefix("+ \(actual)"), "\(lines)")
            #expect(report.steps.last?.outcome == .skipped && report.json["steps"]?[4]?["skipped"] == true)
        }
    }

    @Test func `an expectation of an unknown account fails, and the scenario continues`() async throws {
        let report = try await Scenarios.run(
            #"{"expect": {"account": "nobody", "transactions": []}}, {"expect": {"accounts": []}}"#)
        #expect(
            report.differences["/steps/0/expect/transactions"]?.last?.hasPrefix("+ refused: unknownAccount") == true)
        #expect(report.steps.map { $0.outcome == .passed } == [false, true])
    }

    @Test func `lists are compared by their count, their ends and included elements`() async throws {
        func report(_ expected: String) async throws -> Scenario.Report {
            try await Scenarios.run(Self.buy + #", {"expect": {"account": "anna", "transactions": \#(expected)}}"#)
        }
        for good in [
            #"{"count": 3}"#, #"{"count": 3, "first": [{"transactionID": "first"}], "last": [{"state": "purchased"}]}"#,
            #"{"includes": []}"#, #"{"includes": [{"state": "expired"}, {"state": "purchased"}]}"#,
            #"[{}, {}, {"originalTransactionID": "first", "revocationDate": null}]"#,
        ] {
            let report = try await report(good)
            #expect(report.holds, "\(good): \(report)")
        }
        for bad in [
            #"{"count": 2}"#, #"{"first": [{"state": "purchased"}]}"#, #"{"last": [{}, {}, {}, {}]}"#,
            #"{"includes": [{"state": "purchased"}, {"state": "expired"}]}"#, "[]", "[{}, {}]", "[{}, {}, {}, {}]",
            #"[{}, {}, {"signedTransaction": {"price": null}}]"#,
        ] {
            let report = try await report(bad)
            #expect(!report.holds, "\(bad)")
            #expect(report.differences.values.first?.isEmpty == false)
        }
    }

    @Test func `a found transaction can be named, and later steps use the name`() async throws {
        let report = try await Scenarios.run(
            Self.buy + """
                , {"expect": {"account": "anna", "transactions": [{}, {"as": "second"}, {}]}},
                {"refund": "second"}, {"expect": {"account": "anna", "transactions": {"includes": [
                    {"transactionID": "second", "state": "revoked"}]}}},
                {"expect": {"account": "anna", "transactions": {"last": [{"as": "third"}]}}},
                {"expect": {"account": "anna", "entitlements": [{"transactionID": "third"}]}}
                """)
        #expect(report.holds, "\(report)")
    }

    @Test func `an expectation uses each notification once, for one account or for all`() async throws {
        let report = try await Scenarios.run(
            """
            {"createAccount": "anna"}, {"createAccount": "ben"}, {"buy": {"account": "anna", "productID": "coins"}},
            {"buy": {"account": "ben", "productID": "weekly"}},
            {"expect": {"account": "ben", "notifications": ["SUBSCRIBED INITIAL_BUY"]}},
            {"expect": {"notifications": [{"type": "ONE_TIME_CHARGE", "account": "anna"}]}},
            {"expect": {"notifications": [], "attempts": [{"account": "anna"}, {"account": "ben"}]}},
            {"expect": {"account": "anna", "attempts": []}}
            """)
        #expect(report.holds, "\(report)")
    }

    @Test func `a store without a URL has no notifications`() async throws {
        let report = try await Scenarios.run(
            Self.buy + #", {"expect": {"notifications": [], "attempts": []}}"#,
            #""settings": {"notificationsURL": "off"},"#)
        #expect(report.holds, "\(report)")
    }

    @Test func `a run reports each step, and can be cancelled`() async throws {
        let scenario = try Scenarios.scenario(Self.buy + #", {"expect": {"accounts": {"count": 1}}}"#)
        let seen = Locked<[String]>([])
        let report = try await scenario.run { step in seen.withLock { $0.append(step.pointer) } }
        #expect(report.holds && seen.withLock { $0 } == (0..<4).map { "/steps/\($0)" })
        let stopped = Task {
            try await scenario.run { step in
                if step.pointer == "/steps/1" { withUnsafeCurrentTask { $0?.cancel() } }
            }
        }
        await #expect(throws: (any Error).self) { try await stopped.value }
    }

    @Test(.outsideJudge(OutsideJudge.python != nil, "SOUK_PYTHON names no interpreter"))
    func `reports have the JUnit format that CI systems read`() async throws {
        let failing = try await Scenarios.run(
            Self.buy
                + #", {"expect": {"accounts": [{"name": "<a & \"b\">"}]}}, {"renew": {"account": "ben", "productID": "x"}}, {"advance": "1d"}"#
        )
        let holding = try await Scenarios.run(#"{"expect": {"accounts": []}}"#)
        let verdict = try await OutsideJudge.judge(
            "junit.py", ["document": .string(Scenario.junit([failing, holding]))])
        #expect(verdict.status == 0, "\(verdict.output) \(verdict.errors)")
        let counts = try #require(verdict.json?["suites"])
        #expect(counts == [[6, 2, 1], [1, 0, 0]])
        #expect(verdict.json?["failures"]?[0]?.stringValue?.contains(#"- {"name":"<a & \"b\">"}"#) == true)
        let empty = try await OutsideJudge.judge("junit.py", ["document": .string(Scenario.junit([]))])
        #expect(empty.status == 0, "\(empty.output)")
        let broken = Scenario.junit([failing]).replacingOccurrences(of: #"failures="2""#, with: #"failures="1""#)
        #expect(try await OutsideJudge.judge("junit.py", ["document": .string(broken)]).status == 1)
    }
}

/// The alignment of two lists.
struct AlignmentTests {
    @Test(arguments: [
        ("", "", ""), ("abc", "abc", "=a =b =c"), ("abc", "ac", "=a -b =c"), ("ac", "abc", "=a +b =c"),
        ("abc", "", "-a -b -c"), ("", "ab", "+a +b"), ("abcd", "xbyd", "-a +x =b -c +y =d"), ("ab", "ba", "-a =b +a"),
        ("aab", "ab", "=a -a =b"),
    ])
    func `lists are aligned with the fewest possible differences`(first: String, second: String, steps: String) {
        let (one, other) = (Array(first), Array(second))
        let aligned = Alignment(one.count, other.count) { one[$0] == other[$1] }.steps.map { step in
            switch step {
            case .pair(let index, let partner): one[index] == other[partner] ? "=\(one[index])" : "?"
            case .missing(let index): "-\(one[index])"
            case .other(let index): "+\(other[index])"
            }
        }
        #expect(aligned.joined(separator: " ") == steps)
    }

    @Test func `long lists are compared from their ends`() {
        let steps = Alignment(2000, 2001) { $0 == $1 && $0 != 1000 }.steps
        #expect(steps.count == 1000 + 1000 + 1001)
    }
}

import Foundation
import HTTPCore
import HostTestSupport
import NetworkTestSupport
import Primitives
import StoreModel
import Testing

@testable import EntitlementServer

/// The console in Chromium: as an operator uses it, with hostile text, and as an accessibility engine sees it.
@Suite(.outsideJudge(OutsideJudge.python != nil, "SOUK_PYTHON names no interpreter with playwright"), .serialized)
struct ConsoleBrowserTests {
    /// Whether `SOUK_PAGES=all` requests every width in every colour scheme.
    private static let isInFull = ProcessInfo.processInfo.environment["SOUK_PAGES"] == "all"
    /// The folder for screenshots of the pages; `nil` for no screenshots.
    private static let pictures = ProcessInfo.processInfo.environment["SOUK_SCREENSHOTS"]

    /// A text that runs code if it becomes markup, an attribute, a link or a script. It has fewer than 255 bytes.
    private static let hostile =
        "</title></script><script>alert(1)</script><img src=x onerror=alert(2)>\"'><svg/onload=alert(3)>{{7*7}}&lt;"

    private static func wait(_ condition: String) -> JSONValue { ["until": .string(condition)] }
    private static func evaluate(_ expression: String) -> JSONValue { ["evaluate": .string(expression)] }
    private static func click(_ selector: String) -> JSONValue { ["click": .string(selector)] }
    private static func fill(_ selector: String, _ text: String) -> JSONValue {
        ["fill": .string(selector), "with": .string(text)]
    }
    private static func opened(_ title: String) -> JSONValue { wait("document.title.startsWith('\(title)')") }
    private static let fits = evaluate("document.documentElement.scrollWidth <= innerWidth")
    private static let unsafe = evaluate(
        "document.querySelectorAll('script, img, svg, iframe, object, [onerror], [onload], a[href^=javascript]').length"
    )

    private static func signIn(_ bench: ServerBench, as role: String = "full") throws -> [JSONValue] {
        [
            opened("Sign in"), fill("#key", try #require(bench.keys[ServerBench.app]).secretKey),
            click("input[value=\(role)]"), click("button.main"), opened("Customers"),
        ]
    }

    private static func picture(_ name: String) -> [JSONValue] {
        pictures.map { [["screenshot": .string("\($0)/\(name).png")]] } ?? []
    }

    /// Runs steps on the console and returns their results. Fails for errors of the page, requests to other servers and
    /// dialogs.
    private static func browse(
        _ bench: ServerBench, _ steps: [JSONValue], width: Int = 1280, height: Int = 900, scheme: String = "light"
    ) async throws -> [JSONValue] {
        try await withLoopbackServer(bench.service, stopGracePeriod: .milliseconds(50)) { url in
            let verdict = try await OutsideJudge.judge(
                "browser.py",
                [
                    "url": .string(url + "/console"), "width": .number(width), "height": .number(height),
                    "scheme": .string(scheme), "steps": .array(steps),
                ])
            try #require(verdict.status == 0, "\(verdict.errors) \(verdict.output)")
            let report = try #require(verdict.json)
            let console = (report["console"]?.arrayValue ?? []).compactMap(\.stringValue)
            #expect(console.filter { !$0.contains("favicon") }.isEmpty, "\(console)")
            #expect(report["dialogs"] == [])
            for request in report["requests"]?.arrayValue ?? [] {
                #expect(request.stringValue?.hasPrefix(url + "/") == true, "\(request)")
            }
            return report["answers"]?.arrayValue ?? []
        }
    }

    @Test func `an operator finds a customer, reads a reason, grants and withdraws`() async throws {
        let bench = try await ServerBench.withConsole()
        let signed = try bench.period("1")
        _ = try await bench.post(signed)
        let answers = try await Self.browse(
            bench,
            try Self.signIn(bench) + [
                Self.fill("#query", "anna"), Self.click("form[role=search] button"),
                Self.wait("location.search.includes('query=anna')"), Self.click("table a"), Self.opened("anna"),
                ["text": "tbody td:nth-child(5)"], Self.click("a:has-text(\"facts of the purchase\")"),
                Self.wait("location.search.includes('purchase=1')"), Self.click("a:has-text(\"transaction\")"),
                Self.opened("Fact"), ["text": "#signed"], Self.evaluate("document.cookie"),
                Self.click("section a"), Self.opened("anna"), Self.click("summary:has-text(\"Grant a feature\")"),
                Self.fill("#feature", "extra"), Self.fill("#until", "2099-01-31T12:00"), Self.fill("#reason", "sorry"),
                Self.click("#grant button"), Self.opened("Review a grant"), ["text": "#effect"],
                Self.click("button.main"), Self.opened("anna"), ["text": ".notice"],
                Self.click("button:has-text(\"Withdraw…\")"), Self.opened("Review a withdrawal"), ["text": "#effect"],
                Self.click("button.risky"), Self.opened("anna"), ["text": ".notice"],
                Self.click("button:has-text(\"Sign out\")"), Self.opened("Sign in"), ["back": true],
            ])
        #expect(answers[0] == "active subscription" && answers[1] == .string(signed) && answers[2] == "")
        #expect(answers[3].stringValue?.contains("until 2099-01-31 12:00:00 UTC") == true, "\(answers[3])")
        #expect(answers[4] == "The feature was granted.")
        #expect(answers[5].stringValue?.contains("loses the feature") == true)
        #expect(answers[6] == "The grant was withdrawn.")
        #expect(try await bench.get().active() == ["pro"])
        await bench.close()
    }

    @Test func `markup in every field has no effect`() async throws {
        let text = Self.hostile
        let bench = try await ServerBench.withConsole {
            $0.apps[0].features = FeatureMap(features: [text: [ProductID(unchecked: "p" + text)]])
        }
        let path = "/v1/customers/" + PercentEncoding.encode(text)
        let signed = try bench.purchase("t" + text, product: "p" + text) { $0.webOrderLineItemId = "o" + text }
        _ = try await bench.send(.post, path + "/transactions", body: .json(["signedTransaction": .string(signed)]))
        _ = try await bench.send(
            .post, path + "/aliases", as: .secret, body: .json(["alias": .string("a" + text)]))
        let grant: JSONValue = ["feature": .string("g" + text), "reason": .string("r" + text)]
        #expect(try await bench.send(.post, path + "/grants", as: .secret, body: .json(grant)).status == 201)
        let shows = { (words: String) -> JSONValue in
            Self.evaluate("document.body.innerText.includes(\(JSONValue.string(words).text()))")
        }
        let answers = try await Self.browse(
            bench,
            try Self.signIn(bench) + [
                Self.unsafe, shows(text), shows("a" + text), Self.fill("#query", text),
                Self.click("form[role=search] button"), Self.wait("location.search.includes('query=')"), Self.unsafe,
                Self.evaluate("document.querySelector('#query').value"), Self.click("table a"), Self.opened("</title>"),
                Self.unsafe, shows("p" + text), shows("g" + text), shows("r" + text),
                Self.click("summary:has-text(\"The answer\")"), Self.unsafe,
                Self.click("a:has-text(\"transaction\")"), Self.opened("Fact"), Self.unsafe, shows("t" + text),
                ["back": true], Self.opened("</title>"), Self.click("button:has-text(\"Withdraw…\")"),
                Self.opened("Review a withdrawal"), Self.unsafe, shows("r" + text), ["back": true],
                Self.opened("</title>"), Self.click("summary:has-text(\"Grant a feature\")"),
                Self.fill("#feature", "n" + text), Self.fill("#reason", "m" + text), Self.click("#grant button"),
                Self.opened("Review a grant"), Self.unsafe, shows("n" + text), Self.click("button.main"),
                Self.wait("document.querySelector('.notice') !== null"), Self.unsafe, shows("m" + text),
            ])
        #expect(
            answers == [0, true, true, 0, .string(text), 0, true, true, true, 0, 0, true, 0, true, 0, true, 0, true])
        await bench.close()
    }

    @Test func `signing in, searching and opening a customer need no mouse`() async throws {
        let bench = try await ServerBench.withConsole()
        _ = try await bench.post(bench.purchase("1"))
        let answers = try await Self.browse(
            bench,
            [
                Self.opened("Sign in"), Self.evaluate("document.activeElement.id"),
                Self.fill("#key", try #require(bench.keys[ServerBench.app]).secretKey), ["press": "Enter"],
                Self.opened("Customers"), ["press": "Tab"], ["focused": true], ["focus": "#query"], ["press": "a"],
                ["press": "Enter"], Self.wait("location.search.includes('query=a')"), ["focus": "table a"],
                ["press": "Enter"], Self.opened("anna"), ["text": "#role"],
            ])
        #expect(answers == ["key", "Skip to the content", "read only"])
        await bench.close()
    }

    @Test(
        arguments: [(1280, "light"), (390, "dark")]
            + (isInFull ? [(1280, "dark"), (390, "light"), (1920, "light"), (1920, "dark")] : []))
    func `an accessibility engine finds nothing wrong on customer pages`(width: Int, scheme: String)
        async throws
    {
        let bench = try await ServerBench.withConsole()
        _ = try await bench.post([bench.period("1"), bench.purchase("2")], renewals: [bench.renewalInfo()])
        _ = try await bench.grant("extra", until: bench.clock.now().addingTimeInterval(86400))
        _ = try await bench.notify(bench.notification(transaction: bench.period("3", of: "1", days: 31)))
        let check: [JSONValue] = [["axe": true], Self.fits]
        let name = "\(width)-\(scheme)"
        let answers = try await Self.browse(
            bench,
            [Self.opened("Sign in")] + check + Self.picture("sign-in-\(name)") + (try Self.signIn(bench)) + check
                + Self.picture("search-\(name)") + [Self.click("table a"), Self.opened("anna")] + check
                + Self.picture("customer-\(name)")
                + [
                    Self.click("summary:has-text(\"The answer\")"),
                    Self.click("summary:has-text(\"Grant a feature\")"),
                ] + check + Self.picture("customer-open-\(name)")
                + [Self.click("a:has-text(\"transaction\")"), Self.opened("Fact")] + check
                + Self.picture("fact-\(name)")
                + [
                    ["back": true], Self.opened("anna"), Self.click("button:has-text(\"Withdraw…\")"),
                    Self.opened("Review a withdrawal"),
                ] + check + Self.picture("withdrawal-\(name)"), width: width, scheme: scheme)
        #expect(answers == [[], true, [], true, [], true, [], true, [], true, [], true])
        await bench.close()
    }
}

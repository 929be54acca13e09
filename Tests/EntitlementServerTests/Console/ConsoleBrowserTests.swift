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
        """
        document.querySelectorAll(
            'script:not(body > script:last-child), img, iframe, object, [onerror], [onload], a[href^=javascript]').length
        """
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
        _ bench: ServerBench, _ steps: [JSONValue], width: Int = 1280, height: Int = 900, scheme: String = "light",
        handler: AnyHTTPHandler? = nil
    ) async throws -> [JSONValue] {
        let served: any HTTPHandler = handler ?? bench.service
        return try await withLoopbackServer(served, stopGracePeriod: .milliseconds(50)) { url in
            let verdict = try await OutsideJudge.judge(
                "browser.py",
                [
                    "url": .string(url + "/console"), "width": .number(width), "height": .number(height),
                    "scheme": .string(scheme), "steps": .array(steps),
                ])
            try #require(verdict.status == 0, "\(verdict.errors) \(verdict.output)")
            let report = try #require(verdict.json)
            let console = (report["console"]?.arrayValue ?? []).compactMap(\.stringValue)
            // The browser's console also reports each page with a status from 400 to 409.
            let errors = console.filter { !$0.contains("favicon") && !$0.contains("responded with a status of 40") }
            #expect(errors.isEmpty, "\(errors)")
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
                Self.click("#grant button"), Self.opened("Grant a feature?"), ["text": "#effect"],
                Self.click("button.main"), Self.opened("anna"), ["text": ".notice"],
                Self.click("button:has-text(\"Withdraw…\")"), Self.opened("Withdraw a grant?"), ["text": "#effect"],
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
                Self.opened("Withdraw a grant?"), Self.unsafe, shows("r" + text), ["back": true],
                Self.opened("</title>"), Self.click("summary:has-text(\"Grant a feature\")"),
                Self.fill("#feature", "n" + text), Self.fill("#reason", "m" + text), Self.click("#grant button"),
                Self.opened("Grant a feature?"), Self.unsafe, shows("n" + text), Self.click("button.main"),
                Self.wait("document.querySelector('.notice') !== null"), Self.unsafe, shows("m" + text),
            ])
        #expect(
            answers == [0, true, true, 0, .string(text), 0, true, true, true, 0, 0, true, 0, true, 0, true, 0, true])
        await bench.close()
    }

    /// A server whose stores, receivers, keys, operators and requests wrote hostile text into every field that the
    /// console shows.
    private static func hostileBench() async throws -> ServerBench {
        let text = hostile
        let bench = try await ServerBench.withWebhook(WebhookReceiver { _, _ in 500 }) {
            $0.console = .loopback
            $0.webhookBackoff = .none
            $0.apps[0].credits = CreditTable(
                credits: ["k" + text: .init(products: [ProductID(unchecked: "p" + text): 100], prices: ["y" + text: 5])]
            )
        }
        let path = "/v1/customers/" + PercentEncoding.encode(text)
        func period(_ id: String) throws -> String {
            try bench.period(id + text, of: "s" + text, product: "d" + text) {
                $0.offerIdentifier = "f" + text
                $0.offerType = .promotional
                $0.storefront = "c" + text
            }
        }
        let bought = [try bench.purchase("t" + text, product: "p" + text, type: .consumable), try period("s")]
        _ = try await bench.send(
            .post, path + "/transactions", body: .json(["signedTransactions": .array(bought.map { .string($0) })]))
        let signed = try bench.notification("n" + text, transaction: period("s2"))
        #expect(try await bench.notify(signed).status == 200)
        try await bench.deliver()
        let visitor = try await ConsoleVisitor.signedIn(at: bench)
        for (action, fields) in [
            ("/credits", [("credit", "k" + text), ("amount", "5")]),
            ("/redemptions", [("credit", "k" + text), ("type", "y" + text), ("item", "i" + text)]),
            ("/merges", [("alias", "a" + text)]), ("/transfers", [("purchase", "t" + text), ("to", "b" + text)]),
        ] { _ = try await visitor.act(action, [("id", text), ("reason", "r" + text)] + fields) }
        try await bench.database.write { connection in
            for (table, column, mark) in [
                ("api_key", "label", "l"), ("webhook_delivery", "last_error", "e"),
                ("webhook_delivery", "webhook", "w"),
                ("event", "type", "v"), ("document", "about", "m"),
            ] { try connection.perform("UPDATE \(table) SET \(column) = ?1", [.text(mark + text)]) }
        }
        bench.service.metrics.slowRequests.add(
            RequestRecord(
                answeredAt: bench.realClock.now(), requestID: "q" + text, endpoint: "o" + text, status: 200,
                duration: .seconds(1), app: ServerBench.app, keyID: "j" + text))
        for job in bench.service.jobs where job.name == "figures" { while try await job.step() {} }
        return bench
    }

    @Test func `markup of stores, receivers, keys, operators and requests has no effect`() async throws {
        let text = Self.hostile
        let bench = try await Self.hostileBench()
        func shows(_ marks: String) -> [JSONValue] {
            [Self.unsafe]
                + marks.map { mark in
                    Self.evaluate("document.body.innerText.includes(\(JSONValue.string("\(mark)" + text).text()))")
                }
        }
        /// Opens a form of the customer's page, fills it, and opens its review.
        func review(_ summary: String, _ button: String, _ title: String, _ fields: [JSONValue]) -> [JSONValue] {
            [Self.click("summary:has-text(\"\(summary)\")")] + fields
                + [Self.click("button:has-text(\"\(button)\")"), Self.opened(title)]
        }
        let back: [JSONValue] = [["back": true], Self.opened("</title>")]
        var steps = try Self.signIn(bench)
        steps += [Self.click("nav a:has-text(\"Operations\")"), Self.opened("Operations")] + shows("lewvojq")
        steps += [Self.click("button:has-text(\"Repeat…\")"), Self.opened("Repeat a delivery?")] + shows("wve")
        steps += [Self.click("nav a:has-text(\"Audit log\")"), Self.opened("Audit log")] + shows("lkyiartb")
        for group in ["offer", "product", "country"] {
            steps += [
                Self.click("nav a:has-text(\"Figures\")"), Self.opened("Figures"),
                Self.wait("!location.search.includes('group=')"),
                ["select": "#figure", "option": "active-subscriptions"],
                ["select": "#group", "option": .string(group)],
                Self.click("form.line button.main"), Self.wait("location.search.includes('group=\(group)')"),
            ]
            steps += shows(["offer": "f", "product": "d", "country": "c"][group] ?? "")
        }
        steps += [
            Self.click("nav a:has-text(\"Customers\")"), Self.opened("Customers"),
            Self.click("table a:has-text(\"</title>\")"),
        ]
        steps += [Self.opened("</title>")] + shows("adsirky")
        steps += [Self.click("a:has-text(\"transaction s2\")"), Self.opened("Fact")] + shows("mn") + back
        steps += review(
            "Transfer a purchase", "Review the transfer", "Transfer a purchase?",
            [Self.fill("#to", "x" + text), Self.fill("#transfer-reason", "z" + text)])
        steps += shows("sxz") + back
        steps += review(
            "Merge another name", "Review the merge", "Merge a name?",
            [Self.fill("#alias", "x" + text), Self.fill("#merge-reason", "z" + text)])
        steps += shows("xz") + back
        steps += review(
            "Export all data", "Review the export", "Export the customer?", [Self.fill("#export-reason", "z" + text)])
        steps += shows("z") + back
        steps += review("Erase the customer", "Review the erasure", "Erase the customer?", []) + [Self.unsafe]
        let answers = try await Self.browse(bench, steps)
        #expect(answers.allSatisfy { $0 == 0 || $0 == true }, "\(answers)")
        #expect(answers.count { $0 == 0 } == 12 && answers.count { $0 == true } == 36, "\(answers)")
        await bench.close()
    }

    /// Grants a feature to anna over HTTP, as her app's backend does while the page is open. Returns the status.
    private static func grant(_ feature: String, with secret: String) -> JSONValue {
        evaluate(
            """
            fetch("/v1/customers/anna/grants", {method: "POST", headers: {"Content-Type": "application/json",
                Authorization: "Bearer \(secret)"}, body: '{"feature": "\(feature)", "reason": "support"}'
            }).then((response) => response.status)
            """)
    }

    @Test func `an open page shows changes, keeps what is typed, and ends with its session`() async throws {
        let bench = try await ServerBench.withConsole()
        _ = try await bench.post(bench.purchase("1"))
        let secret = try #require(bench.keys[ServerBench.app]).secretKey
        let handler = AnyHTTPHandler { request in
            guard request.url.hasSuffix("/revoke") else { return bench.service.respond(to: request) }
            return .suspended {
                let revocation = "UPDATE api_key SET revoked_at = 1 WHERE digest = ?1"
                await bench.realClock.waiters(atLeast: 1)
                try? bench.elsewhere(revocation, [.blob(SHA256.hash(secret.utf8))])
                bench.realClock.advance(by: 1)
                return HTTPResponse(status: 204)
            }
        }
        let grant = { (feature: String) in Self.grant(feature, with: secret) }
        let steps =
            try Self.signIn(bench) + [
                Self.click("table a"), Self.opened("anna"), Self.evaluate("window.isSame = true"),
                Self.click("summary:has-text(\"The answer\")"),
                Self.evaluate("document.activeElement.blur(), null"), grant("second"),
                Self.wait("document.body.innerText.includes('second')"), Self.evaluate("window.isSame"),
                Self.evaluate("document.querySelector('details').open"), ["text": "#updated"],
                Self.click("summary:has-text(\"Grant a feature\")"), Self.fill("#reason", "typed"), grant("third"),
                Self.wait("document.getElementById('outdated') !== null"), ["text": "#outdated"],
                Self.evaluate("document.getElementById('reason').value"), Self.click("#outdated a"),
                Self.wait("document.body.innerText.includes('third')"),
                Self.evaluate("fetch('/revoke').then((response) => response.status)"), Self.opened("Sign in"),
            ]
        let answers = try await Self.browse(bench, steps, handler: handler).filter { $0 != .null }
        #expect(answers.prefix(4) == [true, 201, true, true], "\(answers)")
        #expect(answers[4].stringValue?.hasPrefix("The page was updated at ") == true)
        #expect(answers.dropFirst(5) == [201, "The data has changed. Load the page again", "typed", 204], "\(answers)")
        await bench.close()
    }

    @Test func `an open page shows changes after it was hidden or refused, and after its first cookie`() async throws {
        let bench = try await ServerBench.withConsole()
        _ = try await bench.post(bench.purchase("1"))
        let secret = try #require(bench.keys[ServerBench.app]).secretKey
        let refusals = Locked<Set<String>>([])
        let handler = AnyHTTPHandler { request in
            switch request.url {
            case let url where url.hasPrefix("/age/"):
                return .suspended {
                    await bench.realClock.waiters(atLeast: 1)
                    bench.realClock.advance(by: Double(url.dropFirst(5)) ?? 0)
                    return HTTPResponse(status: 204)
                }
            case "/refuse":
                refusals.withLock { $0 = ["/console/updates", "/console/customer"] }
                return .ready(HTTPResponse(status: 204))
            case let url where refusals.withLock({ $0.remove(String(url.prefix { $0 != "?" })) }) != nil:
                return .ready(HTTPResponse(status: 403))
            default: return bench.service.respond(to: request)
            }
        }
        func visible(_ state: String) -> JSONValue {
            Self.evaluate(
                """
                Object.defineProperty(document, "visibilityState", {value: "\(state)", configurable: true}),
                document.dispatchEvent(new Event("visibilitychange")), null
                """)
        }
        func shown(_ feature: String) -> JSONValue { Self.wait("document.body.innerText.includes('\(feature)')") }
        func status(_ path: String) -> JSONValue {
            Self.evaluate("fetch('\(path)').then((response) => response.status)")
        }
        let grant = { (feature: String) in Self.grant(feature, with: secret) }
        let steps =
            try Self.signIn(bench) + [
                Self.click("table a"), Self.opened("anna"), Self.evaluate("window.isSame = true"),
                // The page waits ten seconds after a refusal.
                Self.evaluate(
                    "(() => { const wait = setTimeout; setTimeout = (run, time) => wait(run, time / 50) })()"),
                visible("hidden"), grant("amber"), status("/console"),
                Self.evaluate("main.innerText.includes('amber')"),
                visible("visible"), shown("amber"), visible("hidden"), status("/refuse"), visible("visible"),
                grant("beryl"), shown("beryl"),
                // Another page prolongs the session. Then the cookie of the open stream becomes too old.
                status("/age/1740"), status("/console"), status("/age/61"), grant("coral"), shown("coral"),
                Self.evaluate("window.isSame"),
            ]
        let answers = try await Self.browse(bench, steps, handler: handler).filter { $0 != .null }
        #expect(answers == [true, 201, 200, false, 204, 201, 204, 200, 204, 201, true], "\(answers)")
        #expect(refusals.withLock(\.isEmpty))
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

    /// Returns the steps that open each page of the console, with the name of each page's picture.
    private static func tour(_ bench: ServerBench) throws -> [(page: String, steps: [JSONValue])] {
        let key = try #require(bench.keys[ServerBench.app]).secretKey
        let customer = [click("nav a:has-text(\"Customers\")"), opened("Customers"), click("table a"), opened("anna")]
        func review(_ page: String, _ summary: String, _ fields: [JSONValue], _ title: String) -> (String, [JSONValue])
        {
            let open = summary.isEmpty ? [] : [click("summary:has-text(\"\(summary)\")")]
            return (page, customer + open + fields + [opened(title)])
        }
        func press(_ button: String) -> JSONValue { click("button:has-text(\"\(button)\")") }
        return [
            ("sign-in", [opened("Sign in")]),
            (
                "sign-in-refused",
                [
                    fill("#key", "souk_secret_x"), click("button.main"),
                    wait("document.querySelector('.fault') !== null"),
                ]
            ),
            ("search", [fill("#key", key), click("input[value=full]"), click("button.main"), opened("Customers")]),
            ("customer", customer),
            ("customer-open", [evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true })")]),
            (
                "customer-outdated",
                [
                    fill("#reason", "typed"), grant("late", with: key),
                    wait("document.getElementById('outdated').getBoundingClientRect().top >= 0"),
                ]
            ),
            ("fact", [click("a:has-text(\"transaction 7\")"), opened("Fact")]),
            review(
                "review-grant", "Grant a feature",
                [fill("#feature", "extra"), fill("#reason", "sorry"), press("Review the grant")], "Grant a feature?"),
            ("granted", [click("button.main"), opened("anna")]),
            review("review-withdrawal", "", [press("Withdraw…")], "Withdraw a grant?"),
            review(
                "review-transfer", "Transfer a purchase", [fill("#to", "ben"), press("Review the transfer")],
                "Transfer a purchase?"),
            review(
                "review-merge", "Merge another name", [fill("#alias", "anonymous-9"), press("Review the merge")],
                "Merge a name?"),
            review(
                "review-credit", "Give credit",
                [fill("#amount", "50"), fill("#credit-reason", "a late delivery"), press("Review the credit")],
                "Give credit?"),
            review(
                "review-redemption", "Take credit", [fill("#item", "cat"), press("Review the redemption")],
                "Redeem an item?"),
            review(
                "review-refresh", "Refresh a subscription", [press("Review the refresh")], "Refresh from the App Store?"
            ),
            review("review-export", "Export all data", [press("Review the export")], "Export the customer?"),
            ("operations", [click("nav a:has-text(\"Operations\")"), opened("Operations")]),
            ("review-replay", [press("Repeat…"), opened("Repeat a delivery?")]),
            ("replayed", [click("button.main"), opened("Operations")]),
            ("figures", [click("nav a:has-text(\"Figures\")"), opened("Figures")]),
            ("audit", [click("nav a:has-text(\"Audit log\")"), opened("Audit log")]),
            review("review-erasure", "Erase the customer", [press("Review the erasure")], "Erase the customer?"),
            ("erasure-refused", [fill("#confirm", "Anna"), press("Erase the customer"), opened("Invalid field")]),
            (
                "erased",
                [
                    evaluate("location.assign('/console'), null"), opened("Customers"), click("table a"),
                    opened("anna"), click("summary:has-text(\"Erase the customer\")"), press("Review the erasure"),
                    opened("Erase the customer?"), fill("#confirm", "anna"), press("Erase the customer"),
                    opened("erased-"),
                ]
            ),
            (
                "unknown-customer",
                [evaluate("location.assign('/console/customer?id=anna'), null"), opened("Unknown customer")]
            ),
        ]
    }

    @Test(
        arguments: [(1280, "light"), (390, "dark")]
            + (isInFull ? [(390, "light"), (1024, "light"), (1024, "dark"), (1920, "light"), (1920, "dark")] : []))
    func `an accessibility engine finds nothing wrong on any page`(width: Int, scheme: String) async throws {
        let bench = try await ServerBench.withEveryAction().bench
        _ = try await bench.post([], renewals: [bench.renewalInfo(of: "7")])
        _ = try await bench.notify(bench.notification(transaction: bench.period("8", of: "7", days: 31)))
        _ = try await bench.give(20, reason: "an apology")
        for job in bench.service.jobs where job.name == "figures" { while try await job.step() {} }
        bench.service.metrics.slowRequests.add(
            RequestRecord(
                answeredAt: bench.realClock.now(), requestID: "2xk7m-1f", endpoint: "getCustomer", status: 200,
                duration: .milliseconds(730), app: ServerBench.app, keyID: "5b0ddb3b1cf6a9d2"))
        let pages = try Self.tour(bench)
        let checks = pages.flatMap { page, steps in
            steps + [["axe": true], Self.fits] + Self.picture("\(page)-\(width)-\(scheme)")
        }
        let answers = try await Self.browse(bench, checks, width: width, scheme: scheme).filter {
            $0 != .null && $0 != 201
        }
        try #require(answers.count == 2 * pages.count)
        for (index, page) in pages.enumerated() {
            #expect(answers[2 * index] == [] && answers[2 * index + 1] == true, "\(page.page): \(answers[2 * index])")
        }
        await bench.close()
    }
}

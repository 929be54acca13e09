import Foundation
import HTTPCore
import HostTestSupport
import NetworkTestSupport
import Primitives
import StoreModel
import Testing

@testable import EntitlementServer

/// The page `/console/figures`: charts with a table and a CSV file for each.
struct FigurePageTests {
    private static let hostile = "<svg onload=alert(1)>\"'=1+1"

    /// Makes a server with a year of subscriptions in two countries. The name of one country is markup.
    private static func filled(_ settings: FigureSettings = .usual) async throws -> ServerBench {
        let bench = try await ServerBench.withConsole { $0.figures = settings }
        for month in 0..<12 {
            for number in 0..<(2 + month % 4) {
                let id = "\(month * 10 + number)"
                let (country, currency) = number % 2 == 0 ? ("USA", "USD") : (hostile, "EUR")
                _ = try await bench.post(
                    bench.period(id, days: number == 0 ? 365 : 31) { payload in
                        payload.price = 4990 + 1000 * number
                        (payload.storefront, payload.currency) = (country, currency)
                        if number == 1, month % 3 == 0 { payload.revocationDate = bench.clock.now() }
                    }, for: "customer-\(id)")
            }
            bench.clock.advance(by: 30 * 86400)
        }
        try await bench.addAllFactsToFigures()
        return bench
    }

    @Test func `the overview has a section for each of its figures, and markup in a value is shown as text`()
        async throws
    {
        let bench = try await Self.filled()
        let visitor = try await ConsoleVisitor.signedIn(at: bench, as: .readOnly)
        let page = try await visitor.get("/figures?by=month&group=country&from=&to=")
        #expect(page.status == 200)
        #expect(page.text.matches(of: /<h2 id="figure-/).count == FiguresPage.overview.count)
        // Money has a chart for each currency.
        #expect(page.text.contains("aria-label=\"Chart of MRR from 2026-01-01 to 2026-12-01"))
        #expect(page.text.contains("&lt;svg onload=alert(1)&gt;&quot;&#39;=1+1"))
        #expect(!page.text.contains("<svg onload"))
        #expect(page.text.contains("<td>2026-03-01</td>"))
        let one = try await visitor.get("/figures?figure=retention&by=month")
        #expect(one.status == 200 && one.text.contains("<th scope=\"col\">Months later</th>"))
        #expect(try await visitor.get("/figures").status == 200)
        #expect(try await visitor.get("/figures?figure=nothing").status == 404)
        #expect(try await visitor.get("/figures?by=year").status == 400)
        #expect(try await visitor.get("/figures.csv?figure=mrr&from=2026-02-30").status == 400)
        await bench.close()
    }

    @Test func `the CSV file has the values of the HTTP API`() async throws {
        let bench = try await Self.filled()
        let visitor = try await ConsoleVisitor.signedIn(at: bench, as: .readOnly)
        let file = try await visitor.get("/figures.csv?figure=revenue&by=month&group=country")
        #expect(file.headers["Content-Disposition"] == "attachment; filename=\"revenue.csv\"")
        let lines = file.text.split(separator: "\r\n")
        #expect(lines.first == "figure,at,group,age,value,currency")
        let answer = try await bench.send(.get, "/v1/figures/revenue?by=month&group=country", as: .secret)
        let rows = answer.json["rows"]?.arrayValue ?? []
        #expect(lines.count == rows.count + 1 && rows.count > 20)
        #expect(lines.contains("revenue,2026-01-01,USA,,16.97,USD"))
        // A spreadsheet would compute a text that begins with "=".
        #expect(file.text.contains(",\"<svg onload=alert(1)>\"\"'=1+1\","))
        await bench.close()
    }

    @Test func `a table of rates can be chosen, and the page names it and the currencies without a rate`() async throws
    {
        func table(_ json: JSONValue) throws -> CurrencyRates { try CurrencyRates(json) }
        let settings = try FigureSettings(rates: [
            table(["name": "<b>ECB</b>", "currency": "EUR", "rates": ["USD": "0.8612"]]),
            table(["name": "Bank of England", "currency": "GBP", "rates": ["USD": "0.75"]]),
        ])
        let bench = try await Self.filled(settings)
        let visitor = try await ConsoleVisitor.signedIn(at: bench, as: .readOnly)
        let paid = try await visitor.get("/figures?by=month&currency=")
        #expect(paid.text.contains("<option value=\"\" selected>as paid</option>"))
        #expect(paid.text.contains(">EUR (&lt;b&gt;ECB&lt;/b&gt;)</option>") && !paid.text.contains("Converted to"))
        let converted = try await visitor.get("/figures?by=month&currency=EUR&figure=revenue")
        #expect(converted.text.contains("Converted to EUR with the rates <bdi>&lt;b&gt;ECB&lt;/b&gt;</bdi>"))
        #expect(converted.text.contains("Chart of Revenue, converted with the rates &lt;b&gt;ECB&lt;/b&gt;, from"))
        #expect(converted.text.matches(of: /<figure class="chart">/).count == 1)
        #expect(converted.text.contains("currency=EUR") && !converted.text.contains("has no rate"))
        let partly = try await visitor.get("/figures?by=month&currency=GBP&figure=proceeds")
        #expect(partly.text.contains("The table has no rate for <bdi>EUR</bdi>"))
        #expect(partly.text.contains("(appStore: 0.3, googlePlay: 0.15, web: 0)"))
        #expect(partly.text.matches(of: /<figure class="chart">/).count == 2)
        #expect(partly.text.contains("class=\"bar\""), "the proceeds are not drawn as bars")
        let file = try await visitor.get("/figures.csv?by=month&figure=revenue&currency=GBP")
        let lines = file.text.split(separator: "\r\n")
        #expect(lines.first == "figure,at,group,age,value,currency,rates")
        #expect(lines.contains { $0.hasSuffix(",GBP,Bank of England") } && lines.contains { $0.hasSuffix(",EUR,") })
        #expect(try await visitor.get("/figures?currency=CHF").status == 404)
        await bench.close()
    }

    @Test func `scales and percentages are rounded, and an empty figure says that it has no values`() async throws {
        #expect([0, 0.2, 1, 3, 7, 11, 499, 501].map(FigureChart.rounded) == [0, 1, 1, 5, 10, 20, 500, 1000])
        #expect(FiguresPage.percent(333_333) == "33.33 %" && FiguresPage.percent(1_000_000) == "100 %")
        #expect(FiguresPage.percent(-5_000) == "-0.5 %" && FiguresPage.percent(100) == "0.01 %")
        let bench = try await ServerBench.withConsole()
        let visitor = try await ConsoleVisitor.signedIn(at: bench, as: .readOnly)
        let page = try await visitor.get("/figures")
        #expect(page.status == 200 && page.text.contains("There are no values in these days."))
        await bench.close()
    }

    @Test(
        .outsideJudge(OutsideJudge.python != nil, "SOUK_PYTHON names no interpreter with playwright"), .serialized,
        arguments: [(390, "light"), (1024, "dark"), (1920, "light")])
    func `Chromium shows the page at three widths, and the accessibility engine accepts it`(width: Int, scheme: String)
        async throws
    {
        let rates: JSONValue = ["name": "ECB, 2026-11-20", "currency": "EUR", "rates": ["GBP": "1.1374"]]
        let bench = try await Self.filled(FigureSettings(rates: [CurrencyRates(rates)]))
        let pictures = ProcessInfo.processInfo.environment["SOUK_SCREENSHOTS"]
        try await withLoopbackServer(bench.service, stopGracePeriod: .milliseconds(50)) { url in
            var steps: [JSONValue] = [
                ["until": "document.title.startsWith('Sign in')"],
                ["fill": "#key", "with": .string(try #require(bench.keys[ServerBench.app]).secretKey)],
                ["click": "button.main"], ["until": "document.title.startsWith('Customers')"],
                ["click": "a:has-text(\"Figures\")"], ["until": "document.title.startsWith('Figures')"],
                [
                    "evaluate":
                        "document.querySelector('#by').value = 'month', document.querySelector('#group').value = 'country', document.querySelector('#currency').value = 'EUR', 1"
                ],
                ["click": "main button.main"], ["until": "location.search.includes('group=country')"],
                ["evaluate": "document.documentElement.scrollWidth <= innerWidth"],
                [
                    "evaluate":
                        "[...document.querySelectorAll('figure.chart > svg')].every(s => s.getBoundingClientRect().width > 200)"
                ],
                ["evaluate": "document.querySelectorAll('script:not(body > script:last-child), img, [onload]').length"],
                ["axe": true],
            ]
            if let pictures { steps.append(["screenshot": .string("\(pictures)/figures-\(width)-\(scheme).png")]) }
            let verdict = try await OutsideJudge.judge(
                "browser.py",
                [
                    "url": .string(url + "/console"), "width": .number(width), "height": 900,
                    "scheme": .string(scheme), "steps": .array(steps),
                ])
            try #require(verdict.status == 0, "\(verdict.errors) \(verdict.output)")
            let answers = verdict.json?["answers"]?.arrayValue ?? []
            #expect(Array(answers.prefix(4)) == [1, true, true, 0], "\(answers)")
            #expect(answers.dropFirst(4).allSatisfy { $0 == [] }, "\(answers)")
        }
        await bench.close()
    }
}

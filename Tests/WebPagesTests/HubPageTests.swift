import Foundation
import HostTestSupport
import PluginHub
import Primitives
import Testing
import WebPages

@Suite struct HubPageTests {
    static let policies = [
        Policy(
            name: "Journey", send: .init(commands: ["info.refresh"], queries: ["info.current"]),
            subscribe: ["info"], subscribeAtAppLaunch: ["store.changed"]),
        Policy(
            name: "Model", send: .init(commands: ["log.write"]),
            receive: .init(commands: ["info.refresh"], queries: ["info.current"]), publish: ["info"]),
        Policy(name: "store", receive: .init(commands: ["store.restore"]), publish: ["store.changed"]),
    ]

    @Test func `the same hub gives the same page`() {
        let page = HubPage(HubGraph(policies: Self.policies)).page.text
        #expect(HubPage(HubGraph(policies: Self.policies)).page.text == page)
    }

    @Test func `the page makes no requests`() {
        let page = HubPage(HubGraph(policies: Self.policies), title: "Shop").page.text
        for outside in ["http:", "https:", "src=", "@import", "url(", "fetch("] { #expect(!page.contains(outside)) }
        #expect(page.contains("<h1>Shop</h1>"))
    }

    @Test func `the page has everything even if scripts do not run`() {
        let page = HubPage(HubGraph(policies: Self.policies)).page.text
        for text in ["info.refresh", "no plugin receives it", "no plugin sends it", "event, at launch", "log.write"] {
            #expect(page.contains(text))
        }
        #expect(page.components(separatedBy: "class=\"card detail\"").count == 4)
    }

    @Test func `names are escaped, in the picture and in the text`() {
        let name = "</title></script><img src=x onerror=alert(1)>\"'"
        let page = HubPage(
            HubGraph(policies: [Policy(name: name, send: .init(commands: [name]), publish: [name])]), title: name
        ).page.text
        #expect(!page.contains("<img"))
        #expect(page.components(separatedBy: "</script>").count == 2)
        #expect(page.contains("&lt;img src=x onerror=alert(1)&gt;&quot;&#39;"))
    }
}

/// The page in Chromium, used as a person uses it.
@Suite(.outsideJudge(OutsideJudge.python != nil, "SOUK_PYTHON names no interpreter with playwright"))
struct HubPageInBrowserTests {
    private func browse(
        _ policies: [Policy], _ steps: [JSONValue], width: Int = 1200, scheme: String = "light"
    ) async throws -> [JSONValue] {
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("souk-hub-\(UUID().uuidString).html")
        try Data(HubPage(HubGraph(policies: policies)).page.text.utf8).write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        let verdict = try await OutsideJudge.judge(
            "browser.py",
            [
                "url": .string(file.absoluteString), "width": .number(width), "scheme": .string(scheme),
                "steps": .array(steps),
            ])
        try #require(verdict.status == 0, "\(verdict.errors)")
        let report = try #require(verdict.json)
        #expect(report["console"] == [])
        #expect(report["dialogs"] == [])
        #expect(report["requests"] == [])
        return report["answers"]?.arrayValue ?? []
    }

    private func box(_ name: String) -> String { ".box:has-text(\"\(name)\")" }

    @Test(arguments: [1200, 390, 1700])
    func `a click on a plugin shows its messages and those without a partner`(width: Int) async throws {
        let answers = try await browse(
            HubPageTests.policies,
            [
                ["visible": "#overview"], ["visible": ".detail"],
                ["click": .string(box("Model"))],
                ["visible": "#overview"], ["count": ".detail.shown"], ["text": ".detail.shown h2"],
                ["text": ".detail.shown .groups"], ["text": ".detail.shown .lonely.error"],
                ["attribute": .string(box("Model")), "name": "aria-current"],
                ["count": ".line.on"], ["count": ".line"],
                ["evaluate": "document.documentElement.scrollWidth <= innerWidth"],
            ], width: width)
        #expect(answers[0...4] == [true, false, false, 1, "Model"])
        let groups = try #require(answers[5].stringValue)
        for part in ["Sends", "log.write", "Receives", "info.refresh", "from Journey", "Publishes", "to Journey"] {
            #expect(groups.contains(part), "\(part)")
        }
        #expect(answers[6] == "no plugin receives it")
        #expect(answers[7...] == ["true", 4, 6, true])
    }

    @Test(arguments: [1200, 390])
    func `a picture larger than the screen shows plugins, and a click in the list scrolls to the plugin`(width: Int)
        async throws
    {
        let policies = (0..<40).map { number in
            Policy(
                name: "Plugin \(number)", send: .init(commands: [3, 7, 11].map { "do.\((number * 5 + $0) % 40)" }),
                receive: .init(commands: ["do.\(number)"]), publish: ["did.\(number)"],
                subscribe: ["did.\((number + 1) % 40)", "did.\((number + 13) % 40)"])
        }
        let seen = """
            (() => { const seen = document.querySelector(".canvas").getBoundingClientRect();
              return Array.from(document.querySelectorAll(".box")).filter((box) => {
                const area = box.getBoundingClientRect();
                return area.left < seen.right && area.right > seen.left && area.top < seen.bottom && area.bottom > seen.top;
              }).map((box) => box.textContent.trim()); })()
            """
        let answers = try await browse(
            policies,
            [
                ["evaluate": .string("\(seen).length > 0")],
                ["evaluate": "document.querySelector('.canvas').getBoundingClientRect().height <= innerHeight"],
                ["click": ".plugins li:nth-child(23) a"],
                ["evaluate": .string("\(seen).includes(document.querySelector('.detail.shown h2').textContent)")],
            ], width: width)
        #expect(answers == [true, true, true])
    }

    @Test func `a person can select, move and go back with the keyboard alone`() async throws {
        let answers = try await browse(
            HubPageTests.policies,
            [
                ["focus": .string(box("Journey"))], ["press": "Enter"], ["text": ".detail.shown h2"],
                ["press": "ArrowRight"], ["focused": true], ["press": " "], ["text": ".detail.shown h2"],
                ["press": "Escape"], ["visible": "#overview"], ["count": ".detail.shown"], ["focused": true],
                ["press": "Tab"], ["press": "Enter"], ["count": ".detail.shown"],
            ])
        #expect(answers[0] == "Journey")
        let second = answers[1]
        #expect(second == "Model" || second == "store")
        #expect(answers[2] == second)
        #expect(answers[3...5] == [true, 0, second])
        #expect(answers[6] == 1)
    }

    @Test func `links lead from partner to partner, and the back button returns`() async throws {
        let answers = try await browse(
            HubPageTests.policies,
            [
                ["click": .string(box("Journey"))], ["click": ".detail.shown .ends a"], ["text": ".detail.shown h2"],
                ["focused": true], ["back": true], ["text": ".detail.shown h2"], ["click": ".detail.shown .back a"],
                ["visible": "#overview"],
            ])
        #expect(answers == ["Model", "Model", "Journey", true])
    }

    @Test func `the search finds plugins by their messages`() async throws {
        let answers = try await browse(
            HubPageTests.policies,
            [
                ["fill": "#search", "with": "RESTORE"],
                ["evaluate": "document.querySelectorAll('.plugins li:not([hidden])').length"],
                ["text": "output"], ["count": ".box.on"],
                ["fill": "#search", "with": "no such thing"], ["visible": ".none"],
                ["fill": "#search", "with": "restore"], ["focus": "#search"], ["press": "Enter"],
                ["text": ".detail.shown h2"], ["evaluate": "document.querySelector('#search').value"],
                ["press": "Escape"], ["count": ".line.on"],
            ])
        #expect(answers == [1, "1 of 3 plugins match", 1, true, "store", "", 0])
    }

    @Test func `names that are markup have no effect`() async throws {
        let names = [
            "<script>alert(1)</script>", "\"><img src=x onerror=alert(1)>", "'onmouseover='alert(1)",
            "</style><script>",
            "javascript:alert(1)", "{{7*7}}", "&lt;b&gt;", "end",
        ]
        let policies = names.map {
            Policy(name: $0, send: .init(commands: [$0]), receive: .init(queries: [$0]), publish: [$0], subscribe: [$0])
        }
        let answers = try await browse(
            policies,
            [
                ["count": "img"], ["count": "script"], ["count": ".box"],
                [
                    "evaluate":
                        "[...document.querySelectorAll('.box')].every(box => (box.dispatchEvent(new MouseEvent('click', {bubbles: true, cancelable: true})), document.querySelector('.detail.shown h2').textContent === (box.querySelector('title') || box.querySelector('text')).textContent))"
                ],
                ["fill": "#search", "with": "<img src=x onerror=alert(1)>"], ["count": "img"],
            ], scheme: "dark")
        #expect(answers == [0, 1, .number(names.count), true, 0])
    }

    @Test func `the light and dark pages have different background colours`() async throws {
        let background: JSONValue = ["evaluate": "getComputedStyle(document.body).backgroundColor"]
        let light = try await browse(HubPageTests.policies, [background])
        let dark = try await browse(HubPageTests.policies, [background], scheme: "dark")
        #expect(light != dark)
    }

    @Test func `a hub without plugins has a page too`() async throws {
        #expect(try await browse([], [["visible": "#overview"], ["count": ".box"]]) == [true, 0])
    }
}

import BaseTestSupport
import Foundation
import HTTPCore
import HostTestSupport
import NetworkInterception
import PluginHub
import Primitives
import Testing

/// Uses the page in Chromium like a person. A violation of the page's content security policy and a script error fail a
/// test (`InspectorWorld.browse`).
@Suite(.outsideJudge(OutsideJudge.python != nil, "SOUK_PYTHON names no interpreter with playwright"), .serialized)
struct InspectorInBrowserTests {
    /// Whether `SOUK_PAGES=all` is set, which tests every width in every colour scheme, and the longest list.
    private static let isInFull = ProcessInfo.processInfo.environment["SOUK_PAGES"] == "all"
    private let rows = "document.querySelectorAll('.row').length"
    private let focusList: JSONValue = ["focus": "#list"]

    private func wait(_ condition: String) -> JSONValue { ["until": .string(condition)] }
    private func answer(_ expression: String) -> JSONValue { ["evaluate": .string(expression)] }

    @Test(arguments: [1280, 390])
    func `a click shows a request in full, and the back button returns to the list`(width: Int) async throws {
        let world = InspectorWorld()
        world.stamp.enabled = true
        try await world.send("http://a.example/json", headers: ["Accept-Language": "ga"])
        try await world.send("http://a.example/moved", .post, body: #"{"name": "Ada"}"#)
        let answers = try await world.browse(
            [
                wait("\(rows) === 2"), ["text": "#count"], ["click": ".row:has-text(\"/moved\")"],
                wait("document.querySelector('.diff') !== null"),
                ["text": ".detail h2"], ["text": ".diff del"], ["text": ".diff ins"], ["text": ".change li"],
                ["attribute": ".waterfall", "name": "aria-label"], ["count": ".waterfall .bar"],
                ["text": ".message:has(#request-title) .body"], ["text": ".t-number"],
                answer("document.documentElement.scrollWidth <= innerWidth"), ["back": true],
                wait("document.querySelector('.detail h2') === null"), ["visible": ".row"],
            ], width: width)
        #expect(
            answers[0...3] == [
                "2 requests", "POST /moved", "- POST http://a.example/moved", "+ POST http://b.example/json?n=2",
            ])
        #expect(answers[4] == "Stamp changed the request")
        #expect(answers[5].stringValue?.hasPrefix("Florets ") == true)
        #expect(answers[6...] == [3, "{\n  \"name\": \"Ada\"\n}", "29.9", true, true])
    }

    @Test func `requests can be searched, opened and closed with the keyboard alone`() async throws {
        let world = InspectorWorld()
        for number in 1...30 { try await world.send("http://a.example/\(number)") }
        try await world.send("http://a.example/status/404")
        let chosen = answer("document.querySelector('.row.on .path').textContent")
        let answers = try await world.browse([
            wait("\(rows) > 3"), focusList, ["press": "ArrowDown"], wait("document.querySelector('.row.on') !== null"),
            chosen,
            ["press": "ArrowDown"], wait("document.querySelector('.row.on .path').textContent === '/30'"),
            answer(
                "document.querySelector('#list').getAttribute('aria-activedescendant') === document.querySelector('.row.on').id"
            ),
            ["press": "End"], wait("document.querySelector('.row.on .path')?.textContent === '/1'"),
            wait("document.querySelector('.detail h2').textContent === 'GET /1'"), ["press": "Enter"],
            answer("document.activeElement.id"), ["press": "Escape"],
            wait("document.querySelector('.row.on') === null"),
            answer("document.activeElement.id"), ["press": "/"], answer("document.activeElement.id"),
            ["fill": "#text", "with": "status/404"], wait("\(rows) === 1"), ["text": "#count"],
            ["fill": "#text", "with": "nowhere"], wait("\(rows) === 0"), ["text": "#empty"],
        ])
        #expect(answers == ["/status/404", true, "detail", "list", "text", "1 request", "No requests match."])
    }

    @Test func `new requests appear at once, also those that are sent from the page`() async throws {
        let world = InspectorWorld()
        try await world.send("http://a.example/json", .post, headers: ["Cookie": "a=1"], body: "one")
        let answers = try await world.browse([
            wait("\(rows) === 1"), ["click": ".row"], ["click": "role=button[name=\"Edit and resend\"]"],
            ["text": "#send-note"], ["fill": "#send-url", "with": "not a URL"],
            ["fill": "#send-url", "with": "http://c.example/status/503"], ["fill": "#send-body", "with": "two"],
            ["click": "role=button[name=\"Send\"]"], wait("\(rows) === 2"),
            wait("document.querySelector('.detail h2').textContent === 'POST /status/503'"),
            answer("document.querySelector('#send').open"),
            wait("document.querySelector('.row .pill').textContent === '503'"),
            ["click": "role=button[name=\"New request\"]"],
            ["fill": "#send-url", "with": "http://d.example/status/204"],
            ["press": "Enter"], wait("\(rows) === 3"),
            wait("document.querySelector('.row .pill').textContent === '204'"),
            ["click": "role=button[name=\"Pause\"]"], wait("document.querySelector('#run').textContent === 'Record'"),
            ["click": "role=button[name=\"Clear\"]"], wait("\(rows) === 0"), ["text": "#empty"],
        ])
        #expect(answers == ["Redacted, so left out: Cookie.", false, "Recording is paused."])
        #expect(!world.interceptor.isRunning)
    }

    @Test func `an answer can be mocked, and a request can be copied for a shell and for Postman`() async throws {
        let world = InspectorWorld(florets: [MockFloret()])
        try await world.send("http://a.example/status/418")
        let answers = try await world.browse([
            wait("\(rows) === 1"),
            answer("navigator.clipboard.writeText = async (text) => { window.copied = text; }; true"),
            ["click": ".row"],
            ["click": "role=button[name=\"Copy as cURL\"]"], wait("window.copied !== undefined"),
            answer("window.copied.startsWith('curl ') && window.copied.includes('http://a.example/status/418 ')"),
            answer("window.copied = undefined"),
            ["click": "role=button[name=\"Copy as Postman\"]"], wait("window.copied !== undefined"),
            answer("window.copied"),
            ["click": "role=button[name=\"Mock this answer\"]"],
            wait(
                "[...document.querySelectorAll('.actions button')].some((button) => button.textContent.startsWith('Answered by'))"
            ),
            ["attribute": "#export", "name": "href"], ["fill": "#text", "with": "status:4xx"],
            wait("document.querySelector('#export').getAttribute('href').includes('4xx')"),
        ])
        #expect(answers.count == 5)
        #expect(answers[0...1] == [true, true] && answers[4] == "api/export?format=har")
        let collection = try JSONValue(parsing: try #require(answers[3].stringValue))
        #expect(collection["info"]?["name"] == "GET /status/418")
        #expect(collection["item"]?.arrayValue?.count == 1)
        #expect(collection["item"]?[0]?["request"]?["url"]?["raw"] == "http://a.example/status/418")
        try await world.send("http://a.example/status/418")
        #expect(try await world.newest().changes.map(\.kind) == [.answered])
    }

    @Test func `a floret can be enabled and configured`() async throws {
        let world = InspectorWorld()
        let answers = try await world.browse(
            [
                ["click": "role=switch[name=\"Stamp\"]"],
                wait("document.querySelector('.switch').getAttribute('aria-checked') === 'true'"), ["focused": true],
                ["click": "role=link[name=\"Settings of Stamp\"]"],
                ["fill": "role=textbox[name=\"Text\"]", "with": "<b>&"], ["press": "Enter"],
                wait("document.querySelector('input[name=value]')?.value === '<b>&'"),
                ["click": "role=link[name=\"All florets\"]"], wait("document.querySelector('.switch') !== null"),
                ["attribute": ".switch", "name": "aria-checked"],
            ], at: "#florets")
        #expect(answers == ["", "true"])
        #expect(world.stamp.enabled)
        #expect(world.stamp.stamp.withLock { $0 } == "<b>&")
    }

    @Test func `messages of a hub are shown beside the requests`() async throws {
        let world = InspectorWorld()
        let hub = Hub()
        hub.register { sender, _ in InspectorHubPlugin(messageSender: sender, interceptor: world.interceptor) }
        hub.register(AskingPlugin.self)
        hub.start()
        world.page.follow(hub.trace)
        _ = try (hub.plugin(named: "asking") as? AskingPlugin)?.ask()
        try await world.send("http://a.example/json")
        let answers = try await world.browse([
            wait("\(rows) === 1"), ["click": "nav a:has-text(\"Hub\")"], ["text": ".trace code"],
            ["text": ".trace .pill"],
            ["axe": true], answer("location.hash = ''"), ["click": ".row"],
            wait("document.querySelector('#meanwhile-title') !== null"), ["text": ".detail .trace code"],
        ])
        #expect(answers == ["inspector.records", "delivered", [], "", "inspector.records"])
        await hub.stop()
    }

    /// A text that runs code if it becomes markup, an attribute, a link or a script.
    private static let hostile =
        "</script><script>alert(1)</script><img src=x onerror=alert(2)>\"'><svg/onload=alert(3)>{{7*7}}javascript:alert(4)"

    @Test func `markup in texts from the network has no effect`() async throws {
        let text = Self.hostile
        let world = InspectorWorld { $0.title = text }
        let bodies = [text, "{\"\(text.filter { $0 != "\"" })\": [1]}", "[\"</pre><script>alert(5)</script>\"]"]
        for body in bodies {
            var record = Record(
                HTTPRequest(
                    method: .init(text), url: "http://\(text)/\(body.utf8.count)/\(text)?\(text)#\(text)",
                    headers: [text: text, "Content-Type": text], body: .text(body)))
            record.designatedRequest.url = "javascript:alert(6)//" + text
            record.designatedRequest.body = .text(text + "\n" + body)
            record.changes = [.init(floret: text, kind: .changedRequest)]
            record.timing = .init(started: Date(), sent: Date(), answered: Date(), ended: Date())
            record.result = .success(
                Response(
                    status: 200, headers: [text: text, "Content-Type": text, "Content-Encoding": text],
                    body: .text(body)))
            await world.interceptor.storage.store(record)
        }
        var failed = Record(HTTPRequest(method: .get, url: text))
        failed.result = .failure(HTTPError(.connectionFailed, text))
        await world.interceptor.storage.store(failed)
        world.interceptor.report(.noAnswer, floret: text, text)

        let counts =
            "[document.scripts.length, document.querySelectorAll('img, iframe, object, [onerror], [onload], #rows svg, a[href^=javascript]').length]"
        var steps = [wait("\(rows) === 4")]
        for number in 1...4 {
            steps += [
                ["click": .string(".row[aria-posinset=\"\(number)\"]")],
                wait(
                    "document.querySelector('.row.on')?.getAttribute('aria-posinset') === '\(number)' && document.querySelector('.detail h2') !== null"
                ),
                answer("new Promise((done) => setTimeout(() => done(\(counts)), 150))"),
            ]
        }
        steps += [
            ["click": "role=button[name=\"Edit and resend\"]"], answer(counts), ["click": "#send-cancel"],
            ["fill": "#text", "with": .string(text)], wait("document.querySelector('#count').textContent !== ''"),
            ["click": "nav a:has-text(\"Florets\")"], ["text": "#florets .plain li"], answer(counts), ["text": "h1"],
        ]
        let answers = try await world.browse(steps)
        #expect(answers == [[1, 0], [1, 0], [1, 0], [1, 0], [1, 0], .string(text), [1, 0], .string(text)])
    }

    @Test func `a long list draws only its visible rows`() async throws {
        let world = InspectorWorld()
        let (count, words, found) = Self.isInFull ? (10_000, "10,000", 111) : (2000, "2,000", 11)
        for number in 0..<count {
            var record = Record(HTTPRequest(method: .get, url: "http://a.example/customers/\(number)?page=1"))
            record.result = .success(
                Response(status: 200, headers: ["Content-Type": "text/plain"], body: .text("hello")))
            await world.interceptor.storage.store(record)
        }
        let answers = try await world.browse([
            wait("document.querySelector('#count').textContent === '\(words) requests'"), answer("\(rows) < 60"),
            ["scripting": true], focusList, ["press": "End"],
            wait("document.querySelector('.row.on .path')?.textContent === '/customers/0?page=1'"),
            answer("\(rows) < 60"),
            answer(
                "(async () => { const list = document.querySelector('#list'); for (let step = 0; step < \(count / 50); step += 1) { list.scrollTop = step * 2800; await new Promise(requestAnimationFrame); } return true; })()"
            ),
            answer("\(rows) < 60"), ["scripting": true], ["fill": "#text", "with": "customers/77"],
            wait("document.querySelector('#count').textContent === '\(found) requests'"), ["scripting": true],
        ])
        #expect([answers[0], answers[2], answers[3], answers[4]] == [true, true, true, true])
        print(
            "milliseconds of script, layout and style: loaded, scrolled, searched:", answers[1], answers[5], answers[6])
    }

    @Test(arguments: [(1280, "light"), (390, "dark")] + (isInFull ? [(1280, "dark"), (390, "light")] : []))
    func `an accessibility engine finds nothing wrong in any view`(width: Int, scheme: String) async throws {
        let world = InspectorWorld()
        for status in [200, 204, 302, 404, 503] { try await world.send("http://a.example/status/\(status)") }
        _ = try? await world.interceptor.transport(wrapping: BrokenTransport()).send(
            HTTPRequest(method: .get, url: "http://b.example/gone"))
        world.stamp.enabled = true
        try await world.send("http://a.example/moved", .post, headers: ["Accept": "a/b"], body: #"{"name": "Ada"}"#)
        world.interceptor.report(.calledTwice, floret: "Stamp", "The floret \"Stamp\" called twice.")
        let pause = answer("new Promise((done) => setTimeout(() => done(null), 250))")
        let answers = try await world.browse(
            [
                wait("\(rows) === 7"), ["axe": true], ["click": ".row"],
                wait("document.querySelector('.diff') !== null"), pause, ["axe": true],
                answer("document.documentElement.scrollWidth <= innerWidth"),
                ["click": "role=button[name=\"Edit and resend\"]"], pause, ["axe": true], ["click": "#send-cancel"],
                answer("location.hash = 'florets'"), wait("document.querySelector('.switch') !== null"), pause,
                ["axe": true], ["click": "role=link[name=\"Settings of Stamp\"]"], ["axe": true],
            ], width: width, scheme: scheme)
        #expect(answers == [[], .null, [], true, .null, [], "florets", .null, [], []])
    }
}

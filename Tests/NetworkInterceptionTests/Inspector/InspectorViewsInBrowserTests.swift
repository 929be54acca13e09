import BaseTestSupport
import Foundation
import HTTPCore
import HostTestSupport
import NetworkInterception
import PluginHub
import Primitives
import Testing

/// The layout of the page in Chromium: the visible elements at the widths of a phone, a tablet and a desktop screen.
@Suite(.outsideJudge(OutsideJudge.python != nil, "SOUK_PYTHON names no interpreter with playwright"), .serialized)
struct InspectorViewsInBrowserTests {
    /// The widths in pixels.
    private static let widths = [390, 800, 1440]
    private let rows = "document.querySelectorAll('.row').length"

    private func wait(_ condition: String) -> JSONValue { ["until": .string(condition)] }
    private func answer(_ expression: String) -> JSONValue { ["evaluate": .string(expression)] }

    /// Finds texts of the page that are values of the script, such as `undefined`.
    private let stray = """
        (() => {
          const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT), found = [];
          while (walk.nextNode()) {
            const text = walk.currentNode.textContent.trim(), place = walk.currentNode.parentElement;
            if (place.closest('script, style, noscript, pre, .code, .headers')) continue;
            if (/^(true|false|null|undefined|NaN|\\[object .*\\])$/.test(text)) found.push(text);
          }
          return found;
        })()
        """

    /// Finds elements whose text is cut: by the window, by a box that hides its overflow, or by the element itself.
    /// Omits elements that end with an ellipsis.
    private let cut = """
        [...document.querySelectorAll('header *, main:not([hidden]) *')].filter((element) => {
          const hasText = [...element.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim());
          if (!hasText || !element.checkVisibility() || element.closest('.path, .host, .hidden-label, svg, option')) return false;
          const place = element.getBoundingClientRect();
          if (getComputedStyle(element).display !== 'inline' && element.scrollWidth > element.clientWidth + 1) return true;
          for (let box = element.parentElement; box; box = box.parentElement) {
            const edge = box === document.body ? innerWidth : box.getBoundingClientRect().right;
            const hides = box === document.body || getComputedStyle(box).overflowX !== 'visible';
            if (hides && place.width > 0 && place.right > edge + 1) return true;
          }
          return false;
        }).map((element) => element.tagName + ' ' + element.textContent)
        """

    private func hub(_ world: InspectorWorld) throws -> Hub {
        let hub = Hub()
        hub.register { sender, _ in InspectorHubPlugin(messageSender: sender, interceptor: world.interceptor) }
        hub.register(AskingPlugin.self)
        hub.register(TickingPlugin.self)
        hub.register(ListeningPlugin.self)
        #expect(!hub.start().hasErrors)
        return hub
    }

    @Test func `no script value such as undefined appears as text, with or without florets`() async throws {
        for isBare in [true, false] {
            let world = InspectorWorld(isBare: isBare)
            try await world.send("http://a.example/status/204")
            let hub = try hub(world)
            world.page.follow(hub.trace)
            _ = try (hub.plugin(named: "asking") as? AskingPlugin)?.ask()
            let answers = try await world.browse([
                wait("\(rows) === 1"), answer(stray), ["click": ".row"],
                wait("document.querySelector('#response-title') !== null"), answer(stray),
                answer("location.hash = 'hub'"), wait("document.querySelector('.trace') !== null"), answer(stray),
                answer("location.hash = 'florets'"), wait("document.querySelector('#florets h2') !== null"),
                answer(stray), ["text": "#florets"],
            ])
            await hub.stop()
            #expect(answers[0...5] == [[], [], "hub", [], "florets", []])
            guard isBare else { continue }
            #expect(answers[6] == "FloretsThis interceptor has no florets. It only records.")
        }
    }

    @Test func `the script adds children in only one place, and never as markup`() async throws {
        let world = InspectorWorld()
        let text = String(decoding: try await world.ask("/").body.collect(upTo: 1 << 20), as: UTF8.self)
        #expect(text.components(separatedBy: "replaceChildren(").count == 2)
        #expect(!text.contains("innerHTML") && !text.contains("insertAdjacent"))
    }

    @Test(arguments: widths)
    func `a subscription is shown differently from its events, and no column is cut`(width: Int) async throws {
        let world = InspectorWorld()
        try await world.send("http://a.example/json")
        let hub = try hub(world)
        world.page.follow(hub.trace)
        let listening = try #require(hub.plugin(named: "listening with a long name") as? ListeningPlugin)
        try listening.listen()
        try #require(hub.plugin(named: "ticking") as? TickingPlugin).tick()
        let steps = [
            wait("document.querySelectorAll('.trace tbody tr').length === 2"),
            answer("[...document.querySelectorAll('.trace .pill')].map((pill) => pill.textContent)"),
            answer("[...document.querySelectorAll('.trace .kind')].map((kind) => kind.textContent)"),
            answer("document.querySelector('.trace tbody tr').innerText.replace(/\\s+/g, ' ').slice(13)"),
            answer(cut),
            answer("[...document.querySelectorAll('.scrolling')].every((box) => box.scrollWidth <= box.clientWidth)"),
            ["axe": true],
        ]
        let answers = try await world.browse(steps, at: "#hub", width: width)
        #expect(answers[0...1] == [["delivered", "subscribed"], ["event", "subscription"]])
        let row = try #require(answers[2].stringValue)
        #expect(row.contains("ticking") && row.contains("listening with a long name"), "\(row)")
        #expect(answers[3...] == [[], true, []])
        await hub.stop()
    }

    private static let longPath =
        "/store/v1/devices/4f6a3c1e-8f6e-4c39-9d8c-0d8a5b1c2e3f/accounts/customer-1042/subscriptions/updates"

    @Test(arguments: widths)
    func `the end of a long path is visible, and its title is the whole URL`(width: Int) async throws {
        let world = InspectorWorld()
        let url = "http://a.example\(Self.longPath)?wait=25&after=1700000042"
        try await world.send(url)
        try await world.send("http://a.example/" + String(repeating: "very-long-word-", count: 8) + "end")
        try await world.send("http://a.example/short")
        let inSight = """
            [...document.querySelectorAll('.row')].map((row) => {
              const box = row.querySelector('.what').getBoundingClientRect(), leaf = row.querySelector('.leaf bdi').getBoundingClientRect();
              return leaf.right <= box.right + 1 && leaf.right > box.left + 20;
            })
            """
        let answers = try await world.browse(
            [
                wait("\(rows) === 3"), answer(inSight),
                answer("[...document.querySelectorAll('.row .path')].map((path) => path.textContent)"),
                answer("document.querySelector('.row[aria-posinset=\"3\"] .what').title"),
                answer(
                    "document.querySelector('.row[aria-posinset=\"3\"] .leaf').scrollWidth <= document.querySelector('.row[aria-posinset=\"3\"] .leaf').clientWidth"
                ),
                ["click": ".row[aria-posinset=\"3\"]"], wait("document.querySelector('#request-title') !== null"),
                answer(
                    "document.querySelector('.detail h2').textContent.endsWith('/updates?wait=25&after=1700000042')"),
                answer(
                    "document.querySelector('.detail h2').scrollHeight <= document.querySelector('.detail h2').clientHeight + 1"
                ),
                answer("document.querySelector('.detail h2').title"), answer(cut),
            ], width: width)
        #expect(answers[0] == [true, true, true])
        #expect(
            answers[1] == [
                "/short", .string("/" + String(repeating: "very-long-word-", count: 8) + "end"),
                .string(Self.longPath + "?wait=25&after=1700000042"),
            ])
        #expect(answers[2] == .string("GET " + url))
        #expect(answers[3...] == [true, true, true, .string(url), []])
    }

    @Test func `repeated requests in a row are one line, which opens with the mouse and with the keyboard`()
        async throws
    {
        let world = InspectorWorld()
        for number in 1...5 { try await world.send("http://a.example/updates?after=\(number)") }
        try await world.send("http://a.example/json")
        for device in [1, 2, 1, 2, 1, 2] { try await world.send("http://a.example/devices/\(device)/updates") }
        let paths = answer("[...document.querySelectorAll('.row .path')].map((path) => path.textContent)")
        let chosen = answer("document.querySelector('.row.on .path').textContent")
        let answers = try await world.browse([
            wait("document.querySelector('#count').textContent === '12 requests'"), wait("\(rows) === 4"), paths,
            answer("[...document.querySelectorAll('.fold')].map((fold) => fold.textContent)"), ["axe": true],
            ["click": ".row:last-child .fold"], wait("\(rows) === 8"), paths,
            answer("document.querySelectorAll('.row[aria-level=\"2\"]').length"), ["axe": true],
            ["click": ".row[aria-level=\"2\"][aria-posinset=\"4\"]"],
            wait("document.querySelector('.row.on') !== null"), chosen,
            ["focus": "#list"], ["press": "ArrowLeft"],
            wait("document.querySelector('.row.on .path').textContent === '/updates?after=5'"),
            ["press": "ArrowLeft"], wait("\(rows) === 4"),
            answer("document.querySelector('.row.on').getAttribute('aria-expanded')"),
            ["press": "ArrowRight"], wait("\(rows) === 8"), ["press": "ArrowDown"],
            wait("document.querySelector('.row.on .path').textContent === '/updates?after=4'"), ["press": "Home"],
            wait("document.querySelector('.row.on .path').textContent === '/devices/2/updates'"),
        ])
        let folded: JSONValue = ["/devices/2/updates", "/devices/1/updates", "/json", "/updates?after=5"]
        #expect(answers[0] == folded)
        #expect(answers[1...2] == [["3 times", "3 times", "5 times"], []])
        let opened = (1...4).reversed().map { JSONValue.string("/updates?after=\($0)") }
        #expect(answers[3] == .array((folded.arrayValue ?? []) + opened))
        #expect(answers[4...] == [4, [], "/updates?after=1", "false"])
    }

    @Test
    func `the count of a line of repetitions grows with new requests, and other outcomes have lines of their own`()
        async throws
    {
        let world = InspectorWorld()
        for status in [200, 200, 503, 200] { try await world.send("http://a.example/status/\(status)") }
        let answers = try await world.browse([
            wait("\(rows) === 3"),
            answer("[...document.querySelectorAll('.row .pill')].map((pill) => pill.textContent)"),
            ["click": "role=button[name=\"New request\"]"],
            ["fill": "#send-url", "with": "http://a.example/status/200"], ["press": "Enter"],
            wait("document.querySelector('.row[aria-posinset=\"1\"] .fold')?.textContent === '2 times'"), answer(rows),
            answer("document.querySelector('.row.on').getAttribute('aria-posinset')"),
        ])
        #expect(answers == [["200", "503", "200"], 3, "1"])
    }

    @Test(arguments: widths, ["light", "dark"])
    func `payloads of a simulator are shown decoded, with a note that they were not verified`(
        width: Int, scheme: String
    ) async throws {
        let world = InspectorWorld()
        let jws = SignedTextTests.jws(["transactionId": "2000000001", "productId": "pro.yearly"])
        try await world.send("http://a.example/json", .post, body: #"{"signedTransaction": "\#(jws)"}"#)
        let answers = try await world.browse(
            [
                wait("\(rows) === 1"), ["click": ".row"], wait("document.querySelector('#signed-title') !== null"),
                ["text": ".signed summary"],
                answer(
                    "document.querySelector('.signed details p').textContent.startsWith('Decoded only: the signature was not checked.')"
                ),
                answer("JSON.parse(document.querySelector('.signed [aria-label=Claims]').textContent).productId"),
                answer("document.querySelector('.message .body').textContent.includes('[redacted]')"),
                answer("document.documentElement.scrollWidth <= innerWidth"), answer(cut),
                // Waits for the end of colour transitions.
                answer("new Promise((done) => setTimeout(() => done(null), 250))"), ["axe": true],
            ], width: width, scheme: scheme)
        #expect(
            answers == ["Transaction 2000000001, in the request", true, "pro.yearly", true, true, [], .null, []])
    }

    @Test(arguments: widths, ["light", "dark"])
    func `no text is cut in any view`(width: Int, scheme: String) async throws {
        let world = InspectorWorld()
        for status in [200, 302, 404, 503, 503] { try await world.send("http://a.example/status/\(status)") }
        world.stamp.enabled = true
        try await world.send("http://a.example/moved", .post, headers: ["Accept": "a/b"], body: #"{"name": "Ada"}"#)
        let hub = try hub(world)
        world.page.follow(hub.trace)
        _ = try (hub.plugin(named: "asking") as? AskingPlugin)?.ask()
        _ = try? (hub.plugin(named: "asking") as? AskingPlugin)?.ask(["count": 1000])
        var steps = [wait("\(rows) === 5"), answer(cut)] + pictures("list", width, scheme)
        steps += [["click": ".row"], wait("document.querySelector('.diff') !== null"), answer(cut)]
        steps += pictures("detail", width, scheme)
        steps += [
            answer("location.hash = 'hub'"), wait("document.querySelector('#hub .trace') !== null"), answer(cut),
        ]
        steps += pictures("hub", width, scheme)
        steps += [
            answer("location.hash = 'florets'"), wait("document.querySelector('.switch') !== null"), answer(cut),
        ]
        steps += pictures("florets", width, scheme)
        let answers = try await world.browse(steps, width: width, scheme: scheme)
        await hub.stop()
        #expect(answers == [[], [], "hub", [], "florets", []])
    }

    /// The step that saves a picture in the folder that `SOUK_PICTURES` names, for a person to look at. There is no step
    /// if the variable is not set.
    private func pictures(_ view: String, _ width: Int, _ scheme: String) -> [JSONValue] {
        guard let folder = ProcessInfo.processInfo.environment["SOUK_PICTURES"] else { return [] }
        return [["screenshot": .string("\(folder)/\(view)-\(width)-\(scheme).png")]]
    }
}

/// Publishes `clock.tick.of.a.long.name`.
private final class TickingPlugin: PluginProtocol {
    let policy = Policy(name: "ticking", publish: ["clock.tick.of.a.long.name"])
    private let ticks = EventSubject()

    init(messageSender: any MessageSending, configurationFiles: [String: String]) {}

    func publisher(forEvent event: Message, payload: JSONObject?) throws -> EventPublisher { ticks.publisher }

    func tick() { ticks.send(.success(["n": 1])) }
}

/// Subscribes on request of the test.
private final class ListeningPlugin: PluginProtocol {
    let policy = Policy(name: "listening with a long name", subscribe: ["clock.tick.of.a.long.name"])
    private let sender: any MessageSending
    private let kept = Locked<EventSubscription?>(nil)

    init(messageSender: any MessageSending, configurationFiles: [String: String]) { sender = messageSender }

    func listen() throws {
        let ticks = try sender.publisher(forEvent: "clock.tick.of.a.long.name", payload: nil, subscriber: self)
        kept.withLock { $0 = ticks.sink { _ in } }
    }
}

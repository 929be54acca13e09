import HTTPCore
import HostTestSupport
import NetworkTestSupport
import PluginHub
import Primitives
import Testing
import WebPages

/// A screen with one row of each kind.
private let screen = ViewDocument(
    title: "Mock <server>",
    sections: [
        .init(
            title: "Recording",
            rows: [
                .toggle(
                    id: "recording", label: "Record", isOn: true, action: .init("mock.configure", values: ["a": 1])),
                .toggle(id: "locked", label: "Locked", isOn: false),
                .text("Recorded", "12 <answers>"),
                .text("Newest", action: .init("mock.show", label: "Show \"it\"", values: ["path": "/a?b&c", "n": 2])),
            ],
            actions: [
                .init("mock.clear", label: "Clear"), .init("mock.clear", label: "Clear old", values: ["days": 7]),
            ]),
        .init(rows: [
            .field(
                id: "host", label: "Host", value: "a\"b", placeholder: "example.org", action: .init("mock.configure")),
            .choice(
                id: "mode", label: "Mode", options: [.init("off"), .init("on", label: "On")], selected: "on",
                action: .init("mock.configure")),
            .choice(
                id: "delay", label: "Delay", options: ["0", "1", "2", "5", "10"].map { .init($0, label: "\($0) s") },
                action: .init("mock.configure")),
        ]),
    ])

@Suite struct ViewDocumentFormTests {
    private let form = ViewDocumentForm(screen, postingTo: "/mock?x=1&y=\"2\"")

    @Test func `every text of the document is on the page, escaped`() {
        let page = form.page.text
        for text in [
            "<title>Mock &lt;server&gt;</title>", "12 &lt;answers&gt;", "Show &quot;it&quot;", "value=\"a&quot;b\"",
            "placeholder=\"example.org\"", "action=\"/mock?x=1&amp;y=&quot;2&quot;\"", "Clear old",
        ] {
            #expect(page.contains(text), "\(text)")
        }
        #expect(!page.contains("<answers>"))
        #expect(!page.contains("<script"))
    }

    @Test(
        arguments: [
            (["row": "recording", "value": "false"], "mock.configure", ["a": 1, "recording": false]),
            (["row": "host", "value": "a & b=c"], "mock.configure", ["host": "a & b=c"]),
            (["row": "mode", "value": "off"], "mock.configure", ["mode": "off"]),
            (["action": "mock.clear", "values": "{}"], "mock.clear", [:]),
            (["action": "mock.clear", "values": #"{"days":7}"#], "mock.clear", ["days": 7]),
            (["action": "mock.show", "values": #"{"n":2,"path":"/a?b&c"}"#], "mock.show", ["path": "/a?b&c", "n": 2]),
        ] as [([String: String], String, JSONObject)])
    func `a posted form becomes the action of its row or button`(
        fields: [String: String], id: String, values: JSONObject
    ) throws {
        let action = try form.action(posted: HTTPQuery(fields.map { ($0.key, $0.value) }))
        #expect(action.id == id)
        #expect(action.values == values)
    }

    @Test(
        arguments: [
            ([:], .missingField),
            (["row": "recording"], .missingField),
            (["row": "recording", "value": "maybe"], .invalidField),
            (["row": "mode", "value": "sideways"], .invalidField),
            (["row": "locked", "value": "true"], .unsupportedMessage),
            (["row": "nothing", "value": "x"], .unsupportedMessage),
            (["action": "mock.clear", "values": #"{"days":8}"#], .unsupportedMessage),
            (["action": "mock.clear"], .unsupportedMessage),
            (["action": "store.purchase", "values": "{}"], .unsupportedMessage),
        ] as [([String: String], PluginError.Code)])
    func `a form that the page does not have is refused`(fields: [String: String], code: PluginError.Code) {
        let error = #expect(throws: PluginError.self) {
            _ = try form.action(posted: HTTPQuery(fields.map { ($0.key, $0.value) }))
        }
        #expect(error?.code == code)
    }
}

/// The page in Chromium with a real server. The input of a person becomes an action.
@Suite(.outsideJudge(OutsideJudge.python != nil, "SOUK_PYTHON names no interpreter with playwright"))
struct ViewDocumentFormInBrowserTests {
    @Test(arguments: [1200, 390])
    func `a value that a person sets is posted`(width: Int) async throws {
        let received = Locked<[String]>([])
        let form = ViewDocumentForm(screen, postingTo: "/mock")
        let handler = AnyHTTPHandler { request in
            guard request.method == "POST" else { return .ready(HTTPResponse(page: form.page)) }
            return .suspended {
                do {
                    let bytes = try await request.body.collect(upTo: 10_000)
                    let fields = HTTPQuery(parsing: String(decoding: bytes, as: UTF8.self)) ?? HTTPQuery()
                    let action = try form.action(posted: fields)
                    received.withLock {
                        $0.append("\(action.id) \(JSONValue.object(action.values).text(sortedKeys: true))")
                    }
                    return HTTPResponse(status: 303, headers: ["Location": "/mock"])
                } catch {
                    return HTTPResponse(status: 400, body: .text("\(error)"))
                }
            }
        }
        let verdict = try await withLoopbackServer(handler) { url in
            try await OutsideJudge.judge(
                "browser.py",
                [
                    "url": .string(url + "/mock"), "width": .number(width),
                    "steps": [
                        ["click": "role=switch[name=\"Record\"]"],
                        ["attribute": "role=switch[name=\"Record\"]", "name": "aria-checked"],
                        ["evaluate": "document.querySelector('[aria-labelledby=\"row-0-1-label\"]').disabled"],
                        ["fill": "role=textbox[name=\"Host\"]", "with": "ü & <b>=+%"], ["press": "Enter"],
                        ["click": "role=group[name=\"Mode\"] >> role=button[name=\"off\"]"],
                        ["select": "role=combobox[name=\"Delay\"]", "option": "5"],
                        ["click": "li:has-text(\"Delay\") button"],
                        ["click": "role=button[name=\"Show \\\"it\\\"\"]"],
                        ["focus": "role=button[name=\"Clear old\"]"], ["press": "Enter"],
                        ["text": "h1"], ["evaluate": "document.documentElement.scrollWidth <= innerWidth"],
                    ],
                ])
        }
        try #require(verdict.status == 0, "\(verdict.errors)")
        #expect(verdict.json?["console"] == [])
        #expect(verdict.json?["answers"] == ["true", true, "Mock <server>", true])
        #expect(
            received.withLock { $0 } == [
                #"mock.configure {"a":1,"recording":false}"#, #"mock.configure {"host":"ü & <b>=+%"}"#,
                #"mock.configure {"mode":"off"}"#, #"mock.configure {"delay":"5"}"#,
                #"mock.show {"n":2,"path":"/a?b&c"}"#, #"mock.clear {"days":7}"#,
            ])
    }
}

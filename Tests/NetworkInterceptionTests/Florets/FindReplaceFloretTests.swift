import HTTPCore
import NetworkInterception
import Primitives
import Testing

@Suite struct FindReplaceFloretTests {
    /// Answers with JSON that has a price.
    private static let shop: @Sendable (HTTPRequest) async -> Response = { _ in
        Response(
            status: 200, headers: ["Content-Type": "application/json; charset=utf-8", "Content-Length": "15"],
            body: .text(#"{"price": 1999}"#))
    }

    @Test func `requests and responses have their own modifiers, which run in order`() async throws {
        let scene = FloretScene([
            FindReplaceFloret(
                willRequest: [.header(.set("X-One", "a")), .header(.replace("X-One", .literal("a"), with: "b"))],
                didRespond: [.header(.append("X-Two", "c"))], name: "Mine", summary: "Tries things")
        ])
        let answer = try await scene.send()
        #expect(scene.last?.headers["X-One"] == "b" && scene.last?.headers["X-Two"] == nil)
        #expect(answer.headers["X-Two"] == "c" && answer.headers["X-One"] == nil)
        #expect(scene.interceptor.florets[0].name == "Mine" && scene.interceptor.florets[0].summary == "Tries things")
    }

    @Test func `headers are set, appended and removed, and their names are compared without case`() async throws {
        let scene = FloretScene([
            FindReplaceFloret(willRequest: [
                .header(.set("x-twice", "one")), .header(.append("X-Twice", "two")), .header(.remove("COOKIE")),
            ])
        ])
        var headers: HTTPHeaders = ["X-Twice": "old", "Cookie": "a=1"]
        headers.add("X-Twice", "older")
        try await scene.send(headers: headers)
        #expect(scene.last?.headers.values("X-Twice") == ["one", "two"])
        #expect(scene.last?.headers.contains("Cookie") == false)
    }

    @Test func `the URL is rewritten by a regular expression, and the Host header follows`() async throws {
        let scene = FloretScene([
            FindReplaceFloret(willRequest: [
                .url(replacing: try .regularExpression(#"^http://([a-z]+)\.example/v1/"#), with: "http://$1.test/v2/")
            ])
        ])
        try await scene.send(.get, "http://shop.example/v1/items?a=1", headers: ["Host": "shop.example"])
        #expect(scene.last?.url == "/v2/items?a=1" && scene.last?.headers["Host"] == "shop.test")
        try await scene.send(.get, "http://127.0.0.1/v1/items")
        #expect(scene.last?.url == "/v1/items")
    }

    @Test func `the app's own Host header stays if only the path changes`() async throws {
        let scene = FloretScene([FindReplaceFloret(willRequest: [.url(replacing: .literal("/v1"), with: "/v2")])])
        try await scene.send(.get, "http://127.0.0.1/v1", headers: ["Host": "shop.example"])
        #expect(scene.last?.url == "/v2" && scene.last?.headers["Host"] == "shop.example")
    }

    @Test func `a change that would make the URL invalid is not made, and this is reported`() async throws {
        let scene = FloretScene([FindReplaceFloret(willRequest: [.url(replacing: .literal("http://"), with: "")])])
        try await scene.send(.get, "http://a.example/kept")
        #expect(scene.last?.url == "/kept")
        #expect(scene.interceptor.reports.map(\.code) == [.leftUnchanged])
    }

    @Test func `a changed body gets a new Content-Length`() async throws {
        let scene = FloretScene(
            [
                FindReplaceFloret(
                    willRequest: [.body(replacing: .literal("anna"), with: "berta-maria")],
                    didRespond: [.body(replacing: try .regularExpression(#"("price": )\d+"#), with: #"$1\0"#)])
            ], server: Self.shop)
        let answer = try await scene.send(
            .post, headers: ["Content-Type": "application/x-www-form-urlencoded", "Content-Length": "9"],
            body: .text("name=anna"))
        #expect(try await scene.last?.body.text() == "name=berta-maria")
        #expect(scene.last?.headers["Content-Length"] == "16")
        #expect(try await answer.body.text() == #"{"price": 0}"#)
        #expect(answer.headers["Content-Length"] == "12")
    }

    @Test func `a text that spans two chunks of a streamed body is replaced`() async throws {
        let scene = FloretScene([FindReplaceFloret(willRequest: [.body(replacing: .literal("secret"), with: "open")])])
        try await scene.send(.post, body: .pieces("a sec", "ret door"))
        #expect(try await scene.last?.body.text() == "a open door")
    }

    @Test func `a body that cannot be changed passes unchanged, and this is reported`() async throws {
        let scene = FloretScene([
            FindReplaceFloret(willRequest: [.body(replacing: .literal("a"), with: "b", upTo: 4)])
        ])
        try await scene.send(.post, headers: ["Content-Encoding": "identity"], body: .text("aa"))
        #expect(try await scene.last?.body.text() == "bb", "identity means that the body is not encoded")
        try await scene.send(.post, headers: ["Content-Encoding": "gzip"], body: .text("aa"))
        #expect(try await scene.last?.body.text() == "aa")
        try await scene.send(.post, body: .pieces("aaa", "aaa"))
        #expect(try await scene.last?.body.text() == "aaaaaa")
        try await scene.send(.post, body: .text("aaaaaa"))
        try await scene.send(.post, body: .bytes([0xFF, 0x61]))
        #expect(scene.last?.body.buffered == [0xFF, 0x61])
        #expect(
            scene.interceptor.reports.map(\.code) == [.leftUnchanged, .leftUnchanged, .leftUnchanged, .leftUnchanged])
        #expect(scene.interceptor.reports[0].message.contains("gzip"))
    }

    @Test func `images and event streams are not changed`() async throws {
        let scene = FloretScene([FindReplaceFloret(willRequest: [.body(replacing: .literal("a"), with: "b")])])
        for type in ["image/png", "text/event-stream"] {
            try await scene.send(.post, headers: ["Content-Type": type], body: .pieces("aa"))
            #expect(try await scene.last?.body.text() == "aa")
        }
        #expect(scene.interceptor.reports.isEmpty)
    }

    @Test func `a modifier may be any function, and may apply to some records only`() async throws {
        let scene = FloretScene([
            FindReplaceFloret(
                willRequest: [
                    RecordModifier(keyPath: \.designatedRequest.method) { _ in .put }.when(.path("/put/*")),
                    RecordModifier { record in
                        var record = record
                        record.designatedRequest.headers.add("X-Own", "1")
                        return record
                    },
                ])
        ])
        try await scene.send(.get, "http://a.example/put/1")
        #expect(scene.last?.method == .put && scene.last?.headers["X-Own"] == "1")
        try await scene.send(.get, "http://a.example/get/1")
        #expect(scene.last?.method == .get)
    }

    @Test func `a request that already has an answer is not changed`() async throws {
        let scene = FloretScene([
            MockFloret(rules: [.init(.all(), [Response(status: 200)])]),
            FindReplaceFloret(willRequest: [.header(.set("X-Late", "1"))]),
        ])
        try await scene.send()
        let record = try #require(await scene.interceptor.storage.records(1, after: nil).first)
        #expect(record.designatedRequest.headers["X-Late"] == nil)
    }

    @Test func `an invalid regular expression is rejected`() {
        #expect(throws: InterceptionError(.invalidSetting, "")) { try TextPattern.regularExpression("(") }
    }
}

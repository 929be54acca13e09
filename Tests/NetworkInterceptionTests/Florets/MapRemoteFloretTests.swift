import HTTPCore
import NetworkInterception
import Testing

@Suite struct MapRemoteFloretTests {
    private typealias Location = MapRemoteFloret.Location
    private typealias Mapping = MapRemoteFloret.Mapping

    struct Case: Sendable, CustomTestStringConvertible {
        let from: MapRemoteFloret.Location
        let to: MapRemoteFloret.Location
        let url: String
        /// The expected URL, or `nil` if no mapping applies.
        let result: String?
        var testDescription: String { "\(from) → \(to): \(url)" }
    }

    static let cases: [Case] = [
        .init(
            from: .init(host: "a.example"), to: .init(host: "b.example"), url: "http://a.example/x?y=1",
            result: "http://b.example/x?y=1"),
        .init(from: .init(host: "A.example"), to: .init(host: "b"), url: "http://a.EXAMPLE/", result: "http://b/"),
        .init(from: .init(host: "*.example"), to: .init(host: "b"), url: "http://x.a.example/", result: "http://b/"),
        .init(from: .init(host: "*.example"), to: .init(host: "b"), url: "http://example/", result: nil),
        .init(from: .init(host: "a"), to: .init(host: "b"), url: "http://b/", result: nil),
        .init(from: .init(), to: .init(protocol: .https), url: "http://a:8080/x#f", result: "https://a:8080/x#f"),
        .init(from: .init(protocol: .https), to: .init(protocol: .http), url: "http://a/", result: nil),
        .init(from: .init(port: 443), to: .init(port: 8443), url: "https://a/", result: "https://a:8443/"),
        .init(from: .init(port: 80), to: .init(port: 1), url: "http://a:8080/", result: nil),
        .init(from: .init(path: "/"), to: .init(path: "/home"), url: "http://a", result: "http://a/home"),
        .init(from: .init(path: ""), to: .init(path: "/home"), url: "http://a/", result: "http://a/home"),
        .init(from: .init(path: "/v1"), to: .init(path: "/v2"), url: "http://a/v1/x", result: nil),
        .init(
            from: .init(path: "/images/**"), to: .init(host: "b.example", path: "/img/$1"),
            url: "https://a.example/images/test.jpg", result: "https://b.example/img/test.jpg"),
        .init(
            from: .init(path: "/*/items/*"), to: .init(path: "/$2/of/$1"), url: "http://a/v1/items/7?q=$1",
            result: "http://a/7/of/v1?q=$1"),
        .init(from: .init(path: "/*"), to: .init(path: "/x"), url: "http://a/b/c", result: nil),
        .init(from: .init(path: "/a.c"), to: .init(path: "/x"), url: "http://a/abc", result: nil),
        .init(from: .init(query: "?a=1"), to: .init(query: "a=2"), url: "http://a/?a=1", result: "http://a/?a=2"),
        .init(from: .init(query: "a=1"), to: .init(query: "?"), url: "http://a/x?a=1", result: "http://a/x"),
        .init(from: .init(query: ""), to: .init(query: "a=2"), url: "http://a/x?a=1", result: nil),
        .init(from: .init(query: ""), to: .init(query: "?a=2"), url: "http://a/x", result: "http://a/x?a=2"),
        .init(
            from: .init(host: "[::1]"), to: .init(host: "b"), url: "http://u:p@[::1]:9/x", result: "http://u:p@b:9/x"),
        .init(from: .init(), to: .init(host: "b"), url: "/relative", result: nil),
        .init(from: .init(), to: .init(path: "$1$"), url: "http://a/x", result: "http://a/$"),
    ]

    @Test(arguments: cases)
    func `a mapping changes exactly the URLs that its location matches`(example: Case) {
        #expect(Mapping("m", from: example.from, to: example.to).url(for: example.url) == example.result)
    }

    @Test func `an IPv6 address in a mapping can have brackets or not`() {
        for address in ["::1", "[::1]"] {
            let away = MapRemoteFloret.Mapping("away", from: .init(host: "a"), to: .init(host: address, port: 8080))
            #expect(away.url(for: "http://a/x") == "http://[::1]:8080/x")
            let back = MapRemoteFloret.Mapping("back", from: .init(host: address), to: .init(host: "a"))
            #expect(back.url(for: "http://[::1]:8080/x") == "http://a:8080/x")
        }
    }

    @Test func `enabled mappings apply in order, and the Host header follows`() async throws {
        let floret = MapRemoteFloret([
            .init("first", from: .init(host: "a.example"), to: .init(host: "b.example")),
            .init("second", from: .init(host: "b.example"), to: .init(host: "c.example", path: "/c")),
            .init("third", from: .init(), to: .init(port: 99), enabled: false),
        ])
        let scene = FloretScene([floret])
        try await scene.send(headers: ["Host": "a.example", "X-A": "1"])
        #expect(scene.last?.url == "/c" && scene.last?.headers.values("Host") == ["c.example"])
        floret.setMapping("second", enabled: false)
        try await scene.send(headers: ["Host": "a.example"])
        #expect(scene.last?.url == "/" && scene.last?.headers.values("Host") == ["b.example"])
        floret.enabled = false
        try await scene.send(headers: ["Host": "a.example"])
        #expect(scene.last?.headers.values("Host") == ["a.example"])
    }

    @Test func `the screen of the floret can disable a mapping`() async throws {
        let floret = MapRemoteFloret([.init("m", from: .init(), to: .init(path: "/mapped"))])
        let scene = FloretScene([floret])
        let view = try #require(floret.view(scene.interceptor))
        try await floret.perform(try view.action(setting: "mapping0", to: false), in: scene.interceptor)
        try await scene.send(.get, "http://a/kept")
        #expect(scene.last?.url == "/kept")
        guard case .toggle(let toggle)? = floret.view(scene.interceptor)?.row("mapping0")?.content else {
            Issue.record("the screen has no switch")
            return
        }
        #expect(!toggle.isOn)
        await #expect(throws: InterceptionError(.invalidSetting, "")) {
            try await scene.perform(floret, "mapRemote.switch", ["mapping": 1, "mapping1": true])
        }
        await #expect(throws: InterceptionError(.unknownAction, "")) { try await scene.perform(floret, "other") }
    }

    @Test func `a request that already has a result is not mapped`() async throws {
        let scene = FloretScene([
            MockFloret(rules: [.init(.all(), [Response(status: 200)])]),
            MapRemoteFloret([.init("m", from: .init(), to: .init(host: "b"))]),
        ])
        try await scene.send()
        let record = try #require(await scene.interceptor.storage.records(1, after: nil).first)
        #expect(record.designatedRequest.url == "http://a.example/")
    }
}

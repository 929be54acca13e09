import HTTPCore
import NetworkInterception
import Primitives
import Testing

/// The access checks of the inspector, and requests of other sites.
@Suite struct InspectorAccessTests {
    private func status(
        _ world: InspectorWorld, _ url: String, _ method: HTTPRequest.Method = .get, _ headers: HTTPHeaders = [:]
    ) async throws -> Int {
        try await InProcessTransport(world.page).send(HTTPRequest(method: method, url: url, headers: headers)).status
    }

    @Test(arguments: [
        ("http://localhost:1/", 200), ("http://LOCALHOST/", 200), ("http://127.0.0.1:8080/", 200),
        ("http://[::1]:8080/", 200), ("http://evil.example/", 403), ("http://localhost.evil.example/", 403),
        ("http://127.0.0.1.evil.example/", 403), ("http://192.168.1.2/", 403),
    ])
    func `only requests to names of this machine are permitted`(url: String, expected: Int) async throws {
        #expect(try await status(InspectorWorld(), url) == expected)
        #expect(try await status(InspectorWorld(), url + "api/records") == expected)
    }

    @Test(
        arguments: [
            (.get, ["Sec-Fetch-Site": "cross-site"], 403), (.get, ["Sec-Fetch-Site": "same-site"], 403),
            (
                .get,
                ["Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"], 403
            ), (.get, ["Sec-Fetch-Site": "none", "Sec-Fetch-Mode": "navigate"], 200),
            (.get, ["Sec-Fetch-Site": "same-origin"], 200), (.get, ["Origin": "http://evil.example"], 403),
            (.get, ["Origin": "http://localhost"], 200), (.delete, [:], 403),
            (.delete, ["X-Souk-Inspector": "1", "Origin": "http://evil.example"], 403),
            (.delete, ["X-Souk-Inspector": "1", "Origin": "http://localhost:8080"], 403),
            (.delete, ["X-Souk-Inspector": "1", "Sec-Fetch-Site": "cross-site"], 403),
            (.delete, ["X-Souk-Inspector": "1", "Origin": "http://localhost"], 204),
        ] as [(HTTPRequest.Method, HTTPHeaders, Int)])
    func `another site can neither read nor change anything, and the page itself can`(
        method: HTTPRequest.Method, headers: HTTPHeaders, expected: Int
    ) async throws {
        let world = InspectorWorld()
        try await world.send("http://a.example/")
        #expect(try await status(world, "http://localhost/api/records", method, headers) == expected)
        #expect(await world.interceptor.storage.records(1, after: nil).isEmpty == (expected == 204))
    }

    @Test func `another site may link to the page, but not to its API`() async throws {
        let world = InspectorWorld { $0.access = .token("sesame") }
        let link: HTTPHeaders = [
            "Cookie": "souk_inspector=sesame", "Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate",
            "Sec-Fetch-Dest": "document",
        ]
        #expect(try await status(world, "http://192.168.1.2/", .get, link) == 200)
        for path in ["api/records", "api/state", "api/export", "api/updates", "api/trace"] {
            #expect(try await status(world, "http://192.168.1.2/" + path, .get, link) == 403, "\(path)")
        }
    }

    @Test func `no response permits cross-origin requests`() async throws {
        for path in ["/", "/api/records", "/florets/0"] {
            let answer = try await InspectorWorld().ask(path, headers: ["Origin": "http://localhost:8080"])
            #expect(!answer.headers.contains { $0.name.lowercased().hasPrefix("access-control") })
            #expect(answer.headers["Content-Security-Policy"]?.contains("frame-ancestors 'none'") == true)
            #expect(answer.headers["Content-Security-Policy"]?.contains("unsafe") == false)
        }
    }

    @Test func `a token in the URL is exchanged for a cookie, which opens the page`() async throws {
        let world = InspectorWorld { $0.access = .token("sesame") }
        let url = "http://192.168.1.2:8080/"
        #expect(try await status(world, url) == 401)
        #expect(try await status(world, url + "?token=wrong") == 401)
        #expect(try await status(world, url + "api/records?token=wrong") == 401)
        let answer = try await InProcessTransport(world.page).send(
            HTTPRequest(method: .get, url: url + "?token=sesame"))
        #expect(answer.status == 303)
        #expect(answer.headers["Location"] == "/")
        let cookie = try #require(answer.headers["Set-Cookie"])
        #expect(cookie.contains("HttpOnly") && cookie.contains("SameSite=Lax"))
        let pair = String(cookie.prefix { $0 != ";" })
        #expect(try await status(world, url, .get, ["Cookie": "a=b; " + pair]) == 200)
        #expect(try await status(world, url, .get, ["Cookie": pair + "x"]) == 401)
        #expect(try await status(world, url + "api/records", .get, ["Authorization": "Bearer sesame"]) == 200)
        #expect(try await status(world, url + "api/records", .delete, ["Cookie": pair]) == 403)
        #expect(
            try await status(world, url + "api/records", .delete, ["Cookie": pair, "X-Souk-Inspector": "1"]) == 204)
    }

    @Test func `an inspector below a path is found only there`() async throws {
        let world = InspectorWorld { $0.path = "/debug/traffic" }
        #expect(try await status(world, "http://localhost/debug/traffic") == 308)
        #expect(try await status(world, "http://localhost/debug/traffic/") == 200)
        #expect(try await status(world, "http://localhost/debug/traffic/api/records") == 200)
        #expect(try await status(world, "http://localhost/") == 404)
    }
}

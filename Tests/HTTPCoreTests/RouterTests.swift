import BaseTestSupport
import HTTPCore
import Primitives
import Testing

@Suite struct RouterTests {
    private let router = {
        var router = Router()
        func name(_ text: String) -> Router.Route { { _, _ in .ready(HTTPResponse(status: 200, body: .text(text))) } }
        router.on(.get, "/", name("root"))
        router.on(.get, "/v1/customers", name("list"))
        router.on(.get, "/v1/customers/{customer}") { _, path in
            .ready(HTTPResponse(status: 200, body: .text("customer " + path["customer"])))
        }
        router.on(.delete, "/v1/customers/{customer}/grants/{id}") { _, path in
            .ready(HTTPResponse(status: 200, body: .text("\(path["customer"]) \(path["id"])")))
        }
        router.on(.get, "/v1/customers/me", name("me"))
        router.on(.post, "/v1/customers/{customer}", name("posted"))
        router.on(.get, "/v1/customers/me/export", name("export"))
        router.on(.get, "/slow") { request, _ in .suspended { HTTPResponse(status: 202, body: .text(request.url)) } }
        return router
    }()

    private func answer(_ method: HTTPRequest.Method, _ url: String) async -> (
        status: Int, body: String, allow: String?
    ) {
        let response = await router.respond(to: HTTPRequest(method: method, url: url)).response()
        let body = String(decoding: response.body.buffered ?? [], as: UTF8.self)
        return (response.status, body, response.headers["Allow"])
    }

    @Test(arguments: [
        ("/", "root"), ("/v1/customers", "list"), ("/v1/customers?limit=2", "list"),
        ("/v1/customers/me", "me"), ("/v1/%63ustomers/m%65", "me"), ("http://host:1/v1/customers/me", "me"),
        ("/v1/customers/42", "customer 42"), ("/v1/customers/a%2Fb%20c", "customer a/b c"),
        ("/v1/customers/%C3%A9?x=/y", "customer é"), ("/v1/customers/a+b", "customer a+b"),
        ("/v1/customers/me/export", "export"),
    ])
    func `a request is passed to the route of its path`(url: String, expected: String) async {
        let answer = await answer(.get, url)
        #expect(answer.status == 200)
        #expect(answer.body == expected)
    }

    @Test func `a parameter matches if the literal segment leads to no route`() async {
        #expect(await answer(.delete, "/v1/customers/me/grants/7").body == "me 7")
        #expect(await answer(.post, "/v1/customers/me").body == "posted")
    }

    @Test(arguments: [
        "/v1", "/v1/customers/", "/v1/customers/a/", "//v1/customers", "/V1/customers", "/v1/customers/a/b", "*", "",
        "http://host", "/v1/../v1/customers",
    ])
    func `an unknown path is 404`(url: String) async throws {
        let answer = await answer(.get, url)
        #expect(answer.status == 404)
        #expect(try JSONValue(parsing: answer.body)["code"] == "not_found")
    }

    @Test func `an unknown method is 405, and the response lists the known methods`() async throws {
        let answer = await answer(.put, "/v1/customers/me")
        #expect(answer.status == 405)
        #expect(answer.allow == "GET, HEAD, POST")
        #expect(await self.answer(.post, "/v1/customers/me/export").allow == "GET, HEAD")
    }

    @Test(arguments: ["/v1/customers/%", "/v1/customers/%f", "/v1/customers/%ff", "/v1/customers/%zz"])
    func `a malformed escape in a parameter is 400`(url: String) async {
        #expect(await answer(.get, url).status == 400)
    }

    @Test func `GET routes serve HEAD`() async {
        #expect(await answer(.head, "/v1/customers").status == 200)
        #expect(await answer(.head, "/v1/customers/1/grants/2").status == 405)
    }

    @Test func `a suspended reply is passed on`() async {
        #expect(await answer(.get, "/slow?a=1").body == "/slow?a=1")
    }

    @Test func `a custom refusal keeps Allow`() async {
        var router = router
        router.refuse = { _, request in HTTPResponse(status: 418, body: .text(request.url)) }
        let response = await router.respond(to: HTTPRequest(method: .put, url: "/")).response()
        #expect(response.status == 418)
        #expect(response.headers["Allow"] == "GET, HEAD")
    }

    @Test func `an in-process transport passes the target and the host that a listener would`() async throws {
        let transport = InProcessTransport(
            AnyHTTPHandler { request in
                .suspended {
                    let host = request.headers["host"] ?? "-"
                    return HTTPResponse(status: 200, body: .text("\(request.method) \(request.url) \(host)"))
                }
            })
        let url = "http://user@example.test:81/a%20b?c=d"
        let got = try await transport.send(HTTPRequest(method: .get, url: url))
        #expect(got.body.buffered == Array("GET /a%20b?c=d example.test:81".utf8))
        #expect(try await transport.send(HTTPRequest(method: .head, url: url)).body.length == 0)
    }

    @Test func `a request over an in-process transport fails at its timeout`() async throws {
        let transport = InProcessTransport(
            AnyHTTPHandler { _ in
                .suspended {
                    _ = try? await untilCancelled()
                    return HTTPResponse(status: Task.isCancelled ? 499 : 200)
                }
            })
        await #expect(throws: HTTPError(.timeout, "")) {
            try await transport.send(HTTPRequest(method: .get, url: "http://a/", timeout: .milliseconds(20)))
        }
    }

    @Test(arguments: UnicodeForms.pairs)
    func `a parameter keeps its bytes in every Unicode form`(pair: UnicodeForms) async {
        for text in [pair.composed, pair.other] {
            for url in ["/v1/customers/\(PercentEncoding.encode(text))", "/v1/customers/\(text)"] {
                #expect(await answer(.get, url).body.hasSameBytes(as: "customer \(text)"))
            }
        }
    }

    @Test(arguments: ["%FF", "%fe", "a%80", "%C3", "%C0%80", "%ED%A0%80", "%F5%80%80%80", "caf%E9"])
    func `bytes that are not UTF-8 are refused, in a path and in a query`(escaped: String) async {
        #expect(await answer(.get, "/v1/customers/\(escaped)").status == 400)
        #expect(await answer(.delete, "/v1/customers/a/grants/\(escaped)").status == 400)
        #expect(HTTPRequest(method: .get, url: "/?q=\(escaped)").query == nil)
        #expect(HTTPRequest(method: .get, url: "/?\(escaped)=q").query == nil)
    }

    @Test(arguments: UnicodeForms.pairs)
    func `an item of a query is found by the bytes of its name`(pair: UnicodeForms) throws {
        let text = "\(PercentEncoding.encode(pair.composed))=1&\(PercentEncoding.encode(pair.other))=2"
        let query = try #require(HTTPQuery(parsing: text))
        #expect(query[pair.composed] == "1" && query[pair.other] == "2")
        #expect(query.values(pair.other) == ["2"])
    }
}

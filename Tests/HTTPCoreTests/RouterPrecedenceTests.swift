import HTTPCore
import Primitives
import Testing

@Suite struct RouterPrecedenceTests {
    /// A router whose routes respond with their patterns and parameters.
    private func router(_ patterns: [(HTTPRequest.Method, String)]) -> Router {
        var router = Router()
        for (method, pattern) in patterns {
            let names = pattern.split(separator: "/").filter { $0.hasPrefix("{") && $0.hasSuffix("}") }.map {
                String($0.dropFirst().dropLast())
            }
            router.on(method, pattern) { _, path in
                let values = names.map { "\($0)=\(path[$0])" }.joined(separator: " ")
                return .ready(HTTPResponse(status: 200, body: .text("\(method) \(pattern) \(values)")))
            }
        }
        return router
    }

    private func answer(_ router: Router, _ method: HTTPRequest.Method, _ url: String) async -> String {
        let response = await router.respond(to: HTTPRequest(method: method, url: url)).response()
        guard response.status == 200 else { return "\(response.status) \(response.headers["Allow"] ?? "")" }
        return String(decoding: response.body.buffered ?? [], as: UTF8.self)
    }

    @Test(arguments: [
        ("/a/b/c", "GET /a/b/c "), ("/a/b/d", "GET /a/{x}/d x=b"), ("/a/e/c", "GET /{z}/e/{y} z=a y=c"),
        ("/a/q/d", "GET /a/{x}/d x=q"), ("/q/e/r", "GET /{z}/e/{y} z=q y=r"), ("/a/b/q", "404 "),
        ("/a/b", "404 "), ("/a/b/c/d", "404 "), ("/a//d", "404 "), ("/a/b/c/", "404 "),
    ])
    func `the route whose earlier segments are literal is preferred, and others are tried if it does not match`(
        url: String, expected: String
    ) async {
        let router = router([(.get, "/{z}/e/{y}"), (.get, "/a/{x}/d"), (.get, "/a/b/c")])
        #expect(await answer(router, .get, url) == expected)
    }

    @Test func `parameters of a route that does not match completely are removed`() async {
        let router = router([(.get, "/{a}/{b}/x"), (.get, "/{c}/y/{d}")])
        #expect(await answer(router, .get, "/1/y/x") == "GET /{c}/y/{d} c=1 d=x")
        #expect(await answer(router, .get, "/1/2/x") == "GET /{a}/{b}/x a=1 b=2")
    }

    @Test func `routes with a parameter at the same place can name it differently`() async {
        let router = router([(.get, "/c/{id}"), (.delete, "/c/{customer}"), (.get, "/c/{name}/d")])
        #expect(await answer(router, .get, "/c/7") == "GET /c/{id} id=7")
        #expect(await answer(router, .delete, "/c/7") == "DELETE /c/{customer} customer=7")
        #expect(await answer(router, .get, "/c/7/d") == "GET /c/{name}/d name=7")
    }

    @Test func `a route for HEAD is preferred to that for GET`() async {
        let router = router([(.get, "/a"), (.head, "/a"), (.get, "/b")])
        #expect(await answer(router, .head, "/a").hasPrefix("HEAD /a"))
        #expect(await answer(router, .head, "/b").hasPrefix("GET /b"))
        #expect(await answer(router, .put, "/a") == "405 GET, HEAD")
    }

    @Test func `methods are case-sensitive, and Allow has the methods of every matching route`() async {
        let router = router([(.get, "/a/b"), (.put, "/a/{x}"), (.delete, "/{y}/b"), (.put, "/{y}/b")])
        #expect(await answer(router, "get", "/a/b") == "405 DELETE, GET, HEAD, PUT")
        #expect(await answer(router, .put, "/a/b") == "PUT /a/{x} x=b")
        #expect(await answer(router, .delete, "/a/b") == "DELETE /{y}/b y=a")
    }

    @Test(arguments: [
        ("/f/a%2Fb", "GET /f/{x} x=a/b"), ("/f/%2e%2e", "GET /f/{x} x=.."), ("/f/a+b", "GET /f/{x} x=a+b"),
        ("/f/%E6%97%A5", "GET /f/{x} x=日"), ("/f/日", "GET /f/{x} x=日"), ("/%66/a", "GET /f/{x} x=a"),
        ("/f%2Fa", "404 "), ("/f/%", "400 "), ("/f/%00", "GET /f/{x} x=\0"), ("/%/a", "404 "),
        ("/f/a?b/c", "GET /f/{x} x=a"),
        ("/f/a#b/c", "GET /f/{x} x=a"), ("https://h:1/f/a", "GET /f/{x} x=a"), ("https://h:1", "404 "),
        ("https://h?x=/f/a", "GET /f/{x} x=a"), ("f/a", "404 "), ("/F/a", "404 "),
    ])
    func `a path is split into segments before they are decoded`(url: String, expected: String) async {
        let router = router([(.get, "/f/{x}")])
        #expect(await answer(router, .get, url) == expected)
    }

    @Test func `a literal in a pattern matches its escaped form, and a single brace is a literal`()
        async
    {
        let router = router([(.get, "/a b/ü"), (.get, "/{open"), (.get, "/x{y}z")])
        #expect(await answer(router, .get, "/a%20b/%C3%BC") == "GET /a b/ü ")
        #expect(await answer(router, .get, "/%7Bopen").hasPrefix("GET /{open"))
    }

    @Test func `an invalid or repeated route, and a parameter that a route lacks, stop the program`() async {
        await #expect(processExitsWith: .failure) {
            var router = Router()
            router.on(.get, "a") { _, _ in .ready(HTTPResponse(status: 200)) }
        }
        await #expect(processExitsWith: .failure) {
            var router = Router()
            router.on(.get, "/a/{x}") { _, _ in .ready(HTTPResponse(status: 200)) }
            router.on(.get, "/a/{y}") { _, _ in .ready(HTTPResponse(status: 200)) }
        }
        await #expect(processExitsWith: .failure) {
            var router = Router()
            router.on(.get, "/{x}/{x}") { _, _ in .ready(HTTPResponse(status: 200)) }
        }
        await #expect(processExitsWith: .failure) {
            _ = PathParameters(["a": "1"])["b"]
        }
    }
}

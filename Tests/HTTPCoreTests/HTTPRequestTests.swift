import HTTPCore
import Primitives
import Testing

@Suite struct HTTPRequestTests {
    @Test(arguments: [
        ("http://host:8080/a/b%2Fc?x=1#frag", "/a/b%2Fc", "/a/b%2Fc?x=1"),
        ("https://host", "/", "/"),
        ("https://host?x=1", "/", "/?x=1"),
        ("/a//b/?", "/a//b/", "/a//b/?"),
        ("/go?to=http://other/path", "/go", "/go?to=http://other/path"),
        ("*", "*", "*"),
        ("", "/", "/"),
    ])
    func `path and target are taken from the URL undecoded`(url: String, path: String, target: String) {
        let request = HTTPRequest(method: .get, url: url)
        #expect(request.path == path)
        #expect(request.target == target)
    }

    @Test func `a query is decoded in order with repeats`() throws {
        let query = try #require(HTTPRequest(method: .get, url: "/x?a=1&b=x%20y+z&a=%C3%A9&flag&=v&c=d=e").query)
        #expect(query["a"] == "1")
        #expect(query.values("a") == ["1", "é"])
        #expect(query["b"] == "x y z")
        #expect(query["flag"] == "")
        #expect(query["c"] == "d=e")
        #expect(query["absent"] == nil)
        #expect(HTTPRequest(method: .get, url: "/x").query?.items == [])
    }

    @Test(arguments: ["a=%", "a=%2", "a=%zz", "%ff=1", "a=%C3", "a=%+1"])
    func `a query with a malformed escape is refused whole`(query: String) {
        #expect(HTTPRequest(method: .get, url: "/x?ok=1&\(query)").query == nil)
    }

    @Test(arguments: ["a b+c/d", "é", "100%", "", "a&b=c", "~-._", "\u{0}\n"])
    func `percent-encoded text decodes to the original text`(text: String) {
        let encoded = PercentEncoding.encode(text)
        #expect(PercentEncoding.decode(encoded) == text)
        #expect(encoded.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: "/") })
        let query = HTTPQuery([(text, text)])
        #expect(HTTPQuery(parsing: query.encoded) == query)
    }

    @Test func `a plus sign is itself in a path and a space in a query`() {
        #expect(PercentEncoding.decode("a+b") == "a+b")
        #expect(HTTPQuery(parsing: "q=a+b")?["q"] == "a b")
    }

    @Test func `a JSON request sets Content-Type unless the headers contain it`() {
        #expect(HTTPRequest(method: .post, url: "/", json: [:]).headers["content-type"] == "application/json")
        let own = HTTPRequest(method: .post, url: "/", headers: ["content-type": "application/x"], json: [:])
        #expect(own.headers.values("Content-Type") == ["application/x"])
    }

    @Test func `a problem carries its members and media type`() async throws {
        let response = HTTPProblem(status: 422, code: "wrongBundle", title: "T", detail: "D", field: "f").response
        #expect(response.status == 422)
        #expect(response.headers["Content-Type"] == "application/problem+json")
        #expect(
            try await response.body.json() == [
                "type": "https://souk.invalid/problems/wrongBundle", "title": "T", "status": 422, "detail": "D",
                "code": "wrongBundle", "field": "f", "retryable": false,
            ])
    }

    @Test func `errors with the same code are equal, and an error says whether a retry can help`() {
        #expect(HTTPError(.timeout, "a") == HTTPError(.timeout, "b"))
        #expect(HTTPError(.timeout, "a") != HTTPError(.cancelled, "a"))
        #expect(HTTPError(.noAnswer, "").isRetryable)
        #expect(HTTPError(.connectionLost, "").isRetryable)
        #expect(!HTTPError(.invalidURL, "").isRetryable)
        #expect(!HTTPError(.cancelled, "").isRetryable)
    }
}

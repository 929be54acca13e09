import HTTPCore
import Testing

@testable import NetworkInterception

@Suite struct RedirectTests {
    private func redirected(
        _ method: HTTPRequest.Method, _ status: Int, _ location: String, from url: String = "https://a.example/x/y?z"
    ) -> HTTPRequest? {
        HTTPRequest(
            method: method, url: url,
            headers: ["Content-Type": "text/plain", "Authorization": "secret", "Accept": "*/*"], body: .text("body")
        ).redirected(by: HTTPResponse(status: status, headers: ["location": location]))
    }

    @Test(arguments: [
        (301, "POST", "GET"), (302, "POST", "GET"), (303, "PUT", "GET"), (303, "HEAD", "HEAD"), (301, "PUT", "PUT"),
        (307, "POST", "POST"), (308, "POST", "POST"),
    ])
    func `the method after a redirect depends on the status and the method before it`(
        _ status: Int, _ method: String, _ expected: String
    ) throws {
        let next = try #require(redirected(.init(method), status, "/there"))
        #expect(next.method.rawValue == expected)
        let hasBody = method == expected
        #expect(next.body.length == (hasBody ? 4 : 0))
        #expect(next.headers.contains("content-type") == hasBody)
    }

    @Test(arguments: [
        ("/there", "https://a.example/there", true), ("z", "https://a.example/x/z", true),
        ("https://b.example/", "https://b.example/", false), ("http://a.example/", "http://a.example/", false),
        ("https://a.example:443/", "https://a.example:443/", true),
        ("https://a.example:1/", "https://a.example:1/", false),
    ])
    func `a redirect is resolved, and credentials stay within the origin`(
        _ location: String, _ url: String, _ keepsCredentials: Bool
    ) throws {
        let next = try #require(redirected(.get, 302, location))
        #expect(next.url == url)
        #expect(next.headers.contains("Authorization") == keepsCredentials)
        #expect(next.headers.contains("Accept"))
    }

    @Test func `a response that is not a redirect to http or https is not followed`() {
        #expect(redirected(.get, 200, "/there") == nil)
        #expect(redirected(.get, 304, "/there") == nil)
        #expect(redirected(.get, 302, "file:///etc/passwd") == nil)
        #expect(redirected(.get, 302, "http://") == nil)
        #expect(HTTPRequest(method: .get, url: "http://a/").redirected(by: HTTPResponse(status: 302)) == nil)
    }
}

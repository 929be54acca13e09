import HTTPCore
import Testing

/// The different responses to browsers and programs.
@Suite struct ContentNegotiationTests {
    @Test(
        arguments: [
            (nil, false), ("", false), ("*/*", false), ("application/json", false), ("text/html", true),
            ("text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,*/*;q=0.8", true),
            ("TEXT/HTML; q=0.9, */*;q=0.1", true), ("text/*", true), ("application/json, text/html;q=0.9", false),
            ("text/html, application/json", false), ("text/html;q=0", false), ("text/html;q=x", false),
            ("text/html;q=1e999, */*;q=-5", true), ("application/yaml", false), (",;,", false),
        ] as [(String?, Bool)])
    func `a request counts as a browser's if it ranks HTML above JSON`(accept: String?, isBrowser: Bool) {
        var request = HTTPRequest(method: .get, url: "/")
        request.headers["Accept"] = accept
        #expect(request.prefersHTML == isBrowser)
        let answer = HTTPResponse(yaml: Array("a: 1".utf8), for: request)
        #expect(answer.headers["Content-Type"] == (isBrowser ? "text/plain; charset=utf-8" : "application/yaml"))
        #expect(answer.headers["Content-Disposition"] == "inline" && answer.headers["Vary"] == "Accept")
    }
}

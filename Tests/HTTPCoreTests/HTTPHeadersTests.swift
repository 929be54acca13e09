import HTTPCore
import Testing

@Suite struct HTTPHeadersTests {
    @Test func `names are compared without case and keep their spelling and order`() {
        let headers: HTTPHeaders = ["X-Trace": "1", "ETag": "\"a\"", "x-trace": "2"]
        #expect(headers["etag"] == "\"a\"")
        #expect(headers["X-TRACE"] == "1")
        #expect(headers.values("x-Trace") == ["1", "2"])
        #expect(headers.map(\.name) == ["X-Trace", "ETag", "x-trace"])
    }

    @Test func `names that differ by more than the case of letters are different`() {
        let headers: HTTPHeaders = ["x-a@": "1", "x-[": "2"]
        #expect(headers["X-A`"] == nil)
        #expect(headers["x-{"] == nil)
        #expect(headers["x-a"] == nil)
    }

    @Test func `setting replaces the first line in place and removes the others`() {
        var headers: HTTPHeaders = ["A": "1", "B": "2", "a": "3", "C": "4"]
        headers["a"] = "9"
        #expect(headers == ["a": "9", "B": "2", "C": "4"])
        headers["D"] = "5"
        #expect(headers.map(\.name) == ["a", "B", "C", "D"])
        headers["b"] = nil
        headers["absent"] = nil
        #expect(headers.map(\.name) == ["a", "C", "D"])
    }

    @Test(arguments: ["", "bad name", "a:b", "naïve", "a\r\nb"])
    func `a name that is not a token is refused`(name: String) {
        #expect(throws: HTTPError(.invalidHeader, "")) { try HTTPHeaders([.init(name: name, value: "x")]).validate() }
    }

    @Test(arguments: ["a\r\nInjected: 1", "a\nb", "a\rb", "a\0b"])
    func `a value with a line break or NUL is refused, and the error does not contain it`(value: String) throws {
        let error = try #require(throws: HTTPError.self) {
            try HTTPHeaders(dictionaryLiteral: ("Cookie", value)).validate()
        }
        #expect(error.code == .invalidHeader)
        #expect(error.reason.contains("Cookie") && !error.reason.contains(value))
    }

    @Test func `secrets are replaced and everything else is kept`() {
        let headers: HTTPHeaders = [
            "AUTHORIZATION": "Bearer s", "Accept": "*/*", "X-API-Key": "s", "souk-customer-token": "s",
            "Set-Cookie": "s", "Proxy-Authorization": "s", "Cookie": "s",
        ]
        let redacted = headers.redacted()
        #expect(redacted.map(\.name) == headers.map(\.name))
        #expect(redacted["accept"] == "*/*")
        #expect(redacted.filter { $0.value == SensitiveHeaders.replacement }.count == 6)
        let more = headers.redacted(.standard.adding(["ACCEPT"]))
        #expect(more["Accept"] == SensitiveHeaders.replacement)
    }
}

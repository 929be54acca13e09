import Foundation
import HTTPCore
import NetworkInterception
import Testing

@Suite struct RecordSelectorTests {
    /// Whether an interceptor with this selector keeps a record of the exchange.
    private func keeps(
        _ selector: RecordSelector, _ request: HTTPRequest, _ response: HTTPResponse = HTTPResponse(status: 200)
    ) async throws -> Bool {
        let interceptor = Interceptor.running([]) { $0.recordSelector = selector }
        _ = try await interceptor.transport(wrapping: AnyTransport { _ in response }).send(request)
        return await !interceptor.records.isEmpty
    }

    private func get(_ url: String) -> HTTPRequest { HTTPRequest(method: .get, url: url) }

    @Test(arguments: [
        ("a.example", "http://A.Example/x", true), ("a.example", "http://a.example:8080/", true),
        ("a.example:8080", "http://a.example:8080/", true), ("a.example:8080", "http://a.example/", false),
        ("a.example", "http://b.a.example/", false), ("*.example", "http://a.example/", true),
        ("*.example", "http://example/", false), ("*.example", "http://badexample/", false),
        ("[::1]", "http://[::1]:80/", true), ("[::1]:80", "http://[::1]:80/", true), ("[::1]", "http://[::2]/", false),
        ("a.example", "http://user@a.example/", true), ("user", "http://user@a.example/", false),
    ])
    func `a host pattern selects hosts, with or without a port`(_ pattern: String, _ url: String, _ isSelected: Bool)
        async throws
    {
        #expect(try await keeps(.host(pattern), get(url)) == isSelected)
    }

    @Test(arguments: [
        ("/v1/*", "http://a/v1/x", true), ("/v1/*", "http://a/v1/x/y", false), ("/v1/**", "http://a/v1/x/y", true),
        ("/", "http://a", true), ("/v1", "http://a/v1?q=1", true), ("/v1", "http://a/V1", false),
        ("**.png", "http://a/b/c.png", true), ("/*/*", "http://a/b", false), ("/a*c", "http://a/abc", true),
        ("", "http://a/b", false), ("***", "http://a/b/c", true),
    ])
    func `a path pattern selects paths, where a star matches within a segment and two stars match across segments`(
        _ pattern: String, _ url: String, _ isSelected: Bool
    ) async throws {
        #expect(try await keeps(.path(pattern), get(url)) == isSelected)
    }

    @Test func `a pattern of many stars is matched without exponential time`() async throws {
        let selector = RecordSelector.path(String(repeating: "*a", count: 200))
        #expect(try await !keeps(selector, get("http://a/" + String(repeating: "a", count: 4000) + "b")))
    }

    @Test func `a maximum size is compared with the sent bytes and with an announced length`() async throws {
        let three = HTTPRequest(method: .post, url: "http://a/", body: .bytes([1, 2, 3]))
        #expect(try await keeps(.max(bytesize: 3), three))
        #expect(try await !keeps(.max(bytesize: 2), three))
        let answer = HTTPResponse(status: 200, body: .bytes([1, 2, 3]))
        #expect(try await keeps(.max(bytesize: 3), getRoot, answer))
        #expect(try await !keeps(.max(bytesize: 2), getRoot, answer))
        let announced = HTTPResponse(
            status: 200, headers: ["Content-Length": "9"], body: .stream(HTTPBodyStream(next: { nil })))
        #expect(try await !keeps(.max(bytesize: 8), getRoot, announced))
        #expect(
            try await keeps(.max(bytesize: 8), getRoot, HTTPResponse(status: 200, body: .stream(.init(next: { nil })))))
    }

    @Test func `a media type is compared with that of the answer`() async throws {
        let answer = HTTPResponse(status: 200, headers: ["content-type": "Image/PNG; q=1"])
        #expect(try await keeps(.contentType("image/png"), getRoot, answer))
        #expect(try await keeps(.contentType("image/*"), getRoot, answer))
        #expect(try await !keeps(.contentType("text/*"), getRoot, answer))
        #expect(try await !keeps(.contentType("image/png"), getRoot))
    }

    @Test func `selectors can be combined with and, or and not`() async throws {
        let get = RecordSelector.method(.get)
        #expect(try await keeps(get && .host("a"), getRoot))
        #expect(try await !keeps(get && .host("b"), getRoot))
        #expect(try await keeps(.method(.put) || .all(), getRoot))
        #expect(try await !keeps(!get, getRoot))
    }
}

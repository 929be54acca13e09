import CurlTransport
import HTTPCore
import NetworkInterception
import NetworkTestSupport
import Primitives
import Testing

/// Florets between a real client and a real server.
@Suite(.timeLimit(.minutes(1)))
struct FloretsOnTheWireTests {
    /// Returns the body of the request. The header X-Length has its length or its transfer encoding.
    private let echo = AnyHTTPHandler { request in
        .suspended {
            let body = (try? await request.body.collect(upTo: 1 << 20)) ?? []
            let length = request.headers["Content-Length"] ?? request.headers["Transfer-Encoding"] ?? "none"
            return HTTPResponse(
                status: 200, headers: ["Content-Type": "text/plain", "X-Length": length, "ETag": "\"1\""],
                body: .bytes(body))
        }
    }

    private func send(
        _ florets: [any Floret], _ body: HTTPBody, headers: HTTPHeaders = [:],
        _ look: (Response) async throws -> Void
    ) async throws {
        try await withLoopbackServer(echo) { url in
            let interceptor = Interceptor(florets)
            interceptor.run()
            let answer = try await interceptor.transport(wrapping: loopbackTransport()).send(
                HTTPRequest(method: .post, url: url + "/", headers: headers, body: body))
            try await look(answer)
        }
    }

    @Test func `changed bodies of requests and responses have the right Content-Length`() async throws {
        let floret = FindReplaceFloret(
            willRequest: [.body(replacing: .literal("cat"), with: "elephant")],
            didRespond: [.body(replacing: .literal("elephant"), with: "ox")])
        try await send([floret], .text("a cat"), headers: ["Content-Length": "5"]) { answer in
            #expect(answer.headers["X-Length"] == "10")
            let text = try await answer.body.text()
            #expect(text == "a ox")
            #expect(answer.headers["Content-Length"] == "4")
        }
    }

    @Test func `a buffered stream is sent with Content-Length, and a stream over the limit in chunks`() async throws {
        try await send([BodyStreamFloret()], .pieces("abc", "def")) { #expect($0.headers["X-Length"] == "6") }
        let long = HTTPBody.stream(HTTPBodyStream(next: Self.pieces("abc", "def")))
        try await send([BodyStreamFloret(maximumConvertedByteSize: 4)], long) { answer in
            #expect(answer.headers["X-Length"] == "chunked")
            let text = try await answer.body.text()
            #expect(text == "abcdef")
        }
    }

    private static func pieces(_ texts: String...) -> @Sendable () -> [UInt8]? {
        let rest = Locked(texts.map { Array($0.utf8) }[...])
        return { rest.withLock { $0.popFirst() } }
    }

    @Test func `a megabyte passes unchanged through florets that do not change it`() async throws {
        let whole = (0..<1 << 20).map { UInt8(truncatingIfNeeded: $0 &* 31) }
        let florets: [any Floret] = [
            InspectorFloret(), BodyStreamFloret(), FindReplaceFloret(willRequest: [.header(.set("X-A", "1"))]),
            MapRemoteFloret([.init("m", from: .init(host: "nobody.example"), to: .init(port: 1))]),
            ThrottleFloret(.init(up: 10_000, down: 10_000)) { _ in }, FaultFloret([]), MockFloret(),
        ]
        let chunks = stride(from: 0, to: whole.count, by: 60_000).map {
            Array(whole[$0..<min($0 + 60_000, whole.count)])
        }
        try await send(florets, .stream(HTTPBodyStream(chunks))) { answer in
            let came = try await answer.body.collect(upTo: 1 << 20)
            #expect(came == whole)
            #expect(answer.headers["ETag"] == "\"1\"")
        }
    }

    @Test func `a connection that ends during the response fails the reader of the body`() async throws {
        try await send([FaultFloret([.init(.drop(.inAnswer))])], .text("0123456789")) { answer in
            #expect(answer.status == 200)
            await #expect(throws: HTTPError(.connectionLost, "")) { try await answer.body.collect(upTo: 100) }
        }
    }

    @Test func `a client of a proxy receives the reason for a missing mock`() async throws {
        let interceptor = Interceptor([MockFloret(.mock(forced: true))])
        interceptor.run()
        let proxy = try ReverseProxy(
            upstream: "http://127.0.0.1:9", over: interceptor.transport(wrapping: loopbackTransport()))
        try await withLoopbackServer(proxy) { url in
            let answer = try await loopbackTransport().send(HTTPRequest(method: .get, url: url + "/x"))
            #expect(answer.status == 502)
            let detail = try await answer.body.json()["detail"]?.stringValue
            #expect(detail == "No mock for GET http://127.0.0.1:9/x: there are no recordings.")
        }
    }
}

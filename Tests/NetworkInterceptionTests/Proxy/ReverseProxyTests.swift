import BaseTestSupport
import Foundation
import HTTPCore
import NetworkInterception
import NetworkTestSupport
import Primitives
import StoreTestSupport
import Testing

/// A reverse proxy between a real client and a real server.
@Suite(.timeLimit(.minutes(2))) struct ReverseProxyTests {
    /// Sends `request` through a proxy to a server that responds with the bytes `answer`. Returns the result of the
    /// client, and the head of the request that the server received.
    private func exchange(
        _ request: HTTPRequest, to path: String = "", preservesHost: Bool = false, answering answer: String
    ) async throws -> (answer: Result<HTTPResponse, any Error>, head: String) {
        let head = ReceivedHead()
        let server = try ScriptedServer([
            { peer in
                head.text.withLock { $0 = peer.receive(until: "\r\n\r\n") }
                peer.send(answer)
            }
        ])
        let proxy = try ReverseProxy(
            upstream: server.url + path, over: loopbackTransport(), preservesHost: preservesHost)
        return try await withLoopbackServer(proxy) { url in
            var request = request
            request.url = url + request.url
            do {
                var response = try await loopbackTransport().send(request)
                response.body = .bytes(try await response.body.collect(upTo: 1 << 20))
                return (
                    .success(response), head.text.withLock { $0 }.replacingOccurrences(of: server.url, with: "SERVER")
                )
            } catch {
                return (.failure(error), head.text.withLock { $0 })
            }
        }
    }

    private final class ReceivedHead: Sendable { let text = Locked("") }

    private let ok = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

    @Test func `end-to-end headers pass with their spelling and order`() async throws {
        let request = HTTPRequest(
            method: "REPORT", url: "/a%2Fb/../c?x=%20&x",
            headers: [
                "X-oDD": "1", "Connection": "keep-alive, X-Hop", "X-Hop": "gone", "TE": "gzip", "Accept-Encoding": "br",
                "x-Odd": "2",
            ])
        let (answer, head) = try await exchange(
            request,
            answering: "HTTP/1.1 207 Multi\r\nset-cookie: a=1\r\nX-B: 1\r\nSet-Cookie: b=2\r\nContent-Encoding: br\r\n"
                + "Connection: close, X-Gone\r\nX-Gone: 1\r\nContent-Length: 3\r\n\r\n\u{1}\u{2}\u{3}")
        #expect(head.hasPrefix("REPORT /a%2Fb/../c?x=%20&x HTTP/1.1\r\n"))
        let lines = head.split(separator: "\r\n").dropFirst().map(String.init)
        #expect(lines.filter { $0.lowercased().hasPrefix("x-") } == ["X-oDD: 1", "x-Odd: 2"])
        #expect(!lines.contains { $0.hasPrefix("TE") || $0.hasPrefix("Via") || $0.hasPrefix("X-Forwarded") })
        let response = try answer.get()
        #expect(response.status == 207)
        #expect(response.headers.values("Set-Cookie") == ["a=1", "b=2"])
        #expect(response.headers.contains { $0.name == "set-cookie" })
        #expect(response.headers["X-Gone"] == nil)
        #expect(response.headers["Content-Encoding"] == "br")
        #expect(response.body.buffered == [1, 2, 3])
    }

    @Test func `the server receives its own host, or optionally the client's`() async throws {
        for preservesHost in [false, true] {
            let (answer, head) = try await exchange(
                HTTPRequest(method: .get, url: "/", headers: ["Host": "shop.example"]), to: "/base/",
                preservesHost: preservesHost, answering: ok)
            #expect(try answer.get().body.buffered == Array("ok".utf8))
            #expect(head.hasPrefix("GET /base/ HTTP/1.1"))
            #expect(head.contains("Host: shop.example\r\n") == preservesHost)
        }
    }

    @Test func `a redirect to the server is changed to the proxy, and any other is unchanged`() async throws {
        let server = Locked("")
        let handler = AnyHTTPHandler { request in
            let place =
                request.target == "/base/in" ? server.withLock { $0 } + "/base/next?x=1" : "https://else.example/"
            return .ready(HTTPResponse(status: 302, headers: ["Location": place]))
        }
        try await withLoopbackServer(handler) { upstream in
            server.withLock { $0 = upstream }
            let proxy = try ReverseProxy(upstream: upstream + "/base", over: loopbackTransport())
            try await withLoopbackServer(proxy) { url in
                let answer = try await loopbackTransport().send(HTTPRequest(method: .get, url: url + "/in"))
                #expect(answer.headers["Location"] == url + "/next?x=1")
                let other = try await loopbackTransport().send(HTTPRequest(method: .get, url: url + "/out"))
                #expect(other.headers["Location"] == "https://else.example/")
            }
        }
    }

    @Test(arguments: [
        ("/base/next", "/next"), ("/base", "/"), ("/base?x=1", "/?x=1"), ("SERVER/base", "HERE"),
        ("SERVER/base?x=1", "HERE?x=1"), ("SERVER/base/next", "HERE/next"), ("SERVER/other", nil),
        ("SERVER/basement", nil), ("SERVER0/base/x", nil), ("next", nil), ("?x=1", nil), ("//else.example/base", nil),
        ("/other", "SERVER/other"), ("/basement", "SERVER/basement"),
    ])
    func `redirects are rewritten for a server URL with a path`(
        location: String, expected: String?
    ) async throws {
        let server = "http://shop.example:8080"
        let location = location.replacing("SERVER", with: server)
        let handler = AnyHTTPHandler { _ in .ready(HTTPResponse(status: 302, headers: ["Location": location])) }
        let proxy = try ReverseProxy(upstream: server + "/base", over: InProcessTransport(handler))
        let reply = await proxy.respond(
            to: HTTPRequest(method: .get, url: "/in", headers: ["Host": "here.example"])
        ).response()
        let place = expected.map {
            $0.replacing("SERVER", with: server).replacing("HERE", with: "http://here.example")
        }
        #expect(reply.headers["Location"] == place ?? location)
    }

    @Test func `Expect is not forwarded, because the listener has sent 100 Continue`() async throws {
        let handler = AnyHTTPHandler { .ready(HTTPResponse(status: $0.headers.contains("Expect") ? 417 : 200)) }
        let proxy = try ReverseProxy(upstream: "http://shop.example", over: InProcessTransport(handler))
        let request = HTTPRequest(method: .put, url: "/", headers: ["Expect": "100-continue"], body: .text("x"))
        #expect(await proxy.respond(to: request).response().status == 200)
    }

    @Test func `an upload and a long answer pass completely`() async throws {
        let handler = AnyHTTPHandler { request in
            let body = request.body.buffered ?? []
            return .ready(
                HTTPResponse(status: 200, body: .stream(HTTPBodyStream((0..<40).map { _ in body }))))
        }
        try await withLoopbackServer(handler) { upstream in
            let interceptor = Interceptor([])
            interceptor.run()
            let proxy = try ReverseProxy(
                upstream: upstream, over: interceptor.transport(wrapping: loopbackTransport()))
            try await withLoopbackServer(proxy) { url in
                let body = (0..<100_000).map { UInt8(truncatingIfNeeded: $0 &* 31) }
                let answer = try await loopbackTransport().send(
                    HTTPRequest(method: .put, url: url + "/", body: .bytes(body)))
                let received = try await answer.body.collect(upTo: 1 << 24)
                #expect(received.count == 4_000_000)
                #expect(Array(received.suffix(100_000)) == body)
            }
            await interceptor.settled()
            let record = try #require(await interceptor.storage.records(1, after: nil).first)
            #expect(record.bodies.response == .init(byteCount: 4_000_000, isCut: true))
        }
    }

    @Test func `a broken server connection closes the client's connection`() async throws {
        let (silent, _) = try await exchange(HTTPRequest(method: .post, url: "/", body: .text("x")), answering: "")
        #expect(throws: HTTPError(.noAnswer, "")) { try silent.get() }
        let (half, _) = try await exchange(
            HTTPRequest(method: .get, url: "/"),
            answering: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n")
        #expect(throws: HTTPError.self) { try half.get() }
    }

    @Test func `a missing server gives a 502, and a server that takes too long gives a 504`() async throws {
        for (error, status, code) in [
            (HTTPError(.connectionFailed, "No connection."), 502, "upstream_connectionFailed"),
            (HTTPError(.timeout, "Too long."), 504, "upstream_timeout"),
        ] {
            let proxy = try ReverseProxy(upstream: "http://a", over: ScriptedTransport([.fail(error)]))
            let answer = await proxy.respond(to: HTTPRequest(method: .get, url: "/")).response()
            #expect(answer.status == status)
            #expect(HTTPProblem(parsing: answer.body.buffered ?? [])?.code == code)
        }
    }

    @Test func `WebSockets and forward proxying are refused, and other upgrades are removed`() async throws {
        let proxy = try ReverseProxy(
            upstream: "http://a",
            over: ScriptedTransport([
                .perform { request in
                    #expect(request.headers["Upgrade"] == nil && request.headers["HTTP2-Settings"] == nil)
                    return HTTPResponse(status: 200)
                }
            ]))
        let upgrade: HTTPHeaders = ["Connection": "Upgrade", "Upgrade": "WebSocket", "Sec-WebSocket-Version": "13"]
        let webSocket = await proxy.respond(to: HTTPRequest(method: .get, url: "/", headers: upgrade)).response()
        #expect(webSocket.status == 501)
        let forward = await proxy.respond(to: HTTPRequest(method: .get, url: "http://b/")).response()
        #expect(forward.status == 421)
        let foreign = await proxy.respond(to: HTTPRequest(method: .get, url: "/caf\u{E9}")).response()
        #expect(foreign.status == 400)
        let http2: HTTPHeaders = ["Connection": "Upgrade, HTTP2-Settings", "Upgrade": "h2c", "HTTP2-Settings": "AA"]
        #expect(await proxy.respond(to: HTTPRequest(method: .get, url: "/", headers: http2)).response().status == 200)
    }

    @Test(arguments: ["", "shop.example", "ftp://a", "http://", "http://a?x=1", "http://u:p@a/"])
    func `an invalid address of the server is refused`(upstream: String) {
        #expect(throws: HTTPError(.invalidURL, "")) {
            try ReverseProxy(upstream: upstream, over: ScriptedTransport([]))
        }
    }
}

import BaseTestSupport
import CurlTransport
import Foundation
import HTTPCore
import NetworkTestSupport
import Primitives
import Testing

@Suite struct ExchangeTests {
    /// Returns the head of the request as the server received it.
    private func received(_ request: (String) -> HTTPRequest, marks: String = "\r\n\r\n") async throws -> String {
        let head = Locked("")
        let server = try ScriptedServer { peer in
            let text = peer.receive(until: marks)
            head.withLock { $0 = text }
            peer.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok")
        }
        let answer = try await CurlTransport().send(request(server.url))
        #expect(answer.body.buffered == Array("ok".utf8))
        return head.withLock { $0 }
    }

    @Test func `a request has its own headers and Host, and no others`() async throws {
        let text = try await received { url in
            HTTPRequest(
                method: .get, url: url + "/a/../%2F?x=%20&y=%ff#fragment",
                headers: ["x-ONE": "1", "X-Empty": "", "x-one": "2", "Cookie": "a=b"])
        }
        let lines = text.components(separatedBy: "\r\n").filter { !$0.isEmpty }
        #expect(lines.first == "GET /a/../%2F?x=%20&y=%ff HTTP/1.1")
        #expect(lines.filter { $0.hasPrefix("Host: 127.0.0.1:") }.count == 1)
        #expect(
            lines.dropFirst().filter { !$0.hasPrefix("Host:") } == ["x-ONE: 1", "X-Empty:", "x-one: 2", "Cookie: a=b"])
    }

    @Test func `a long body adds only Content-Length`() async throws {
        let body = [UInt8](repeating: UInt8(ascii: "b"), count: 2 << 20)
        let text = try await received(
            { url in
                HTTPRequest(
                    method: .post, url: url, headers: ["Content-Length": "7", "content-type": "text/x"],
                    body: .bytes(body + Array("END".utf8)))
            }, marks: "END")
        let head = text.components(separatedBy: "\r\n\r\n")[0].components(separatedBy: "\r\n").dropFirst()
        #expect(head.map { $0.prefix { $0 != ":" } }.sorted() == ["Content-Length", "Host", "content-type"])
        #expect(head.contains("Content-Length: \((2 << 20) + 3)"))
        #expect(text.utf8.count - text.components(separatedBy: "\r\n\r\n")[0].utf8.count - 4 == (2 << 20) + 3)
    }

    @Test(arguments: [("POST", true), ("PUT", true), ("PATCH", true), ("DELETE", false), ("OPTIONS", false)])
    func `a request without a body has a Content-Length only if its method expects a body`(
        method: String, hasLength: Bool
    )
        async throws
    {
        let text = try await received { HTTPRequest(method: .init(method), url: $0) }
        #expect(text.hasPrefix("\(method) / HTTP/1.1\r\n"))
        #expect(text.contains("Content-Length: 0\r\n") == hasLength)
    }

    @Test func `an answer's headers keep spelling, order, repeats and unusual bytes`() async throws {
        let server = try ScriptedServer { peer in
            _ = peer.receive(until: "\r\n\r\n")
            peer.send("HTTP/1.1 100 Continue\r\nX-Interim: 1\r\n\r\nHTTP/1.1 299 Odd Enough\r\n")
            peer.send("eTaG: \"x\"\r\nSet-Cookie: a=1\r\nX-Fold: a\r\n b\r\nset-cookie:b=2  \r\nX-Empty:\r\n")
            peer.send(Array("X-Latin: caf".utf8) + [0xE9, 13, 10])
            peer.send("Content-Encoding: gzip\r\nContent-Length: 4\r\n\r\nnope")
        }
        let answer = try await CurlTransport().send(HTTPRequest(method: .get, url: server.url))
        #expect(answer.status == 299)
        #expect(
            answer.headers == [
                "eTaG": "\"x\"", "Set-Cookie": "a=1", "X-Fold": "a b", "set-cookie": "b=2", "X-Empty": "",
                "X-Latin": "café", "Content-Encoding": "gzip", "Content-Length": "4",
            ])
        #expect(answer.body.buffered == Array("nope".utf8))
    }

    @Test(arguments: [301, 302, 307, 401, 404, 500])
    func `an error status and a redirect are returned as answers, and no redirect is followed`(status: Int) async throws
    {
        let calls = Locked(0)
        let handler = AnyHTTPHandler { _ in
            calls.withLock { $0 += 1 }
            return .ready(
                HTTPResponse(
                    status: status, headers: ["Location": "/other", "WWW-Authenticate": "Basic realm=\"x\""],
                    body: .text("body")))
        }
        try await withLoopbackServer(handler) { url in
            let answer = try await CurlTransport().send(HTTPRequest(method: .get, url: url))
            #expect(answer.status == status)
            #expect(answer.headers["Location"] == "/other")
            #expect(answer.body.buffered == Array("body".utf8))
            #expect(calls.withLock { $0 } == 1)
        }
    }

    @Test func `HEAD, 204 and 304 have no body`() async throws {
        let handler = AnyHTTPHandler { request in
            .ready(HTTPResponse(status: Int(request.path.dropFirst()) ?? 200, body: .text("hello")))
        }
        try await withLoopbackServer(handler) { url in
            let transport = CurlTransport()
            let head = try await transport.send(HTTPRequest(method: .head, url: url + "/200"))
            #expect(head.headers["Content-Length"] == "5")
            #expect(head.body.buffered == [])
            for status in [204, 304] {
                let answer = try await transport.send(HTTPRequest(method: .get, url: url + "/\(status)"))
                #expect(answer.status == status)
                #expect(answer.body.buffered == [])
            }
            await transport.shutdown()
        }
    }

    @Test func `bytes of every value pass unchanged in both directions`() async throws {
        let bytes = (0..<700_000).map { UInt8(truncatingIfNeeded: $0 &* 7 &+ $0 >> 8) }
        let handler = AnyHTTPHandler { .ready(HTTPResponse(status: 200, body: $0.body)) }
        try await withLoopbackServer(handler) { url in
            for method in [HTTPRequest.Method.post, .put, .patch, .delete, "PURGE"] {
                let answer = try await CurlTransport().send(
                    HTTPRequest(method: method, url: url, body: .bytes(bytes)))
                #expect(answer.body.buffered == bytes)
            }
        }
    }

    @Test func `a thousand requests one after another share a connection`() async throws {
        let server = try ScriptedServer { peer in
            for number in 0..<1000 {
                guard peer.receive(until: "\r\n\r\n").hasPrefix("GET /\(number) ") else { return }
                peer.send("HTTP/1.1 200 OK\r\nContent-Length: \(String(number).utf8.count)\r\n\r\n\(number)")
            }
        }
        let transport = CurlTransport()
        for number in 0..<1000 {
            let answer = try await transport.send(HTTPRequest(method: .get, url: "\(server.url)/\(number)"))
            #expect(answer.body.buffered == Array(String(number).utf8))
        }
        await transport.shutdown()
    }

    @Test func `many concurrent requests each get their own answer, over few connections`() async throws {
        let open = Locked((now: 0, most: 0))
        let handler = AnyHTTPHandler { request in
            .suspended {
                open.withLock { open in
                    open.now += 1
                    open.most = max(open.most, open.now)
                }
                await letOthersRun()
                open.withLock { $0.now -= 1 }
                return HTTPResponse(status: 200, body: request.body)
            }
        }
        try await withLoopbackServer(handler) { url in
            var configuration = CurlTransport.Configuration()
            configuration.maximumConnectionsPerHost = 8
            let transport = CurlTransport(configuration: configuration)
            try await withThrowingTaskGroup(of: Bool.self) { group in
                for number in 0..<64 {
                    group.addTask {
                        for round in 0..<10 {
                            let body = HTTPBody.text("\(number)/\(round)")
                            let answer = try await transport.send(HTTPRequest(method: .post, url: url, body: body))
                            if answer.body.buffered != body.buffered { return false }
                        }
                        return true
                    }
                }
                for try await isRight in group { #expect(isRight) }
            }
            #expect(open.withLock { $0.most } <= 8)
            await transport.shutdown()
        }
    }
}

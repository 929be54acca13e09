import BaseTestSupport
import CurlTransport
import Foundation
import HTTPCore
import NetworkTestSupport
import Primitives
import Testing

@Suite struct StreamTests {
    @Test func `an answer of unknown length is read while it is still being sent`() async throws {
        let gate = DispatchSemaphore(value: 0)
        let server = try ScriptedServer { peer in
            _ = peer.receive(until: "\r\n\r\n")
            peer.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\none\r\n")
            gate.wait()
            peer.send("3\r\ntwo\r\n0\r\nX-Trailer: 1\r\n\r\n")
        }
        let answer = try await CurlTransport().send(HTTPRequest(method: .get, url: server.url))
        guard case .stream(let stream) = answer.body else { throw HTTPError(.protocolError, "no stream") }
        #expect(stream.length == nil)
        #expect(try await stream.next() == Array("one".utf8))
        gate.signal()
        #expect(try await stream.next() == Array("two".utf8))
        #expect(try await stream.next() == nil)
        #expect(answer.headers["X-Trailer"] == nil)
    }

    @Test func `a long answer waits for its reader`() async throws {
        let sent = Locked(0)
        let total = 64 << 20
        let server = try ScriptedServer { peer in
            _ = peer.receive(until: "\r\n\r\n")
            peer.send("HTTP/1.1 200 OK\r\nContent-Length: \(total)\r\n\r\n")
            let block = [UInt8](repeating: 7, count: 1 << 16)
            for _ in 0..<(total / block.count) {
                peer.send(block)
                sent.withLock { $0 += block.count }
            }
        }
        let answer = try await CurlTransport().send(HTTPRequest(method: .get, url: server.url))
        guard case .stream(let stream) = answer.body else { throw HTTPError(.protocolError, "no stream") }
        #expect(stream.length == total)
        var count = try await stream.next()?.count ?? 0
        #expect(sent.withLock { $0 } < total)
        while let chunk = try await stream.next() { count += chunk.count }
        #expect(count == total)
    }

    @Test func `a streamed request arrives whole, in chunks or with its length`() async throws {
        let handler = AnyHTTPHandler { request in
            let kind = request.headers["Transfer-Encoding"] ?? request.headers["Content-Length"] ?? "-"
            return .ready(HTTPResponse(status: 200, headers: ["X-Kind": kind], body: request.body))
        }
        try await withLoopbackServer(handler) { url in
            let transport = CurlTransport()
            let chunks = (0..<50).map { [UInt8](repeating: UInt8($0), count: $0 * 300) }
            let whole = Array(chunks.joined())
            let known = try await transport.send(
                HTTPRequest(method: .put, url: url, body: .stream(HTTPBodyStream(chunks))))
            #expect(known.headers["X-Kind"] == String(whole.count))
            #expect(known.body.buffered == whole)
            let rest = Locked(chunks[...])
            let stream = HTTPBodyStream {
                await letOthersRun()
                return rest.withLock { $0.popFirst() }
            }
            let unknown = try await transport.send(HTTPRequest(method: .post, url: url, body: .stream(stream)))
            #expect(unknown.headers["X-Kind"] == "chunked")
            #expect(unknown.body.buffered == whole)
            await transport.shutdown()
        }
    }

    @Test(arguments: [3, 30]) func `a streamed request without its stated length fails`(announced: Int)
        async throws
    {
        let handler = AnyHTTPHandler { _ in .ready(HTTPResponse(status: 200)) }
        try await withLoopbackServer(handler) { url in
            let chunks = Locked([[UInt8]](repeating: [1, 2, 3, 4, 5], count: 2)[...])
            let stream = HTTPBodyStream(length: announced) { chunks.withLock { $0.popFirst() } }
            await #expect(throws: HTTPError(.bodyFailed, "")) {
                try await CurlTransport().send(HTTPRequest(method: .put, url: url, body: .stream(stream)))
            }
        }
    }

    @Test func `an error of the request stream fails the exchange with its reason`() async throws {
        struct Broken: Error {}
        let handler = AnyHTTPHandler { _ in .ready(HTTPResponse(status: 200)) }
        try await withLoopbackServer(handler) { url in
            let stream = HTTPBodyStream { throw Broken() }
            let error = try await #require(throws: HTTPError.self) {
                try await CurlTransport().send(HTTPRequest(method: .put, url: url, body: .stream(stream)))
            }
            #expect(error.code == .bodyFailed)
            #expect(error.underlying is Broken)
        }
    }

    @Test func `dropping an answer's stream ends the transfer`() async throws {
        let hasEnded = Gate()
        let server = try ScriptedServer { peer in
            _ = peer.receive(until: "\r\n\r\n")
            peer.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\none\r\n")
            if peer.waitForEnd() { hasEnded.open() }
        }
        do {
            let answer = try await CurlTransport().send(HTTPRequest(method: .get, url: server.url))
            guard case .stream(let stream) = answer.body else { throw HTTPError(.protocolError, "no stream") }
            #expect(try await stream.next() == Array("one".utf8))
        }
        try await hasEnded.pass()
    }

    @Test func `cancelling the reader ends the transfer`() async throws {
        let hasEnded = Gate()
        let server = try ScriptedServer { peer in
            _ = peer.receive(until: "\r\n\r\n")
            peer.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\none\r\n")
            if peer.waitForEnd() { hasEnded.open() }
        }
        let transport = CurlTransport()
        let answer = try await transport.send(HTTPRequest(method: .get, url: server.url))
        let reader = Task { try await answer.body.collect(upTo: 100) }
        reader.cancel()
        await #expect(throws: HTTPError(.cancelled, "")) { try await reader.value }
        try await hasEnded.pass()
        await transport.shutdown()
    }

    @Test func `an answer cut short fails, buffered or streamed`() async throws {
        for head in ["Content-Length: 10", "Transfer-Encoding: chunked"] {
            let server = try ScriptedServer { peer in
                _ = peer.receive(until: "\r\n\r\n")
                peer.send("HTTP/1.1 200 OK\r\n\(head)\r\n\r\n5\r\nab")
            }
            await #expect(throws: HTTPError(.connectionLost, "")) {
                let answer = try await CurlTransport().send(HTTPRequest(method: .get, url: server.url))
                _ = try await answer.body.collect(upTo: 100)
            }
        }
    }
}

import BaseTestSupport
import CurlTransport
import Foundation
import HTTPCore
import NetworkTestSupport
import Primitives
import Testing

@Suite struct FailureTests {
    private func error(_ request: HTTPRequest, _ transport: CurlTransport = CurlTransport()) async throws -> HTTPError {
        try await #require(throws: HTTPError.self) { try await transport.send(request) }
    }

    @Test(arguments: [
        "", "/path", "ftp://127.0.0.1/", "file:///etc/hostname", "http://", "http:///x", "http://a b/", "http://é/",
        "http://127.0.0.1/\n", "127.0.0.1:80", "http://[::1/",
    ])
    func `a URL that is not absolute http or https is refused`(url: String) async throws {
        #expect(try await error(HTTPRequest(method: .get, url: url)).code == .invalidURL)
    }

    @Test func `headers and methods that would break the message are refused`() async throws {
        let url = "http://127.0.0.1:1/"
        let split = HTTPRequest(method: .get, url: url, headers: ["X": "a\r\nInjected: 1"])
        #expect(try await error(split).code == .invalidHeader)
        #expect(try await error(HTTPRequest(method: "GET /x HTTP/1.1\r\nA:", url: url)).code == .invalidHeader)
        #expect(try await error(HTTPRequest(method: .head, url: url, body: .text("x"))).code == .unsupported)
    }

    @Test func `nobody listening is a failed connection, which may be retried`() async throws {
        let port = try await withLoopbackServer(AnyHTTPHandler { _ in .ready(HTTPResponse(status: 200)) }) { url in
            url.split(separator: ":").last ?? ""
        }
        let refused = try await error(HTTPRequest(method: .get, url: "http://127.0.0.1:\(port)/"))
        #expect(refused.code == .connectionFailed)
        #expect(refused.isRetryable)
    }

    @Test func `a server that says nothing, one that stops and one that talks nonsense are told apart`() async throws {
        let silent = try ScriptedServer { peer in _ = peer.receive(until: "\r\n\r\n") }
        #expect(try await error(HTTPRequest(method: .get, url: silent.url)).code == .noAnswer)
        let cut = try ScriptedServer { peer in
            _ = peer.receive(until: "\r\n\r\n")
            peer.send("HTTP/1.1 200 OK\r\nX-Half: ")
        }
        #expect(try await error(HTTPRequest(method: .get, url: cut.url)).code == .connectionLost)
        let nonsense = try ScriptedServer { peer in
            _ = peer.receive(until: "\r\n\r\n")
            peer.send("SSH-2.0-OpenSSH_9.2\r\n")
        }
        #expect(try await error(HTTPRequest(method: .get, url: nonsense.url)).code == .protocolError)
    }

    @Test(arguments: [
        "", "HTTP/1.1 200 OK\r\nX-Slow: ", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nab",
    ])
    func `an answer that does not end is a timeout at the request's deadline`(part: String) async throws {
        let server = try ScriptedServer { peer in
            _ = peer.receive(until: "\r\n\r\n")
            peer.send(part)
            peer.waitForEnd()
        }
        let late = try await error(HTTPRequest(method: .get, url: server.url, timeout: .milliseconds(200)))
        #expect(late.code == .timeout)
        #expect(late.isRetryable)
    }

    @Test func `the deadline also ends an answer that is streaming, and one that nobody reads`() async throws {
        let serve: @Sendable (ScriptedServer.Peer) -> Void = { peer in
            _ = peer.receive(until: "\r\n\r\n")
            peer.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\none\r\n")
            peer.waitForEnd()
        }
        let server = try ScriptedServer(serve)
        let answer = try await CurlTransport().send(
            HTTPRequest(method: .get, url: server.url, timeout: .milliseconds(500)))
        await #expect(throws: HTTPError(.timeout, "")) { try await answer.body.collect(upTo: 100) }
    }

    @Test func `the deadline counts while a request waits for a connection`() async throws {
        let hasArrived = DispatchSemaphore(value: 0)
        let server = try ScriptedServer { peer in
            _ = peer.receive(until: "\r\n\r\n")
            hasArrived.signal()
            peer.waitForEnd()
        }
        var configuration = CurlTransport.Configuration()
        configuration.maximumConnectionsPerHost = 1
        let transport = CurlTransport(configuration: configuration)
        let first = Task { try await transport.send(HTTPRequest(method: .get, url: server.url)) }
        #expect(await wait(for: hasArrived))
        let second = HTTPRequest(method: .get, url: server.url + "/2", timeout: .milliseconds(200))
        #expect(try await error(second, transport).code == .timeout)
        first.cancel()
        await #expect(throws: HTTPError(.cancelled, "")) { try await first.value }
        await transport.shutdown()
    }

    @Test func `a request stream that never comes is a timeout and is cancelled`() async throws {
        let isCancelled = Locked(false)
        let stream = HTTPBodyStream {
            try await Task.sleep(for: .seconds(3600))
            return nil
        } cancel: {
            isCancelled.withLock { $0 = true }
        }
        let handler = AnyHTTPHandler { _ in .ready(HTTPResponse(status: 200)) }
        try await withLoopbackServer(handler) { url in
            let request = HTTPRequest(method: .put, url: url, body: .stream(stream), timeout: .milliseconds(200))
            let late = try await error(request)
            #expect(late.code == .timeout)
            #expect(isCancelled.withLock { $0 })
        }
    }

    @Test func `cancelling the task ends the request, before and after it is sent`() async throws {
        let hasArrived = DispatchSemaphore(value: 0)
        let server = try ScriptedServer { peer in
            _ = peer.receive(until: "\r\n\r\n")
            hasArrived.signal()
            peer.waitForEnd()
        }
        let transport = CurlTransport()
        let late = Task { try await transport.send(HTTPRequest(method: .get, url: server.url)) }
        #expect(await wait(for: hasArrived))
        late.cancel()
        await #expect(throws: HTTPError(.cancelled, "")) { try await late.value }
        let early = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            return try await transport.send(HTTPRequest(method: .get, url: server.url))
        }
        await #expect(throws: HTTPError(.cancelled, "")) { try await early.value }
        await transport.shutdown()
    }

    @Test func `shutting down ends what is under way and refuses what comes later`() async throws {
        let hasArrived = DispatchSemaphore(value: 0)
        let handler = AnyHTTPHandler { _ in
            hasArrived.signal()
            return .suspended {
                try? await Task.sleep(for: .seconds(3600))
                return HTTPResponse(status: 200)
            }
        }
        try await withLoopbackServer(handler, stopGracePeriod: .milliseconds(100)) { url in
            let transport = CurlTransport()
            let requests = (0..<4).map { _ in
                Task { try await transport.send(HTTPRequest(method: .get, url: url)) }
            }
            for _ in requests { #expect(await wait(for: hasArrived)) }
            await transport.shutdown()
            for request in requests {
                await #expect(throws: HTTPError(.cancelled, "")) { try await request.value }
            }
            let refused = try await error(HTTPRequest(method: .get, url: url), transport)
            #expect(refused.code == .cancelled)
            await transport.shutdown()
        }
    }

    @Test func `a transport that was never used shuts down too`() async throws {
        let transport = CurlTransport()
        await transport.shutdown()
        #expect(try await error(HTTPRequest(method: .get, url: "http://127.0.0.1:1/"), transport).code == .cancelled)
    }

    @Test func `errors show neither URLs nor headers`() async throws {
        let request = HTTPRequest(
            method: .get, url: "http://user:secret@127.0.0.1:1/?token=secret", headers: ["Authorization": "secret"])
        let refused = try await error(request)
        #expect(!"\(refused) \(String(reflecting: refused))".contains("secret"))
    }
}

/// Waits without blocking Swift's thread pool.
func wait(for semaphore: DispatchSemaphore) async -> Bool {
    await withCheckedContinuation { continuation in
        Thread.detachNewThread {
            continuation.resume(returning: semaphore.wait(timeout: .now() + 60) == .success)
        }
    }
}

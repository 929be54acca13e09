import BaseTestSupport
import CurlTransport
import Foundation
import HTTPCore
import HostTestSupport
import NetworkTestSupport
import Primitives
import Testing

@Suite struct FailureTests {
    private let time = ManualMonotonicClock()

    /// A transport whose deadlines pass only when the test moves `time`. libcurl itself uses real time.
    private func drivenTransport(_ configure: (inout CurlTransport.Configuration) -> Void = { _ in }) -> CurlTransport {
        var configuration = CurlTransport.Configuration()
        configuration.clock = time.clock
        configuration.connectTimeout = .seconds(3600)
        configure(&configuration)
        return CurlTransport(configuration: configuration)
    }

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

    @Test func `a port without a listener is a failed connection, which is retryable`() async throws {
        let port = try ReservedPort()
        let refused = try await error(HTTPRequest(method: .get, url: port.url))
        #expect(refused.code == .connectionFailed)
        #expect(refused.isRetryable)
    }

    @Test func `servers that do not respond, disconnect or send invalid data cause different errors`()
        async throws
    {
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
        let hasArrived = Gate()
        let server = try ScriptedServer { peer in
            _ = peer.receive(until: "\r\n\r\n")
            peer.send(part)
            hasArrived.open()
            peer.waitForEnd()
        }
        let transport = drivenTransport()
        let request = HTTPRequest(method: .get, url: server.url, timeout: .seconds(600))
        async let late = error(request, transport)
        try await hasArrived.pass()
        time.advance(by: .seconds(600))
        #expect(try await late.code == .timeout)
        #expect(try await late.isRetryable)
        await transport.shutdown()
    }

    @Test func `an answer that ends just before the deadline is returned`() async throws {
        let (hasArrived, mayEnd) = (Gate(), DispatchSemaphore(value: 0))
        let server = try ScriptedServer { peer in
            _ = peer.receive(until: "\r\n\r\n")
            peer.send("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nab")
            hasArrived.open()
            mayEnd.wait()
            peer.send("cde")
        }
        let transport = drivenTransport()
        let request = HTTPRequest(method: .get, url: server.url, timeout: .seconds(600))
        async let answer = transport.send(request)
        try await hasArrived.pass()
        time.advance(by: .seconds(600) - .nanoseconds(1))
        try await time.waitForReadings()
        mayEnd.signal()
        #expect(try await answer.body.buffered == Array("abcde".utf8))
        await transport.shutdown()
    }

    @Test func `without a test clock, a deadline passes in real time`() async throws {
        let server = try ScriptedServer { peer in
            _ = peer.receive(until: "\r\n\r\n")
            peer.waitForEnd()
        }
        let late = try await error(HTTPRequest(method: .get, url: server.url, timeout: .milliseconds(200)))
        #expect(late.code == .timeout)
    }

    @Test func `a connection that is not made in time is a timeout before the request's deadline`() async throws {
        // This server accepts connections, but never begins a handshake.
        let silent = try ListeningPort()
        let transport = drivenTransport { $0.connectTimeout = .milliseconds(200) }
        let late = try await error(HTTPRequest(method: .get, url: "https://127.0.0.1:\(silent.number)/"), transport)
        #expect(late.code == .timeout)
        #expect(late.reason.hasPrefix("The connection to the server timed out"))
        await transport.shutdown()
        withExtendedLifetime(silent) {}
    }

    @Test(arguments: [false, true])
    func `the deadline also ends a response that is streaming, and one without a reader`(isReadLate: Bool)
        async throws
    {
        let hasEnded = Gate()
        let server = try ScriptedServer { peer in
            _ = peer.receive(until: "\r\n\r\n")
            peer.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\none\r\n")
            if peer.waitForEnd() { hasEnded.open() }
        }
        let transport = drivenTransport()
        let answer = try await transport.send(HTTPRequest(method: .get, url: server.url, timeout: .seconds(600)))
        if isReadLate {
            time.advance(by: .seconds(600))
            try await hasEnded.pass()
        }
        await #expect(throws: HTTPError(.timeout, "")) {
            try await time.advance(by: .seconds(60)) { _ = try await answer.body.collect(upTo: 100) }
        }
        #expect(time.elapsed >= .seconds(600))
        await transport.shutdown()
    }

    @Test func `the deadline counts while a request waits for a connection`() async throws {
        let hasArrived = Gate()
        let server = try ScriptedServer { peer in
            _ = peer.receive(until: "\r\n\r\n")
            hasArrived.open()
            peer.waitForEnd()
        }
        let transport = drivenTransport { $0.maximumConnectionsPerHost = 1 }
        let first = Task {
            try await transport.send(HTTPRequest(method: .get, url: server.url, timeout: .seconds(1_000_000_000)))
        }
        try await hasArrived.pass()
        let second = HTTPRequest(method: .get, url: server.url + "/2", timeout: .seconds(600))
        #expect(try await time.advance(by: .seconds(60)) { try await error(second, transport).code } == .timeout)
        #expect(time.elapsed >= .seconds(600))
        first.cancel()
        await #expect(throws: HTTPError(.cancelled, "")) { try await first.value }
        await transport.shutdown()
    }

    @Test func `a request stream that delivers nothing is a timeout and is cancelled`() async throws {
        let isCancelled = Locked(false)
        let stream = HTTPBodyStream {
            try await untilCancelled()
        } cancel: {
            isCancelled.withLock { $0 = true }
        }
        let handler = AnyHTTPHandler { _ in .ready(HTTPResponse(status: 200)) }
        try await withLoopbackServer(handler) { url in
            let transport = drivenTransport()
            let request = HTTPRequest(method: .put, url: url, body: .stream(stream), timeout: .seconds(600))
            let late = try await time.advance(by: .seconds(60)) { try await error(request, transport) }
            #expect(late.code == .timeout)
            #expect(time.elapsed >= .seconds(600))
            #expect(isCancelled.withLock { $0 })
            await transport.shutdown()
        }
    }

    @Test func `cancelling the task ends the request, before and after it is sent`() async throws {
        let hasArrived = Gate()
        let server = try ScriptedServer { peer in
            _ = peer.receive(until: "\r\n\r\n")
            hasArrived.open()
            peer.waitForEnd()
        }
        let transport = CurlTransport()
        let late = Task { try await transport.send(HTTPRequest(method: .get, url: server.url)) }
        try await hasArrived.pass()
        late.cancel()
        await #expect(throws: HTTPError(.cancelled, "")) { try await late.value }
        let early = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            return try await transport.send(HTTPRequest(method: .get, url: server.url))
        }
        await #expect(throws: HTTPError(.cancelled, "")) { try await early.value }
        await transport.shutdown()
    }

    @Test func `shutting down ends running requests and refuses later ones`() async throws {
        let arrivals = CallLog<String>()
        let handler = AnyHTTPHandler { request in
            arrivals.record(request.url)
            return .suspended {
                try? await untilCancelled()
                return HTTPResponse(status: 200)
            }
        }
        try await withLoopbackServer(handler, stopGracePeriod: .milliseconds(100)) { url in
            let transport = CurlTransport()
            let requests = (0..<4).map { _ in
                Task { try await transport.send(HTTPRequest(method: .get, url: url)) }
            }
            await arrivals.wait { $0.count == requests.count }
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

    @Test func `errors show no secrets of the URL or the headers`() async throws {
        let port = try ReservedPort()
        let request = HTTPRequest(
            method: .get, url: "http://user:secret@127.0.0.1:\(port.number)/?token=secret",
            headers: ["Authorization": "secret"])
        let refused = try await error(request)
        #expect(!"\(refused) \(String(reflecting: refused))".contains("secret"))
    }
}

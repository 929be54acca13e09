import BaseTestSupport
import Foundation
import HTTPCore
import HTTPListener
import HostTestSupport
import NetworkTestSupport
import Primitives
import Testing

@Suite struct LifeTests {
    private func error(_ configuration: HTTPListener.Configuration) throws -> HTTPListenerError {
        let listener = HTTPListener(handler: echo, configuration: configuration)
        return try #require(throws: HTTPListenerError.self) { try listener.start() }
    }

    @Test func `the error for a port in use names the port and the address`() async throws {
        try await withListener(echo) { address, _ in
            let refused = try error(.init(port: address.port))
            #expect(refused.code == .addressInUse)
            #expect(refused.reason.contains("Port \(address.port) on 127.0.0.1 is already in use"))
        }
    }

    @Test(arguments: [("203.0.113.7", 0), ("no such host", 0), ("127.0.0.1", 70_000), ("127.0.0.1", -1)])
    func `an address that this machine does not have and an invalid port are refused`(host: String, port: Int) throws {
        #expect(try error(.init(host: host, port: port)).code == .invalidAddress)
    }

    @Test func `a listener starts once and may be stopped twice, or before it starts`() async throws {
        let listener = HTTPListener(handler: echo)
        try listener.start()
        #expect(throws: HTTPListenerError(.alreadyStarted, "")) { try listener.start() }
        await listener.stop()
        await listener.stop()
        let unused = HTTPListener(handler: echo)
        await unused.stop()
        #expect(throws: HTTPListenerError(.alreadyStarted, "")) { try unused.start() }
    }

    @Test func `the port is free again after the stop`() async throws {
        let reserved = try ReservedPort()
        let port = reserved.number
        let listener = HTTPListener(handler: echo, configuration: .init(port: port))
        #expect(try listener.start().port == port)
        let client = try await RawClient(port: port)
        await client.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        var reader = AnswerReader(client)
        _ = try await reader.next()
        await listener.stop()
        #expect(try await client.receiveToEnd() == "")
        await #expect(throws: RawClient.Failure.self) { try await RawClient(port: port) }
        let next = HTTPListener(handler: echo, configuration: .init(port: port))
        #expect(try next.start().port == port)
        await next.stop()
    }

    @Test func `a listener can be bound to an IPv6 address and to a host name`() async throws {
        try await withListener(echo) {
            $0.host = "::1"
        } body: { address, _ in
            #expect(address.url == "http://[::1]:\(address.port)")
            let answer = try await loopbackTransport().send(HTTPRequest(method: .get, url: address.url + "/six"))
            #expect(answer.body.buffered == Array("GET /six\n".utf8))
        }
        try await withListener(echo) {
            $0.host = "localhost"
        } body: { address, _ in
            #expect(address.port > 0)
        }
    }

    @Test func `stopping waits for the requests under way and closes idle connections`() async throws {
        let (started, gate, stopped) = (Signal(), Signal(), Locked(false))
        let handler = AnyHTTPHandler { request in
            guard request.url == "/wait" else { return echo.respond(to: request) }
            return .suspended {
                started.fire()
                await gate.wait()
                return HTTPResponse(status: 200, body: .text("answered"))
            }
        }
        let reserved = try ReservedPort()
        var configuration = HTTPListener.Configuration(port: reserved.number)
        configuration.stopGracePeriod = .seconds(3600)
        let listener = HTTPListener(handler: handler, configuration: configuration)
        let port = try listener.start().port
        let idle = try await RawClient(port: port)
        await idle.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        var idleReader = AnswerReader(idle)
        _ = try await idleReader.next()
        let busy = try await RawClient(port: port)
        await busy.send("GET /wait HTTP/1.1\r\nHost: x\r\n\r\n")
        await started.wait()
        let stop = Task {
            await listener.stop()
            stopped.withLock { $0 = true }
        }
        #expect(try await idle.receiveToEnd() == "")
        await #expect(throws: RawClient.Failure.self) { try await RawClient(port: port) }
        #expect(!stopped.withLock { $0 })
        gate.fire()
        let answer = try await busy.receiveToEnd()
        #expect(answer.hasSuffix("answered"))
        #expect(answer.contains("Connection: close"))
        await stop.value
    }

    @Test(arguments: [
        "Content-Length: 10\r\n\r\nhalf", "Content-Length: 2000\r\n\r\nhalf",
        "Transfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n",
        "Content-Length: 10\r\n\r\n",
    ])
    func `stopping waits for requests in progress, and not for a body that has not arrived`(half: String) async throws {
        let (started, gate) = (Signal(), Signal())
        let handler = AnyHTTPHandler { request in
            guard request.url == "/wait" else { return echo.respond(to: request) }
            return .suspended {
                started.fire()
                await gate.wait()
                return HTTPResponse(status: 200, body: .text("answered"))
            }
        }
        var configuration = HTTPListener.Configuration()
        configuration.maximumBodyBytes = 1000
        configuration.bodyTimeout = .seconds(3600)
        configuration.idleTimeout = .seconds(3600)
        configuration.stopGracePeriod = .seconds(3600)
        let listener = HTTPListener(handler: handler, configuration: configuration)
        let port = try listener.start().port
        let client = try await RawClient(port: port)
        await client.send("GET /first HTTP/1.1\r\nHost: x\r\n\r\n")
        var reader = AnswerReader(client)
        #expect(try await reader.next().body == "GET /first\n")
        await client.send("POST /half HTTP/1.1\r\nHost: x\r\n\(half)")
        let busy = try await RawClient(port: port)
        await busy.send("GET /wait HTTP/1.1\r\nHost: x\r\n\r\n")
        await started.wait()
        async let stop: Void = listener.stop()
        #expect(try await client.receiveToEnd() == "")
        gate.fire()
        #expect(try await busy.receiveToEnd().hasSuffix("answered"))
        await stop
    }

    /// In some of the rounds, data and the end of the input reach microhttpd together.
    @Test func `stopping ends a connection on which a request is just arriving`() async throws {
        for _ in 0..<100 {
            var configuration = HTTPListener.Configuration()
            configuration.clock = ManualMonotonicClock().clock
            configuration.idleTimeout = .seconds(3600)
            configuration.threads = 1
            let listener = HTTPListener(handler: echo, configuration: configuration)
            let client = try await RawClient(port: try listener.start().port)
            await client.send("GET /first HTTP/1.1\r\nHost: x\r\n\r\n")
            var reader = AnswerReader(client)
            #expect(try await reader.next().body == "GET /first\n")
            let stop = Task { await listener.stop() }
            await client.send("POST /half HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n")
            #expect(try await client.receiveToEnd() == "")
            await stop.value
        }
    }

    @Test func `a request is cancelled after the grace period, and not before`() async throws {
        let (started, cancelled, time) = (Signal(), Signal(), ManualMonotonicClock())
        let cancelledAfter = Locked(Duration.zero)
        let handler = AnyHTTPHandler { _ in
            .suspended {
                started.fire()
                do {
                    try await untilCancelled()
                } catch {
                    cancelledAfter.withLock { $0 = time.elapsed }
                    cancelled.fire()
                }
                return HTTPResponse(status: 200)
            }
        }
        var configuration = HTTPListener.Configuration()
        configuration.clock = time.clock
        configuration.stopGracePeriod = .seconds(600)
        let listener = HTTPListener(handler: handler, configuration: configuration)
        let client = try await RawClient(port: try listener.start().port)
        await client.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        await started.wait()
        await time.advance(by: .seconds(60)) { await listener.stop() }
        await cancelled.wait()
        #expect(cancelledAfter.withLock { $0 } >= .seconds(600))
    }

    /// No time passes here, so the listener waits until the client has read its response.
    @Test func `a request that exceeds the grace period is cancelled, and its client gets a response`() async throws {
        let (started, cancelled) = (Signal(), Signal())
        let handler = AnyHTTPHandler { _ in
            .suspended {
                started.fire()
                do { try await untilCancelled() } catch { cancelled.fire() }
                await letOthersRun()
                return HTTPResponse(status: 200)
            }
        }
        var configuration = HTTPListener.Configuration()
        configuration.clock = ManualMonotonicClock().clock
        configuration.stopGracePeriod = .zero
        let listener = HTTPListener(handler: handler, configuration: configuration)
        let client = try await RawClient(port: try listener.start().port)
        await client.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        await started.wait()
        async let stop: Void = listener.stop()
        let answer = try await client.receiveToEnd()
        #expect(answer.hasPrefix("HTTP/1.1 503 ") || answer.hasPrefix("HTTP/1.1 200 "), "\(answer)")
        await stop
        await cancelled.wait()
    }

    @Test func `a handler that ignores its cancellation does not delay the stop`() async throws {
        let (started, gate, time) = (Signal(), Signal(), ManualMonotonicClock())
        let handler = AnyHTTPHandler { _ in
            .suspended {
                started.fire()
                await gate.wait()
                return HTTPResponse(status: 200)
            }
        }
        var configuration = HTTPListener.Configuration()
        configuration.clock = time.clock
        configuration.stopGracePeriod = .zero
        configuration.refusalHeaders = { ["X-Request": "r1"] }
        let listener = HTTPListener(handler: handler, configuration: configuration)
        let client = try await RawClient(port: try listener.start().port)
        await client.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        await started.wait()
        let stop = Task { await listener.stop() }
        let answer = try await client.receiveToEnd()
        #expect(answer.hasPrefix("HTTP/1.1 503 ") && answer.contains("X-Request: r1\r\n"), "\(answer)")
        await time.advance(by: .seconds(1)) { await stop.value }
        gate.fire()
    }

    @Test func `stopping ends all streams and requests`() async throws {
        let handler = AnyHTTPHandler { request in
            switch request.url {
            case "/stream":
                .ready(HTTPResponse(status: 200, body: .stream(HTTPBodyStream { [UInt8](repeating: 1, count: 1000) })))
            case "/silent":
                .ready(
                    HTTPResponse(
                        status: 200,
                        body: .stream(
                            HTTPBodyStream {
                                try await untilCancelled()
                            })))
            default:
                .suspended {
                    await letOthersRun()
                    return HTTPResponse(status: 200)
                }
            }
        }
        for round in 0..<10 {
            var configuration = HTTPListener.Configuration()
            configuration.stopGracePeriod = .milliseconds(round * 10)
            let listener = HTTPListener(handler: handler, configuration: configuration)
            let port = try listener.start().port
            let streaming = try await RawClient(port: port)
            await streaming.send("GET /stream HTTP/1.1\r\nHost: x\r\n\r\n")
            _ = try await streaming.receive()
            let silent = try await RawClient(port: port)
            await silent.send("GET /silent HTTP/1.1\r\nHost: x\r\n\r\n")
            _ = try await silent.receive()
            await withTaskGroup(of: Void.self) { group in
                for _ in 0..<8 {
                    group.addTask {
                        guard let client = try? await RawClient(port: port) else { return }
                        var reader = AnswerReader(client)
                        while await client.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n"), (try? await reader.next()) != nil
                        {}
                    }
                }
                group.addTask { await listener.stop() }
                group.addTask { _ = try? await streaming.receiveToEnd() }
                group.addTask { _ = try? await silent.receiveToEnd() }
            }
        }
    }

    @Test func `a listener that is dropped without being stopped stops by itself`() async throws {
        let port: Int
        let client: RawClient
        do {
            let listener = HTTPListener(handler: echo)
            port = try listener.start().port
            client = try await RawClient(port: port)
            await client.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n")
            var reader = AnswerReader(client)
            #expect(try await reader.next().status == 200)
        }
        #expect(try await client.receiveToEnd() == "")
    }
}

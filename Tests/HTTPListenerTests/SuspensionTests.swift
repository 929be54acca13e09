import BaseTestSupport
import Foundation
import HTTPCore
import HTTPListener
import Primitives
import Testing

@Suite struct SuspensionTests {
    @Test func `a reply without a response closes the connection, ready or suspended`() async throws {
        let handler = AnyHTTPHandler { request in
            request.url == "/ready" ? .ready(.connectionClosed) : .suspended { .connectionClosed }
        }
        try await withListener(handler) { address, _ in
            for path in ["/ready", "/later"] {
                let client = try await RawClient(port: address.port)
                await client.send("GET \(path) HTTP/1.1\r\nHost: x\r\n\r\n")
                #expect(try await client.receiveToEnd().isEmpty)
            }
        }
        await #expect(throws: HTTPError(.noAnswer, "")) {
            try await InProcessTransport(handler).send(HTTPRequest(method: .get, url: "http://x/ready"))
        }
    }

    @Test func `a streamed response of known or unknown length arrives whole, and the connection stays open`()
        async throws
    {
        let chunks = (0..<40).map { [UInt8](repeating: UInt8($0), count: $0 * 1000) }
        let handler = AnyHTTPHandler { request in
            let rest = Locked(chunks[...])
            let stream =
                request.url == "/known"
                ? HTTPBodyStream(chunks)
                : HTTPBodyStream {
                    await letOthersRun()
                    return rest.withLock { $0.popFirst() }
                }
            let response = HTTPResponse(status: 200, body: .stream(stream))
            return request.url == "/later" ? .suspended { response } : .ready(response)
        }
        try await withListener(handler) { address, _ in
            let client = try await RawClient(port: address.port)
            var reader = AnswerReader(client)
            let whole = String(decoding: chunks.joined(), as: UTF8.self)
            for path in ["/known", "/unknown", "/later", "/known"] {
                await client.send("GET \(path) HTTP/1.1\r\nHost: x\r\n\r\n")
                let answer = try await reader.next()
                #expect(answer.body == whole)
                #expect(answer.headers["Content-Length"] == (path == "/known" ? String(whole.utf8.count) : nil))
            }
        }
    }

    @Test func `each piece of a stream is sent when it comes`() async throws {
        let gate = Signal()
        let handler = AnyHTTPHandler { _ in
            let step = Locked(0)
            return .ready(
                HTTPResponse(
                    status: 200,
                    body: .stream(
                        HTTPBodyStream {
                            let current = step.withLock { step in
                                defer { step += 1 }
                                return step
                            }
                            if current == 1 { await gate.wait() }
                            return current < 2 ? Array("part\(current)".utf8) : nil
                        })))
        }
        try await withListener(handler) { address, _ in
            let client = try await RawClient(port: address.port)
            await client.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n")
            var text = ""
            while !text.contains("part0\r\n") { text += String(decoding: try await client.receive(), as: UTF8.self) }
            #expect(!text.contains("part1"))
            gate.fire()
            while !text.hasSuffix("0\r\n\r\n") { text += String(decoding: try await client.receive(), as: UTF8.self) }
            #expect(text.contains("part1"))
        }
    }

    @Test func `a stream is read only as fast as its client reads`() async throws {
        let produced = Locked(0)
        let total = 64 << 20
        let handler = AnyHTTPHandler { _ in
            .ready(
                HTTPResponse(
                    status: 200,
                    body: .stream(
                        HTTPBodyStream(length: total) {
                            produced.withLock { $0 += 1 << 16 }
                            return [UInt8](repeating: 7, count: 1 << 16)
                        })))
        }
        try await withListener(handler) { address, _ in
            let client = try await RawClient(port: address.port, receiveBuffer: 1 << 16)
            await client.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n")
            var count = try await client.receive().count
            #expect(produced.withLock { $0 } < total)
            while count < total {
                let part = try await client.receive(1 << 20)
                guard !part.isEmpty else { break }
                count += part.count
            }
            #expect(count > total)
        }
    }

    @Test func `a failing stream ends the response so that the client notices`() async throws {
        struct Broken: Error {}
        let handler = AnyHTTPHandler { request in
            let sent = Locked(false)
            return .ready(
                HTTPResponse(
                    status: 200,
                    body: .stream(
                        HTTPBodyStream(length: request.url == "/known" ? 100 : nil) {
                            if sent.withLock({ $0 }) { throw Broken() }
                            sent.withLock { $0 = true }
                            return Array("part".utf8)
                        })))
        }
        try await withListener(handler) { address, _ in
            for path in ["/known", "/unknown"] {
                let client = try await RawClient(port: address.port)
                await client.send("GET \(path) HTTP/1.1\r\nHost: x\r\n\r\n")
                let text = try await client.receiveToEnd()
                #expect(text.contains("part") && !text.hasSuffix("0\r\n\r\n"))
            }
        }
    }

    @Test(arguments: [false, true]) func `a reply is cancelled when its client disconnects`(hard: Bool) async throws {
        let (started, cancelled) = (Signal(), Signal())
        let handler = AnyHTTPHandler { request in
            guard request.url == "/wait" else { return echo.respond(to: request) }
            return .suspended {
                started.fire()
                do { try await untilCancelled() } catch { cancelled.fire() }
                return HTTPResponse(status: 200, body: .text("too late"))
            }
        }
        try await withListener(handler) { address, _ in
            do {
                let client = try await RawClient(port: address.port)
                await client.send("GET /wait HTTP/1.1\r\nHost: x\r\n\r\n")
                await started.wait()
                if hard { client.reset() }
            }
            await cancelled.wait()
            let other = try await RawClient(port: address.port)
            await other.send("GET /still HTTP/1.1\r\nHost: x\r\n\r\n")
            var reader = AnswerReader(other)
            #expect(try await reader.next().body == "GET /still\n")
        }
    }

    @Test func `a response stream is cancelled when its client disconnects`() async throws {
        let cancelled = Signal()
        let handler = AnyHTTPHandler { _ in
            let sent = Locked(false)
            return .ready(
                HTTPResponse(
                    status: 200,
                    body: .stream(
                        HTTPBodyStream {
                            if sent.withLock({ $0 }) { try await untilCancelled() }
                            sent.withLock { $0 = true }
                            return Array("part".utf8)
                        } cancel: {
                            cancelled.fire()
                        })))
        }
        try await withListener(handler) { address, _ in
            do {
                let client = try await RawClient(port: address.port)
                await client.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n")
                var text = ""
                while !text.contains("part") { text += String(decoding: try await client.receive(), as: UTF8.self) }
            }
            await cancelled.wait()
        }
    }

    @Test func `many clients that disconnect during their replies have no effect on others`() async throws {
        let handler = AnyHTTPHandler { request in
            guard request.url != "/still" else { return echo.respond(to: request) }
            return .suspended {
                await letOthersRun(times: request.url.utf8.count * 7 % 23)
                return HTTPResponse(status: 200, body: .text(String(repeating: "x", count: 50_000)))
            }
        }
        try await withListener(handler) { address, _ in
            try await withThrowingTaskGroup(of: Void.self) { group in
                for worker in 0..<100 {
                    group.addTask {
                        let client = try await RawClient(port: address.port)
                        let path = String(repeating: "p", count: worker % 29)
                        await client.send("GET /\(path) HTTP/1.1\r\nHost: x\r\n\r\n")
                        if worker % 3 == 0 { _ = try await client.receive(100) }
                        if worker % 2 == 0 { client.reset() }
                    }
                }
                try await group.waitForAll()
            }
            let other = try await RawClient(port: address.port)
            await other.send("GET /still HTTP/1.1\r\nHost: x\r\n\r\n")
            var reader = AnswerReader(other)
            #expect(try await reader.next().body == "GET /still\n")
        }
    }
}

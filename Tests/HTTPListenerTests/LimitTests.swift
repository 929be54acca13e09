import BaseTestSupport
import Foundation
import HTTPCore
import HTTPListener
import Primitives
import Testing

@Suite struct LimitTests {
    @Test func `a body of exactly the limit is accepted, one byte more is 413`() async throws {
        try await withListener(echo) {
            $0.maximumBodyBytes = 1000
        } body: { address, _ in
            for (count, status) in [(1000, 200), (1001, 413)] {
                let client = try await RawClient(port: address.port)
                let body = String(repeating: "b", count: count)
                await client.send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: \(count)\r\n\r\n\(body)")
                var reader = AnswerReader(client)
                #expect(try await reader.next().status == status)
            }
        }
    }

    @Test func `the sender of a body that is too long can read the response 413 afterwards`() async throws {
        let calls = Locked(0)
        let handler = AnyHTTPHandler { _ in
            calls.withLock { $0 += 1 }
            return .ready(HTTPResponse(status: 200))
        }
        try await withListener(handler) {
            $0.maximumBodyBytes = 1000
        } body: { address, _ in
            let block = [UInt8](repeating: UInt8(ascii: "x"), count: 1 << 20)
            let announced = try await RawClient(port: address.port)
            await announced.send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: \(block.count * 8)\r\n\r\n")
            for _ in 0..<8 { #expect(await announced.send(block)) }
            let first = try await announced.receiveToEnd()
            #expect(first.hasPrefix("HTTP/1.1 413 "))
            #expect(first.contains("application/problem+json") && first.contains("\"body_too_large\""))
            let chunked = try await RawClient(port: address.port)
            await chunked.send("POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n")
            for _ in 0..<8 {
                await chunked.send("100000\r\n")
                await chunked.send(block)
                await chunked.send("\r\n")
            }
            await chunked.send("0\r\n\r\n")
            #expect(try await chunked.receiveToEnd().hasPrefix("HTTP/1.1 413 "))
            #expect(calls.withLock { $0 } == 0)
        }
    }

    @Test func `a body with an announced length over the limit is refused before it is sent`() async throws {
        try await withListener(echo) {
            $0.maximumBodyBytes = 1000
        } body: { address, _ in
            let client = try await RawClient(port: address.port)
            await client.send("POST / HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 1001\r\n\r\n")
            #expect(try await client.receiveToEnd().hasPrefix("HTTP/1.1 413 "))
        }
    }

    @Test func `a body that is too long to discard is refused at once, and the client can read the response`()
        async throws
    {
        try await withListener(echo) {
            $0.maximumBodyBytes = 1000
            $0.maximumDiscardedBytes = 10_000
        } body: { address, _ in
            let client = try await RawClient(port: address.port)
            await client.send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\n")
            await client.send([UInt8](repeating: 1, count: 100_000))
            #expect(try await client.receiveToEnd().hasPrefix("HTTP/1.1 413 "))
        }
    }

    @Test func `a chunked body that is too long to discard ends the connection`() async throws {
        try await withListener(echo) {
            $0.maximumBodyBytes = 1000
            $0.maximumDiscardedBytes = 10_000
        } body: { address, _ in
            let client = try await RawClient(port: address.port)
            await client.send("POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n")
            await client.send("186A0\r\n")
            await client.send([UInt8](repeating: 1, count: 100_000))
            #expect(try await client.receiveToEnd() == "")
        }
    }

    @Test func `headers up to the limit are accepted, longer ones are 431`() async throws {
        try await withListener(echo) {
            $0.maximumHeaderBytes = 4096
        } body: { address, _ in
            for (count, status) in [(3000, 200), (4100, 431), (200_000, 431)] {
                let client = try await RawClient(port: address.port)
                let value = String(repeating: "h", count: count)
                await client.send("GET / HTTP/1.1\r\nHost: x\r\nX-Long: \(value)\r\n\r\n")
                let answer = try await client.receive()
                #expect(String(decoding: answer, as: UTF8.self).hasPrefix("HTTP/1.1 \(status) "))
            }
        }
    }

    @Test func `a request target beyond the limit of the headers is refused`() async throws {
        try await withListener(echo) { address, _ in
            let client = try await RawClient(port: address.port)
            await client.send("GET /\(String(repeating: "t", count: 100_000)) HTTP/1.1\r\nHost: x\r\n\r\n")
            #expect(try await client.receiveToEnd().hasPrefix("HTTP/1.1 414 "))
        }
    }

    @Test func `a refusal of the listener is a problem document with the configured headers`() async throws {
        let made = Locked(0)
        let handler = AnyHTTPHandler { _ in .ready(HTTPResponse(status: 200, headers: ["X": "a\nb"])) }
        try await withListener(handler) {
            $0.maximumBodyBytes = 1000
            $0.refusalHeaders = {
                [
                    "X-Request": made.withLock { made in
                        made += 1
                        return "r\(made)"
                    }
                ]
            }
        } body: { address, _ in
            let long = String(repeating: "l", count: 20_000)
            let requests = [
                ("GET /\(long) HTTP/1.1\r\nHost: x\r\n\r\n", 414, "target_too_long"),
                ("GET / HTTP/1.1\r\nHost: x\r\nX-Long: \(long)\r\n\r\n", 431, "headers_too_large"),
                ("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 20000\r\n\r\n\(long)", 413, "body_too_large"),
                ("POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip\r\n\r\n", 501, "unsupported"),
                ("GET / HTTP/1.1\r\nHost: x\r\n\r\n", 500, "invalid_answer"),
            ]
            for (number, (request, status, code)) in requests.enumerated() {
                let client = try await RawClient(port: address.port)
                await client.send(request)
                var reader = AnswerReader(client)
                let answer = try await reader.next()
                #expect(answer.status == status)
                #expect(HTTPProblem(parsing: Array(answer.body.utf8))?.code == code)
                #expect(answer.headers.values("X-Request") == ["r\(number + 1)"])
            }
        }
    }

    @Test func `slow headers are cut off at their deadline`() async throws {
        let time = ManualMonotonicClock()
        try await withListener(echo, time) {
            $0.headerTimeout = .seconds(20)
        } body: { address, _ in
            let client = try await RawClient(port: address.port)
            await client.send("GET / HTTP/1.1\r\nHost: x\r\n")
            try await sendSlowly("X: y\r\n", to: client, time)
            #expect(time.elapsed >= .seconds(20))
        }
    }

    @Test func `a slow body is cut off at its deadline`() async throws {
        let time = ManualMonotonicClock()
        try await withListener(echo, time) {
            $0.bodyTimeout = .seconds(20)
        } body: { address, _ in
            let client = try await RawClient(port: address.port)
            await client.send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\n")
            try await sendSlowly("x", to: client, time)
            #expect(time.elapsed >= .seconds(20))
        }
    }

    /// Sends `text` once a second until the listener ends the connection without a response.
    private func sendSlowly(_ text: String, to client: RawClient, _ time: ManualMonotonicClock) async throws {
        let sending = Task {
            while !Task.isCancelled, await client.send(text) {
                time.advance(by: .seconds(1))
                try await time.waitForReadings()
            }
        }
        #expect(try await client.receiveToEnd() == "")
        sending.cancel()
        _ = await sending.result
    }

    @Test func `a silent connection is closed at the header deadline`() async throws {
        try await withListener(echo) {
            $0.clock = MonotonicClock()
            $0.headerTimeout = .milliseconds(300)
        } body: { address, _ in
            let client = try await RawClient(port: address.port)
            #expect(try await client.receiveToEnd() == "")
        }
    }

    @Test func `an idle connection is closed, and a connection that is being answered is not`() async throws {
        let (hasBegun, gate, time) = (Signal(), Signal(), ManualMonotonicClock())
        let handler = AnyHTTPHandler { request in
            guard request.url == "/slow" else { return echo.respond(to: request) }
            return .suspended {
                hasBegun.fire()
                await gate.wait()
                return HTTPResponse(status: 200, body: .text("slow"))
            }
        }
        try await withListener(handler, time) {
            $0.idleTimeout = .seconds(3600)
            $0.headerTimeout = .seconds(10)
            $0.bodyTimeout = .seconds(10)
        } body: { address, _ in
            let client = try await RawClient(port: address.port)
            await client.send("GET /slow HTTP/1.1\r\nHost: x\r\n\r\n")
            await hasBegun.wait()
            for _ in 0..<3 {
                time.advance(by: .seconds(86_400))
                try await time.waitForReadings()
            }
            gate.fire()
            var reader = AnswerReader(client)
            #expect(try await reader.next().body == "slow")
            let answered = time.elapsed
            #expect(try await time.advance(by: .seconds(600)) { try await client.receiveToEnd() } == "")
            #expect(time.elapsed - answered >= .seconds(3610))
        }
    }

    @Test func `while all connections are being answered, a new connection waits until one ends`() async throws {
        let gate = Signal()
        let answering = Locked(0)
        let handler = AnyHTTPHandler { request in
            guard request.url == "/slow" else { return echo.respond(to: request) }
            answering.withLock { $0 += 1 }
            return .suspended {
                await gate.wait()
                return HTTPResponse(status: 200, body: .text("slow"))
            }
        }
        let readings = ReadingCounter()
        try await withListener(handler, readings.time) {
            $0.maximumConnections = 2
            $0.minimumWaitBeforeEviction = .zero
            $0.clock = readings.clock
        } body: { address, _ in
            let clients = [try await RawClient(port: address.port), try await RawClient(port: address.port)]
            for client in clients { await client.send("GET /slow HTTP/1.1\r\nHost: x\r\n\r\n") }
            try await until("both requests are being answered") { answering.withLock { $0 } == 2 }
            let third = try await RawClient(port: address.port)
            let isAnswered = Locked(false)
            let answer = Task {
                await third.send("GET /third HTTP/1.1\r\nHost: x\r\n\r\n")
                var reader = AnswerReader(third)
                let answer = try await reader.next()
                isAnswered.withLock { $0 = true }
                return answer.body
            }
            try await until("the acceptor has looked for room twice") { readings.count >= 2 }
            #expect(!isAnswered.withLock { $0 })
            gate.fire()
            for client in clients {
                var reader = AnswerReader(client)
                #expect(try await reader.next().body == "slow")
            }
            #expect(try await answer.value == "GET /third\n")
        }
    }

    @Test func `when all connections wait for their clients, the one with the longest wait is closed`() async throws {
        let time = ManualMonotonicClock()
        try await withListener(echo, time) {
            $0.maximumConnections = 3
            $0.threads = 1
            $0.minimumWaitBeforeEviction = .zero
            $0.headerTimeout = .seconds(3600)
            $0.bodyTimeout = .seconds(3600)
        } body: { address, _ in
            let request = "GET / HTTP/1.1\r\nHost: x\r\n\r\n"
            let idle = try await RawClient(port: address.port)
            await idle.send(request)
            var idleReader = AnswerReader(idle)
            _ = try await idleReader.next()
            let dripping = try await RawClient(port: address.port)
            await dripping.send("GET / HTTP/1.1\r\nHost: x\r\nX: ")
            let sending = try await RawClient(port: address.port)
            await sending.send("POST / HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 10\r\n\r\n")
            var sendingReader = AnswerReader(sending)
            #expect(try await sendingReader.next().status == 100)
            try await time.waitForReadings()
            time.advance(by: .seconds(1))
            await idle.send(request)
            _ = try await idleReader.next()
            var newer: [RawClient] = []
            for oldest in [dripping, sending, idle] {
                let next = try await RawClient(port: address.port)
                await next.send(request)
                var reader = AnswerReader(next)
                #expect(try await reader.next().status == 200)
                #expect(try await oldest.receiveToEnd() == "")
                newer.append(next)
                try await time.waitForReadings()
                time.advance(by: .seconds(1))
            }
            for client in newer {
                await client.send(request)
                var reader = AnswerReader(client)
                #expect(try await reader.next().status == 200)
            }
        }
    }

    @Test func `a connection is not closed for another before its minimum wait`() async throws {
        let readings = ReadingCounter()
        try await withListener(echo, readings.time) {
            $0.maximumConnections = 1
            $0.minimumWaitBeforeEviction = .seconds(3600)
            $0.headerTimeout = .seconds(86_400)
            $0.clock = readings.clock
        } body: { address, _ in
            let first = try await RawClient(port: address.port)
            let second = try await RawClient(port: address.port)
            await second.send("GET /second HTTP/1.1\r\nHost: x\r\n\r\n")
            readings.time.advance(by: .seconds(3599))
            try await until("the acceptor has looked for room twice") { readings.count >= 2 }
            await first.send("GET /first HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
            #expect(try await first.receiveToEnd().hasSuffix("GET /first\n"))
            var reader = AnswerReader(second)
            #expect(try await reader.next().body == "GET /second\n")
        }
    }

    @Test func `a connection is closed for another after its minimum wait`() async throws {
        let time = ManualMonotonicClock()
        try await withListener(echo, time) {
            $0.maximumConnections = 1
            $0.minimumWaitBeforeEviction = .seconds(3600)
            // Longer than all steps below together.
            $0.headerTimeout = .seconds(1_000_000_000)
        } body: { address, _ in
            let first = try await RawClient(port: address.port)
            let second = try await RawClient(port: address.port)
            await second.send("GET /second HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
            #expect(try await time.advance(by: .seconds(60)) { try await first.receiveToEnd() } == "")
            #expect(time.elapsed >= .seconds(3600))
            #expect(try await second.receiveToEnd().hasSuffix("GET /second\n"))
        }
    }

    /// A clock that counts the readings of the acceptor's thread: one for each search for a connection to close.
    private final class ReadingCounter: Sendable {
        let time = ManualMonotonicClock()
        private let readings = Locked(0)

        var count: Int { readings.withLock { $0 } }

        var clock: MonotonicClock {
            let clock = time.clock
            return MonotonicClock { [readings] in
                if Thread.current.name == "HTTPListener" { readings.withLock { $0 += 1 } }
                return clock.now
            }
        }
    }

    @Test func `silent clients do not keep out active clients`() async throws {
        try await withListener(echo) {
            $0.maximumConnections = 32
            $0.minimumWaitBeforeEviction = .zero
            $0.headerTimeout = .seconds(3600)
        } body: { address, _ in
            var silent: [RawClient] = []
            for number in 0..<400 {
                let client = try await RawClient(port: address.port)
                if number % 2 == 0 { await client.send("G") }
                silent.append(client)
                guard number % 40 == 39 else { continue }
                let honest = try await RawClient(port: address.port)
                await honest.send("GET /\(number) HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
                #expect(try await honest.receiveToEnd().hasSuffix("GET /\(number)\n"))
            }
            #expect(silent.count == 400)
        }
    }

    @Test(arguments: [1, 3]) func `every connection is served, even if few may be open at once`(limit: Int)
        async throws
    {
        try await withListener(echo) {
            $0.maximumConnections = limit
            $0.headerTimeout = .seconds(3600)
            $0.minimumWaitBeforeEviction = .seconds(3600)
        } body: { address, _ in
            let answered = try await withThrowingTaskGroup(of: Int.self) { group in
                for client in 0..<8 {
                    group.addTask {
                        for turn in 0..<25 {
                            let connection = try await RawClient(port: address.port)
                            await connection.send(
                                "GET /\(client)/\(turn) HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
                            let answer = try await connection.receiveToEnd()
                            guard answer.hasSuffix("GET /\(client)/\(turn)\n") else { return turn }
                        }
                        return 25
                    }
                }
                return try await group.reduce(0, +)
            }
            #expect(answered == 8 * 25)
        }
    }
}

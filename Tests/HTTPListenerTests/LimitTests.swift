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
                let client = try RawClient(port: address.port)
                let body = String(repeating: "b", count: count)
                await client.send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: \(count)\r\n\r\n\(body)")
                var reader = AnswerReader(client)
                #expect(try await reader.next().status == status)
            }
        }
    }

    @Test func `a sender of too much gets to read the 413 after all of it`() async throws {
        let calls = Locked(0)
        let handler = AnyHTTPHandler { _ in
            calls.withLock { $0 += 1 }
            return .ready(HTTPResponse(status: 200))
        }
        try await withListener(handler) {
            $0.maximumBodyBytes = 1000
        } body: { address, _ in
            let block = [UInt8](repeating: UInt8(ascii: "x"), count: 1 << 20)
            let announced = try RawClient(port: address.port)
            await announced.send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: \(block.count * 8)\r\n\r\n")
            for _ in 0..<8 { #expect(await announced.send(block)) }
            let first = try await announced.receiveToEnd()
            #expect(first.hasPrefix("HTTP/1.1 413 "))
            #expect(first.contains("application/problem+json") && first.contains("\"body_too_large\""))
            let chunked = try RawClient(port: address.port)
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

    @Test func `too much that was announced is refused before it is sent`() async throws {
        try await withListener(echo) {
            $0.maximumBodyBytes = 1000
        } body: { address, _ in
            let client = try RawClient(port: address.port)
            await client.send("POST / HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 1001\r\n\r\n")
            #expect(try await client.receiveToEnd().hasPrefix("HTTP/1.1 413 "))
        }
    }

    @Test func `more than will be thrown away is refused at once and its sender can read that`() async throws {
        try await withListener(echo) {
            $0.maximumBodyBytes = 1000
            $0.maximumDiscardedBytes = 10_000
        } body: { address, _ in
            let client = try RawClient(port: address.port)
            await client.send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\n")
            await client.send([UInt8](repeating: 1, count: 100_000))
            #expect(try await client.receiveToEnd().hasPrefix("HTTP/1.1 413 "))
        }
    }

    @Test func `a chunked body past what will be thrown away ends the connection`() async throws {
        try await withListener(echo) {
            $0.maximumBodyBytes = 1000
            $0.maximumDiscardedBytes = 10_000
        } body: { address, _ in
            let client = try RawClient(port: address.port)
            await client.send("POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n")
            await client.send("186A0\r\n")
            await client.send([UInt8](repeating: 1, count: 100_000))
            #expect(try await client.receiveToEnd() == "")
        }
    }

    @Test func `headers of the limit are accepted, longer ones are 431`() async throws {
        try await withListener(echo) {
            $0.maximumHeaderBytes = 4096
        } body: { address, _ in
            for (count, status) in [(3000, 200), (4100, 431), (200_000, 431)] {
                let client = try RawClient(port: address.port)
                let value = String(repeating: "h", count: count)
                await client.send("GET / HTTP/1.1\r\nHost: x\r\nX-Long: \(value)\r\n\r\n")
                let answer = try await client.receive()
                #expect(String(decoding: answer, as: UTF8.self).hasPrefix("HTTP/1.1 \(status) "))
            }
        }
    }

    @Test func `a target longer than the headers may be is refused`() async throws {
        try await withListener(echo) { address, _ in
            let client = try RawClient(port: address.port)
            await client.send("GET /\(String(repeating: "t", count: 100_000)) HTTP/1.1\r\nHost: x\r\n\r\n")
            #expect(try await client.receiveToEnd().hasPrefix("HTTP/1.1 414 "))
        }
    }

    @Test func `what the listener refuses is a problem with the headers made for it`() async throws {
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
                let client = try RawClient(port: address.port)
                await client.send(request)
                var reader = AnswerReader(client)
                let answer = try await reader.next()
                #expect(answer.status == status)
                #expect(HTTPProblem(parsing: Array(answer.body.utf8))?.code == code)
                #expect(answer.headers.values("X-Request") == ["r\(number + 1)"])
            }
        }
    }

    @Test func `headers that drip are cut off at their deadline`() async throws {
        try await withListener(echo) {
            $0.headerTimeout = .milliseconds(300)
        } body: { address, _ in
            let client = try RawClient(port: address.port)
            await client.send("GET / HTTP/1.1\r\nHost: x\r\n")
            let drip = Task {
                while !Task.isCancelled, await client.send("X: y\r\n") { try? await Task.sleep(for: .milliseconds(20)) }
            }
            #expect(try await client.receiveToEnd() == "")
            drip.cancel()
            await drip.value
        }
    }

    @Test func `a connection that says nothing is closed at the header deadline`() async throws {
        try await withListener(echo) {
            $0.headerTimeout = .milliseconds(300)
        } body: { address, _ in
            let client = try RawClient(port: address.port)
            #expect(try await client.receiveToEnd() == "")
        }
    }

    @Test func `a body that drips is cut off at its deadline`() async throws {
        try await withListener(echo) {
            $0.bodyTimeout = .milliseconds(300)
        } body: { address, _ in
            let client = try RawClient(port: address.port)
            await client.send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\n")
            let drip = Task {
                while !Task.isCancelled, await client.send("x") { try? await Task.sleep(for: .milliseconds(20)) }
            }
            #expect(try await client.receiveToEnd() == "")
            drip.cancel()
            await drip.value
        }
    }

    @Test func `an idle connection is closed, one that is being answered is not`() async throws {
        let handler = AnyHTTPHandler { request in
            guard request.url == "/slow" else { return echo.respond(to: request) }
            return .suspended {
                try? await Task.sleep(for: .milliseconds(1500))
                return HTTPResponse(status: 200, body: .text("slow"))
            }
        }
        try await withListener(handler) {
            $0.idleTimeout = .seconds(1)
            $0.headerTimeout = .milliseconds(200)
            $0.bodyTimeout = .milliseconds(200)
        } body: { address, _ in
            let client = try RawClient(port: address.port)
            await client.send("GET /slow HTTP/1.1\r\nHost: x\r\n\r\n")
            var reader = AnswerReader(client)
            #expect(try await reader.next().body == "slow")
            #expect(try await client.receiveToEnd() == "")
        }
    }

    @Test func `where every connection is being answered, another one waits until one is free`() async throws {
        let gate = Signal()
        let handler = AnyHTTPHandler { request in
            guard request.url == "/slow" else { return echo.respond(to: request) }
            return .suspended {
                await gate.wait()
                return HTTPResponse(status: 200, body: .text("slow"))
            }
        }
        try await withListener(handler) {
            $0.maximumConnections = 2
            $0.givesWayAfter = .zero
        } body: { address, _ in
            let clients = [try RawClient(port: address.port), try RawClient(port: address.port)]
            for client in clients { await client.send("GET /slow HTTP/1.1\r\nHost: x\r\n\r\n") }
            let third = try RawClient(port: address.port)
            let isAnswered = Locked(false)
            let answer = Task {
                await third.send("GET /third HTTP/1.1\r\nHost: x\r\n\r\n")
                var reader = AnswerReader(third)
                let answer = try await reader.next()
                isAnswered.withLock { $0 = true }
                return answer.body
            }
            // Longer than the pause after which the acceptor looks again.
            try await Task.sleep(for: .milliseconds(300))
            #expect(!isAnswered.withLock { $0 })
            gate.fire()
            for client in clients {
                var reader = AnswerReader(client)
                #expect(try await reader.next().body == "slow")
            }
            #expect(try await answer.value == "GET /third\n")
        }
    }

    @Test func `where all connections wait for their clients, the one that has waited longest gives way`() async throws
    {
        try await withListener(echo) {
            $0.maximumConnections = 3
            $0.threads = 1
            $0.givesWayAfter = .zero
            $0.headerTimeout = .seconds(3600)
            $0.bodyTimeout = .seconds(3600)
        } body: { address, _ in
            let request = "GET / HTTP/1.1\r\nHost: x\r\n\r\n"
            let (idle, dripping, sending) = (
                try RawClient(port: address.port), try RawClient(port: address.port), try RawClient(port: address.port)
            )
            await idle.send(request)
            var reader = AnswerReader(idle)
            _ = try await reader.next()
            await dripping.send("GET / HTTP/1.1\r\nHost: x\r\nX: ")
            await sending.send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n")
            // All of them in turn, each for one more: which one had waited longest is for the clock to say.
            var open = [idle, dripping, sending]
            for _ in 0..<3 {
                let next = try RawClient(port: address.port)
                await next.send(request)
                var reader = AnswerReader(next)
                #expect(try await reader.next().status == 200)
                open.append(next)
            }
            for client in open.prefix(3) { #expect(try await client.receiveToEnd() == "") }
            for client in open.suffix(3) {
                await client.send(request)
                var reader = AnswerReader(client)
                #expect(try await reader.next().status == 200)
            }
        }
    }

    @Test func `a connection does not give way before its time`() async throws {
        try await withListener(echo) {
            $0.maximumConnections = 1
            $0.givesWayAfter = .seconds(3600)
            $0.headerTimeout = .seconds(3600)
        } body: { address, _ in
            let first = try RawClient(port: address.port)
            let second = try RawClient(port: address.port)
            await second.send("GET /second HTTP/1.1\r\nHost: x\r\n\r\n")
            try await Task.sleep(for: .milliseconds(500))
            await first.send("GET /first HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
            #expect(try await first.receiveToEnd().hasSuffix("GET /first\n"))
            var reader = AnswerReader(second)
            #expect(try await reader.next().body == "GET /second\n")
        }
    }

    @Test func `clients that never ask do not keep out those who do`() async throws {
        try await withListener(echo) {
            $0.maximumConnections = 32
            $0.givesWayAfter = .zero
            $0.headerTimeout = .seconds(3600)
        } body: { address, _ in
            var silent: [RawClient] = []
            for number in 0..<400 {
                let client = try RawClient(port: address.port)
                if number % 2 == 0 { await client.send("G") }
                silent.append(client)
                guard number % 40 == 39 else { continue }
                let honest = try RawClient(port: address.port)
                await honest.send("GET /\(number) HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
                #expect(try await honest.receiveToEnd().hasSuffix("GET /\(number)\n"))
            }
            #expect(silent.count == 400)
        }
    }

    @Test(arguments: [1, 3]) func `every connection gets its turn, however few may be open at once`(limit: Int)
        async throws
    {
        try await withListener(echo) {
            $0.maximumConnections = limit
            $0.headerTimeout = .seconds(3600)
            $0.givesWayAfter = .seconds(3600)
        } body: { address, _ in
            let answered = try await withThrowingTaskGroup(of: Int.self) { group in
                for client in 0..<8 {
                    group.addTask {
                        for turn in 0..<25 {
                            let connection = try RawClient(port: address.port)
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

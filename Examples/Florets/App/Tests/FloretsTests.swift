import Foundation
import HTTPCore
import NetworkInterception
import PluginHub
import Primitives
import Testing

/// The florets of the guide, each in an interceptor in front of a server in this process.
@Suite struct FloretsTests {
    /// A clock that a test sets.
    private final class SettableClock: WallClock {
        private let instant = Locked(Date(timeIntervalSince1970: 1_700_000_000))
        func now() -> Date { instant.withLock { $0 } }
        func sleep(until deadline: Date) async throws {}
        func move(_ seconds: TimeInterval) { instant.withLock { $0 += seconds } }
    }

    /// Records its requests, and answers each with the number of requests so far.
    private final class Server: HTTPHandler {
        let asked = Locked<[HTTPRequest]>([])
        private let headers: HTTPHeaders
        private let clock: SettableClock?
        private let duration: TimeInterval

        init(headers: HTTPHeaders = [:], clock: SettableClock? = nil, taking duration: TimeInterval = 0) {
            self.headers = headers
            self.clock = clock
            self.duration = duration
        }

        func respond(to request: HTTPRequest) -> HTTPReply {
            asked.withLock { $0.append(request) }
            clock?.move(duration)
            return .ready(HTTPResponse(status: 200, headers: headers, body: .text("\(asked.withLock { $0.count })")))
        }
    }

    @Test func `every request has the stamp unless the floret is disabled`() async throws {
        let (server, stamp) = (Server(), HeaderStamp(run: "7"))
        let interceptor = Interceptor([stamp])
        interceptor.run()
        let transport = interceptor.transport(wrapping: InProcessTransport(server))
        _ = try await transport.send(HTTPRequest(method: .get, url: "http://a/"))
        stamp.enabled = false
        _ = try await transport.send(HTTPRequest(method: .get, url: "http://a/"))
        #expect(server.asked.withLock { $0.map { $0.headers["X-Run"] } } == ["7", nil])
    }

    @Test func `a cached response is returned without the network until it expires`() async throws {
        let (server, clock) = (Server(), SettableClock())
        let interceptor = Interceptor([ResponseCache(lifetime: 60, clock: clock)])
        interceptor.run()
        let transport = interceptor.transport(wrapping: InProcessTransport(server))
        var answers: [String] = []
        for step: TimeInterval in [0, 59, 1, 0] {
            clock.move(step)
            let answer = try await transport.send(HTTPRequest(method: .get, url: "http://a/"))
            answers.append(String(decoding: try await answer.body.collect(upTo: 10), as: UTF8.self))
        }
        #expect(answers == ["1", "1", "2", "2"])
    }

    @Test func `no-store responses and responses to authorized requests or POST are not cached`() async throws {
        let cases: [(HTTPHeaders, HTTPRequest)] = [
            (["Cache-Control": "no-store"], HTTPRequest(method: .get, url: "http://a/")),
            ([:], HTTPRequest(method: .get, url: "http://a/", headers: ["Authorization": "Bearer x"])),
            ([:], HTTPRequest(method: .post, url: "http://a/")),
        ]
        for (headers, request) in cases {
            let server = Server(headers: headers)
            let interceptor = Interceptor([ResponseCache(lifetime: 60, clock: SettableClock())])
            interceptor.run()
            let transport = interceptor.transport(wrapping: InProcessTransport(server))
            for _ in 0..<2 { _ = try await transport.send(request) }
            #expect(server.asked.withLock { $0.count } == 2)
        }
    }

    @Test func `the chart counts latencies until its action resets the counts`() async throws {
        let clock = SettableClock()
        var configuration = Interceptor.Configuration.standard
        configuration.clock = clock
        let chart = LatencyChart()
        let interceptor = Interceptor([chart], configuration: configuration)
        interceptor.run()
        for seconds in [0.005, 0.005, 0.2] {
            let server = Server(clock: clock, taking: seconds)
            _ = try await interceptor.transport(wrapping: InProcessTransport(server)).send(
                HTTPRequest(method: .get, url: "http://a/"))
        }
        let text = try #require(chart.view(interceptor)).text()
        #expect(text.contains("under 10 ms    ████████████████████ 2"))
        #expect(text.contains("under 300 ms   ██████████ 1"))
        try await chart.perform(.init("latency.forget"), in: interceptor)
        #expect(chart.view(interceptor)?.text().contains("█") == false)
        await #expect(throws: InterceptionError(.unknownAction, "")) {
            try await chart.perform(.init("latency.unknown"), in: interceptor)
        }
    }
}

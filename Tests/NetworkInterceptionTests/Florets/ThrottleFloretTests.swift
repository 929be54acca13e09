import HTTPCore
import NetworkInterception
import Primitives
import Testing

@Suite struct ThrottleFloretTests {
    private let waited = Locked<[Duration]>([])

    private func throttle(_ limits: ThrottleFloret.Limits) -> ThrottleFloret {
        ThrottleFloret(limits) { [waited] duration in waited.withLock { $0.append(duration) } }
    }

    private var total: Duration { waited.withLock { $0.reduce(.zero, +) } }

    @Test func `a stream is sent in chunks that take at most a tenth of a second each, and it arrives unchanged`()
        async throws
    {
        let scene = FloretScene([throttle(.init(up: 100))])
        try await scene.send(.post, body: .stream(HTTPBodyStream([Array(0..<25), [], Array(25..<50)])))
        #expect(scene.last?.body.buffered == Array(0..<50))
        #expect(waited.withLock { $0.count } == 6)
        #expect(total == .milliseconds(500))
    }

    @Test func `a buffered body waits as long as its transfer would take`() async throws {
        let scene = FloretScene([throttle(.init(up: 10, down: 5, latency: .seconds(2)))])
        let answer = try await scene.send(.post, body: .text("1234567890"))
        #expect(waited.withLock { $0 } == [.seconds(2), .seconds(1), .seconds(2)])
        #expect(try await answer.body.text() == "1234567890")
    }

    @Test func `a request that is not sent is not delayed by its body`() async throws {
        let scene = FloretScene([MockFloret(rules: [.init(.all(), [Response(status: 204)])]), throttle(.init(up: 10))])
        #expect(try await scene.send(.post, body: .text("1234567890")).status == 204)
        #expect(waited.withLock { $0 }.isEmpty)
    }

    @Test func `a reader that is cancelled during the delay of a chunk cancels the source of the stream`() async throws
    {
        let stopped = Locked(false)
        let floret = ThrottleFloret(.init(up: 1)) { _ in throw CancellationError() }
        let stream = HTTPBodyStream(next: { [1] }, cancel: { stopped.withLock { $0 = true } })
        let record = await floret.willRequest(
            Record(HTTPRequest(method: .put, url: "http://a/", body: .stream(stream))))
        await #expect(throws: CancellationError.self) { try await record.designatedRequest.body.collect(upTo: 9) }
        #expect(stopped.withLock { $0 })
    }

    @Test func `the screen sets the limits and rejects invalid ones`() async throws {
        let floret = throttle(.init())
        let scene = FloretScene([floret])
        let view = try #require(floret.view(scene.interceptor))
        for (row, value) in [("up", "1000"), ("latency", "0.5")] {
            try await floret.perform(view.action(setting: row, to: .string(value)), in: scene.interceptor)
        }
        #expect(floret.limits == .init(up: 1000, latency: .milliseconds(500)))
        for (row, value) in [("down", "0"), ("down", "fast"), ("latency", "-1")] {
            await #expect(throws: InterceptionError(.invalidSetting, "")) {
                try await floret.perform(view.action(setting: row, to: .string(value)), in: scene.interceptor)
            }
        }
        #expect(floret.limits == .init(up: 1000, latency: .milliseconds(500)))
        try await floret.perform(view.action(setting: "up", to: ""), in: scene.interceptor)
        #expect(floret.limits.up == nil)
    }
}

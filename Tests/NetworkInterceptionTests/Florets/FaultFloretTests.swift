import HTTPCore
import NetworkInterception
import Primitives
import Testing

@Suite struct FaultFloretTests {
    @Test func `a connection that fails before sending reaches no server`() async throws {
        let scene = FloretScene([FaultFloret([.init(.drop(.beforeSending))])])
        await #expect(throws: HTTPError(.connectionFailed, "")) { try await scene.send() }
        #expect(scene.last == nil)
    }

    @Test func `a connection that is lost after sending has delivered the request`() async throws {
        let scene = FloretScene([FaultFloret([.init(.drop(.afterSending))])])
        await #expect(throws: HTTPError(.connectionLost, "")) { try await scene.send(.post) }
        #expect(scene.last?.method == .post)
    }

    @Test(arguments: [HTTPBody.text("0123456789"), .empty])
    func `a connection lost during the response delivers the head and at most half of the body`(body: HTTPBody)
        async throws
    {
        let scene = FloretScene([FaultFloret([.init(.drop(.inAnswer))])]) { _ in Response(status: 201, body: body) }
        let answer = try await scene.send()
        #expect(answer.status == 201)
        guard case .stream(let stream) = answer.body else {
            Issue.record("the body arrived whole")
            return
        }
        var came: [UInt8] = []
        await #expect(throws: HTTPError(.connectionLost, "")) {
            while let chunk = try await stream.next() { came += chunk }
        }
        #expect(came == Array("01234".utf8.prefix((body.length ?? 0) / 2)))
    }

    @Test func `a short stream of unknown length fails at its end`() async throws {
        let scene = FloretScene([FaultFloret([.init(.drop(.inAnswer))])]) { _ in
            Response(status: 200, body: .stream(HTTPBodyStream(next: Self.once("short"))))
        }
        let answer = try await scene.send()
        await #expect(throws: HTTPError(.connectionLost, "")) { try await answer.body.collect(upTo: 100) }
    }

    private static func once(_ text: String) -> @Sendable () async throws -> [UInt8]? {
        let chunks = Locked([Array(text.utf8)])
        return { chunks.withLock { $0.popLast() } }
    }

    @Test func `a status replaces the response, with or without sending the request`() async throws {
        let floret = FaultFloret([
            .init(.status(503, headers: ["Retry-After": "1"], body: Array("busy".utf8)), .path("/before")),
            .init(.status(500, afterSending: true), .path("/after")),
        ])
        let scene = FloretScene([floret])
        let busy = try await scene.send(.get, "http://a/before")
        #expect(busy.status == 503 && busy.headers["Retry-After"] == "1")
        #expect(try await busy.body.text() == "busy")
        #expect(scene.last == nil)
        #expect(try await scene.send(.get, "http://a/after").status == 500)
        #expect(scene.last?.url == "/after")
        #expect(floret.counts.map { [$0.selected, $0.hit] } == [[1, 1], [1, 1]])
    }

    @Test(arguments: [true, false])
    func `faults truncate and corrupt buffered and streamed bodies`(isStream: Bool) async throws {
        let whole = [UInt8](repeating: 7, count: 1000)
        let floret = FaultFloret([
            .init(.truncated(after: 30), .path("/cut")), .init(.corrupted(every: 100), .path("/damaged")),
        ])
        let scene = FloretScene([floret]) { _ in
            let pieces = [Array(whole[..<333]), Array(whole[333...])]
            return Response(status: 200, body: isStream ? .stream(HTTPBodyStream(pieces)) : .bytes(whole))
        }
        let cut = try await scene.send(.get, "http://a/cut")
        #expect(try await cut.body.collect(upTo: 1000) == Array(whole[..<30]))
        let damaged = try await scene.send(.get, "http://a/damaged").body.collect(upTo: 1000)
        #expect(damaged.count == 1000)
        for start in stride(from: 0, to: 1000, by: 100) {
            #expect(damaged[start..<start + 100].filter { $0 != 7 }.count == 1)
        }
        let places = damaged.indices.filter { damaged[$0] != 7 }
        #expect(Set(places.map { $0 % 100 }).count > 1)
        floret.reset()
        try await scene.send(.get, "http://a/other")
        let again = try await scene.send(.get, "http://a/damaged").body.collect(upTo: 1000)
        #expect(again.indices.filter { again[$0] != 7 } == places)
    }

    /// Sends 200 requests, concurrently or one after another, and returns the number of those that failed.
    private func refused(seed: UInt64, atOnce: Bool) async throws -> Int {
        let scene = FloretScene([FaultFloret([.init(.status(503), probability: 0.3)], seed: seed)])
        guard atOnce else {
            var count = 0
            for _ in 0..<200 where try await scene.send().status == 503 { count += 1 }
            return count
        }
        return try await withThrowingTaskGroup(of: Int.self) { group in
            for _ in 0..<200 { group.addTask { try await scene.send().status == 503 ? 1 : 0 } }
            return try await group.reduce(0, +)
        }
    }

    @Test func `the same seed causes the same number of faults, in sequence and concurrently`() async throws {
        let count = try await refused(seed: 7, atOnce: false)
        #expect(try await refused(seed: 7, atOnce: true) == count)
        #expect((30...90).contains(count))
    }

    @Test func `the same seed causes the same faults, and another seed causes others`() async throws {
        func pattern(_ seed: UInt64) async throws -> [Bool] {
            let scene = FloretScene([FaultFloret([.init(.status(503), probability: 0.5)], seed: seed)])
            var pattern: [Bool] = []
            for _ in 0..<64 { pattern.append(try await scene.send().status == 503) }
            return pattern
        }
        let first = try await pattern(1)
        #expect(try await pattern(1) == first)
        #expect(try await pattern(2) != first)
    }

    @Test func `each rule affects requests independently of the other rules`() async throws {
        let rules = (0..<2).map { _ in FaultFloret.Rule(.truncated(after: 1), probability: 0.5) }
        let floret = FaultFloret(rules)
        let scene = FloretScene([floret])
        var pairs: Set<[Int]> = []
        for _ in 0..<64 {
            let before = floret.counts.map(\.hit)
            _ = try await scene.send()
            pairs.insert(zip(floret.counts, before).map { $0.hit - $1 })
        }
        #expect(pairs == [[0, 0], [0, 1], [1, 0], [1, 1]])
    }

    @Test func `only the selected requests get the fault`() async throws {
        let floret = FaultFloret([.init(.status(503), .path("/x"), requests: 2...3)])
        let scene = FloretScene([floret])
        var statuses: [Int] = []
        for path in ["x", "y", "x", "x", "x"] { statuses.append(try await scene.send(.get, "http://a/\(path)").status) }
        #expect(statuses == [200, 200, 503, 503, 200])
        #expect(floret.counts.map { [$0.selected, $0.hit] } == [[4, 2]])
    }

    @Test(arguments: [
        Latency.constant(.milliseconds(250)), .uniform(.milliseconds(100)...(.milliseconds(400))),
        .normal(mean: .milliseconds(250), deviation: .milliseconds(20)), .exponential(mean: .milliseconds(250)),
        .pareto(minimum: .milliseconds(125), shape: 2),
    ])
    func `requests wait for the latency, and the mean delay is as configured`(latency: Latency) async throws {
        let waited = Locked<[Duration]>([])
        let floret = FaultFloret([.init(.latency(latency))]) { duration in waited.withLock { $0.append(duration) } }
        let record = Record(HTTPRequest(method: .get, url: "http://a/"))
        for _ in 0..<4000 { _ = await floret.willRequest(record) }
        let all = waited.withLock { $0 }
        let mean = all.reduce(.zero, +) / all.count
        #expect(all.count == 4000 && all.allSatisfy { $0 >= .zero && $0 <= Latency.maximum })
        #expect((.milliseconds(225)...(.milliseconds(275))).contains(mean), "\(latency): \(mean)")
    }

    @Test func `no request waits longer than an hour`() async throws {
        let waited = Locked<[Duration]>([])
        let floret = FaultFloret([.init(.latency(.constant(.seconds(7200))))]) { duration in
            waited.withLock { $0.append(duration) }
        }
        _ = try await FloretScene([floret]).send()
        #expect(waited.withLock { $0 } == [Latency.maximum])
    }

    @Test func `a selector of the answer is evaluated when the answer has arrived`() async throws {
        let scene = FloretScene([FaultFloret([.init(.truncated(after: 1), .contentType("image/*"))])]) { request in
            Response(
                status: 200, headers: ["Content-Type": request.url == "/picture" ? "image/png" : "text/plain"],
                body: .text("abc"))
        }
        #expect(try await scene.send(.get, "http://a/picture").body.text() == "a")
        #expect(try await scene.send(.get, "http://a/text").body.text() == "abc")
    }

    @Test func `a fault after sending is selected by the app's request, even if another floret changed its URL`()
        async throws
    {
        let scene = FloretScene([
            FaultFloret([.init(.drop(.afterSending), .host("a.example") && .path("/x"))]),
            MapRemoteFloret([.init("away", from: .init(path: "/x"), to: .init(host: "b.example", path: "/y"))]),
        ])
        await #expect(throws: HTTPError(.connectionLost, "")) { try await scene.send(.get, "http://a.example/x") }
        #expect(scene.last?.url == "/y")
        #expect(try await scene.send(.get, "http://b.example/x").status == 200)
    }

    @Test func `the screen shows counts, and its actions disable rules and reset counts`() async throws {
        let floret = FaultFloret([.init(.drop(.beforeSending), name: "No network")])
        let scene = FloretScene([floret])
        _ = try? await scene.send()
        let view = try #require(floret.view(scene.interceptor))
        #expect(view.row("rule0")?.label == "No network: 1 of 1 requests")
        try await floret.perform(view.action(setting: "rule0", to: false), in: scene.interceptor)
        #expect(try await scene.send().status == 200)
        try await scene.perform(floret, "fault.reset")
        #expect(floret.counts.map { [$0.selected, $0.hit] } == [[0, 0]])
        await #expect(throws: InterceptionError(.unknownAction, "")) { try await scene.perform(floret, "fault") }
    }
}

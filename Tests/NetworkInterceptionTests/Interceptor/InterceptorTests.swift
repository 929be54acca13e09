import BaseTestSupport
import Foundation
import HTTPCore
import NetworkInterception
import PluginHub
import Primitives
import StoreTestSupport
import Testing

/// The handling of requests, as florets and the app see it.
@Suite struct InterceptorTests {
    @Test func `the changed request is sent, and the original one is recorded too`() async throws {
        let interceptor = Interceptor.running([Probe(before: { $0.designatedRequest.url = "http://a/new" })])
        let answer = try await interceptor.transport(wrapping: .echo).send(
            HTTPRequest(method: .get, url: "http://a/old"))
        #expect(answer.headers["X-Target"] == "/new")
        let record = try #require(await interceptor.records.first)
        #expect(record.originalRequest.url == "http://a/old")
        #expect(record.designatedRequest.url == "http://a/new")
        #expect(record.changes == [.init(floret: "Probe", kind: .changedRequest)])
        #expect(record.timing.ended != nil)
    }

    @Test(arguments: [true, false])
    func `a floret that answers or fails a request prevents its sending, and all florets still run`(_ fails: Bool)
        async throws
    {
        let diary = Diary()
        let interceptor = Interceptor.running([
            Probe(
                "A",
                before: { record in
                    record.result = fails ? .failure(HTTPError(.tlsFailed, "no")) : .success(Response(status: 418))
                }, after: { record in diary.write("A \(record.response?.status ?? 0)") }),
            Probe(
                "B", before: { record in diary.write("B will, \(record.result == nil ? "open" : "decided")") },
                after: { record in diary.write("B \(record.response?.status ?? 0)") }),
        ])
        // A transport without a script fails the test on a request.
        let transport = interceptor.transport(wrapping: ScriptedTransport())
        if fails {
            await #expect(throws: HTTPError(.tlsFailed, "")) { try await transport.send(getRoot) }
        } else {
            #expect(try await transport.send(getRoot).status == 418)
        }
        #expect(diary.all == ["B will, decided", "A \(fails ? 0 : 418)", "B \(fails ? 0 : 418)"])
        let record = try #require(await interceptor.records.first)
        #expect(record.changes == [.init(floret: "A", kind: fails ? .failed : .answered)])
        #expect(record.timing.sent == nil)
        #expect(record.timing.ended != nil)
    }

    @Test func `florets run in order in both directions, each once and with the previous one's result`()
        async throws
    {
        let diary = Diary()
        func floret(_ name: String) -> Probe {
            Probe(
                name,
                before: { record in
                    diary.write("\(name) will \(record.designatedRequest.headers["X-Way"] ?? "-")")
                    record.designatedRequest.headers["X-Way"] = name
                },
                after: { record in
                    diary.write("\(name) did \(record.response?.headers["X-Way"] ?? "-")")
                    guard case .success(var response)? = record.result else { return }
                    response.headers["X-Way"] = name
                    record.result = .success(response)
                })
        }
        let interceptor = Interceptor.running([floret("A"), floret("B"), floret("C")])
        let answer = try await interceptor.transport(wrapping: .echo).send(getRoot)
        #expect(diary.all == ["A will -", "B will A", "C will B", "A did -", "B did A", "C did B"])
        #expect(answer.headers["X-Way"] == "C")
    }

    @Test func `the enabled florets are determined once per request`() async throws {
        let diary = Diary()
        let late = Probe("late", before: { _ in diary.write("late will") }, after: { _ in diary.write("late did") })
        late.enabled = false
        let early = Probe("early", before: { _ in diary.write("early will") }, after: { _ in diary.write("early did") })
        let interceptor = Interceptor.running([early, late])
        let transport = interceptor.transport(
            wrapping: AnyTransport { _ in
                early.enabled = false
                late.enabled = true
                return HTTPResponse(status: 200)
            })
        _ = try await transport.send(getRoot)
        #expect(diary.all == ["early will", "early did"])
        _ = try await transport.send(getRoot)
        #expect(diary.all.dropFirst(2) == ["late will", "late did"])
    }

    @Test func `a floret in didRespond may replace the answer, turn it into a failure, and a failure into an answer`()
        async throws
    {
        let step = Locked<Result<Response, any Error>>(.success(Response(status: 201)))
        let interceptor = Interceptor.running([Probe(after: { $0.result = step.withLock { $0 } })])
        let working = interceptor.transport(wrapping: .echo)
        let broken = interceptor.transport(wrapping: AnyTransport { _ in throw HTTPError(.connectionLost, "gone") })
        #expect(try await working.send(getRoot).status == 201)
        #expect(try await broken.send(getRoot).status == 201)
        step.withLock { $0 = .failure(HTTPError(.timeout, "late")) }
        await #expect(throws: HTTPError(.timeout, "")) { try await working.send(getRoot) }
        let kinds = await interceptor.records.reversed().map { $0.changes.map(\.kind) }
        #expect(kinds == [[.changedResponse], [.answered], [.failed]])
    }

    @Test func `a floret that removes the result fails the request, and the failure is recorded`() async throws {
        let interceptor = Interceptor.running([Probe(after: { $0.result = nil })])
        await #expect(throws: InterceptionError(.noResult, "")) {
            try await interceptor.transport(wrapping: .echo).send(getRoot)
        }
        let record = try #require(await interceptor.records.first)
        #expect(record.failure as? InterceptionError == InterceptionError(.noResult, ""))
    }

    @Test func `a floret can return another record, and the id stays`() async throws {
        let interceptor = Interceptor.running([
            Probe(before: { $0 = Record(HTTPRequest(method: .post, url: "http://b/other")) })
        ])
        let ids = Locked<Set<Record.ID>>([])
        let updates = interceptor.storage.updates
        let answer = try await interceptor.transport(wrapping: .echo).send(getRoot)
        #expect(answer.headers["X-Target"] == "/other")
        var count = 0
        for await record in updates {
            ids.withLock { _ = $0.insert(record.id) }
            count += 1
            if record.timing.ended != nil { break }
        }
        #expect(count == 2)
        #expect(ids.withLock { $0.count } == 1)
        #expect(await interceptor.records.count == 1)
    }

    @Test func `a floret that neither intercepts nor displays is reported as having no effect`() {
        final class Bare: Floret {}
        final class Both: InterceptableFloret, DisplayableFloret {
            let enabledNow = Locked(true)
            var enabled: Bool {
                get { enabledNow.withLock { $0 } }
                set { enabledNow.withLock { $0 = newValue } }
            }
            func view(_ interceptor: Interceptor) -> ViewDocument? {
                ViewDocument(title: "\(interceptor.florets.count) florets")
            }
        }
        let log = Diary()
        let both = Both()
        var configuration = Interceptor.Configuration.standard
        configuration.onReport = { log.write($0.floret) }
        let interceptor = Interceptor([Bare(), both], configuration: configuration)
        #expect(interceptor.reports.map(\.code) == [.noEffect])
        #expect(interceptor.reports.first?.message.contains("\"Bare\" has no effect") == true)
        #expect(log.all == ["Bare"])
        #expect(both.view(interceptor)?.title == "2 florets")
    }

    @Test func `an unknown action is rejected with its name`() async {
        final class Silent: DisplayableFloret {}
        let floret = Silent()
        #expect(floret.view(Interceptor([floret])) == nil)
        let error = await #expect(throws: InterceptionError.self) {
            try await floret.perform(.init("explode"), in: Interceptor([floret]))
        }
        #expect(error?.code == .unknownAction)
        #expect(error?.reason.contains("explode") == true)
    }

    @Test func `before it runs and while it pauses, an interceptor calls no floret and records nothing`() async throws {
        let asked = Locked(0)
        let interceptor = Interceptor([Probe(before: { _ in asked.withLock { $0 += 1 } })])
        let transport = interceptor.transport(wrapping: .echo)
        _ = try await transport.send(getRoot)
        interceptor.run()
        _ = try await transport.send(getRoot)
        interceptor.pause()
        _ = try await transport.send(getRoot)
        #expect(await interceptor.records.count == 1)
        #expect(asked.withLock { $0 } == 1)
    }

    @Test func `a request that is under way when the interceptor pauses is handled to its end`() async throws {
        let interceptor = Interceptor.running([Probe(after: { $0.result = .success(Response(status: 299)) })])
        let transport = interceptor.transport(
            wrapping: AnyTransport { _ in
                interceptor.pause()
                return HTTPResponse(status: 200)
            })
        #expect(try await transport.send(getRoot).status == 299)
        #expect(await interceptor.records.first?.timing.ended != nil)
    }

    @Test func `the outermost of several interceptors runs first, and each has its own records`()
        async throws
    {
        let inner = Interceptor.running([Probe("inner", before: { $0.designatedRequest.url += "/inner" })])
        let outer = Interceptor.running([Probe("outer", before: { $0.designatedRequest.url += "outer" })])
        let transport = outer.transport(wrapping: inner.transport(wrapping: .echo))
        let answer = try await transport.send(getRoot)
        #expect(answer.headers["X-Target"] == "/outer/inner")
        #expect(await outer.records.map(\.designatedRequest.url) == ["http://a/outer"])
        #expect(await inner.records.map(\.originalRequest.url) == ["http://a/outer"])
        inner.pause()
        #expect(try await transport.send(getRoot).headers["X-Target"] == "/outer")
    }

    @Test(.timeLimit(.minutes(1)))
    func `an interceptor without references is released`() async throws {
        weak var gone: Interceptor?
        weak var floret: Probe?
        do {
            let probe = Probe()
            let interceptor = Interceptor.running([probe])
            (gone, floret) = (interceptor, probe)
            let body = HTTPBody.stream(HTTPBodyStream([[1], [2]]))
            let answer = try await interceptor.transport(
                wrapping: AnyTransport { request in
                    HTTPResponse(status: 200, body: .stream(HTTPBodyStream([try await request.body.collect(upTo: 9)])))
                }
            ).send(HTTPRequest(method: .post, url: "http://a/", body: body))
            #expect(try await answer.body.collect(upTo: 9) == [1, 2])
            await interceptor.settled()
        }
        // An ended task may release its references a moment later.
        try await until("the interceptor and its floret are released") { gone == nil && floret == nil }
    }

    @Test func `a thousand concurrent requests become a thousand records, each with its own answer`() async throws {
        let interceptor = Interceptor.running([
            Probe(before: {
                await letOthersRun()
                $0.designatedRequest.url += "!"
            })
        ])
        let transport = interceptor.transport(wrapping: .echo)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<1000 {
                group.addTask {
                    let answer = try await transport.send(HTTPRequest(method: .get, url: "http://a/\(number)"))
                    #expect(answer.headers["X-Target"] == "/\(number)!")
                }
            }
            try await group.waitForAll()
        }
        let records = await interceptor.records
        #expect(Set(records.map(\.id)).count == 1000)
        #expect(
            records.allSatisfy { $0.response?.headers["X-Target"] == $0.originalRequest.target + "!" })
    }
}

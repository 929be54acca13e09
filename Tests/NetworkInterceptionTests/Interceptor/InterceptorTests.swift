import Foundation
import HTTPCore
import NetworkInterception
import Primitives
import Testing

/// What an interceptor does with a request, from its florets' and from the app's side.
@Suite struct InterceptorTests {
    /// A floret made of two functions.
    private final class Probe: InterceptableFloret {
        private let isEnabled = Locked(true)
        private let before: @Sendable (inout Record) -> Void
        private let after: @Sendable (inout Record) -> Void

        init(
            before: @escaping @Sendable (inout Record) -> Void = { _ in },
            after: @escaping @Sendable (inout Record) -> Void = { _ in }
        ) {
            self.before = before
            self.after = after
        }

        var enabled: Bool {
            get { isEnabled.withLock { $0 } }
            set { isEnabled.withLock { $0 = newValue } }
        }

        func willRequest(_ record: Record) async -> Record {
            var record = record
            before(&record)
            return record
        }

        func didRespond(_ record: Record) async -> Record {
            var record = record
            after(&record)
            return record
        }
    }

    /// Answers with what it was asked.
    private let echo = InProcessTransport(
        AnyHTTPHandler { request in
            .suspended {
                let body = (try? await request.body.collect(upTo: 1 << 20)) ?? []
                return HTTPResponse(status: 200, headers: ["X-Target": request.url], body: .bytes(body))
            }
        })

    @Test func `what a floret changes is sent, and what was asked is recorded beside it`() async throws {
        let interceptor = Interceptor([Probe(before: { $0.designatedRequest.url = "http://a/new" })])
        interceptor.run()
        let answer = try await interceptor.transport(wrapping: echo).send(
            HTTPRequest(method: .get, url: "http://a/old"))
        #expect(answer.headers["X-Target"] == "/new")
        let record = try #require(await interceptor.storage.records(10, after: nil).first)
        #expect(record.originalRequest.url == "http://a/old")
        #expect(record.designatedRequest.url == "http://a/new")
        #expect(record.changes == [.init(floret: "Probe", kind: .changedRequest)])
        #expect(record.timing.ended != nil)
    }

    @Test func `a floret that answers spares the network, and still all hear of the answer`() async throws {
        let heard = Locked(0)
        let interceptor = Interceptor([
            Probe(before: { $0.result = .success(Response(status: 418)) }),
            Probe(after: { record in if record.response?.status == 418 { heard.withLock { $0 += 1 } } }),
        ])
        interceptor.run()
        let network = AnyHTTPHandler { _ in
            Issue.record("the network was asked")
            return .ready(HTTPResponse(status: 500))
        }
        let transport = interceptor.transport(wrapping: InProcessTransport(network))
        #expect(try await transport.send(HTTPRequest(method: .get, url: "http://a/")).status == 418)
        #expect(heard.withLock { $0 } == 1)
    }

    @Test func `a streamed upload passes, and the record has its first bytes`() async throws {
        var configuration = Interceptor.Configuration.standard
        configuration.maximumRecordedBytes = 4
        let interceptor = Interceptor([], configuration: configuration)
        interceptor.run()
        let body = HTTPBody.stream(HTTPBodyStream([[1, 2, 3], [4, 5, 6]]))
        let answer = try await interceptor.transport(wrapping: echo).send(
            HTTPRequest(method: .post, url: "http://a/", body: body))
        #expect(try await answer.body.collect(upTo: 100) == [1, 2, 3, 4, 5, 6])
        let record = try #require(await interceptor.storage.records(1, after: nil).first)
        #expect(record.originalRequest.body.buffered == [1, 2, 3, 4])
        #expect(record.bodies.original == Record.Passage(byteCount: 6, isCut: true))
        #expect(record.response?.body.buffered == [1, 2, 3, 4])
        #expect(record.bodies.response?.isCut == true)
    }

    @Test func `until it runs and while it pauses nothing is recorded`() async throws {
        let interceptor = Interceptor([])
        let transport = interceptor.transport(wrapping: echo)
        _ = try await transport.send(HTTPRequest(method: .get, url: "http://a/"))
        interceptor.run()
        _ = try await transport.send(HTTPRequest(method: .get, url: "http://a/"))
        interceptor.pause()
        _ = try await transport.send(HTTPRequest(method: .get, url: "http://a/"))
        #expect(await interceptor.storage.records(10, after: nil).count == 1)
    }
}

import BaseTestSupport
import Foundation
import HTTPCore
import NetworkInterception
import Primitives
import Testing

/// Florets with completion handlers.
@Suite struct CompletionHandlerFloretTests {
    typealias Handler = @Sendable (Record) -> Void

    private final class ClosureFloret: CompletionHandlerFloret {
        let before: @Sendable (Record, @escaping Handler) -> Void
        let after: @Sendable (Record, @escaping Handler) -> Void

        init(
            before: @escaping @Sendable (Record, @escaping Handler) -> Void = { $1($0) },
            after: @escaping @Sendable (Record, @escaping Handler) -> Void = { $1($0) }
        ) {
            self.before = before
            self.after = after
        }

        var enabled: Bool {
            get { true }
            set {}
        }

        func willRequest(_ record: Record, modificationCompletionHandler completionHandler: @escaping Handler) {
            before(record, completionHandler)
        }

        func didRespond(_ record: Record, modificationCompletionHandler completionHandler: @escaping Handler) {
            after(record, completionHandler)
        }
    }

    private static func renamed(_ record: Record, _ url: String) -> Record {
        var record = record
        record.designatedRequest.url = url
        return record
    }

    @Test func `a completion handler changes the record at once, or later on another thread`() async throws {
        let interceptor = Interceptor.running([
            ClosureFloret(
                before: { record, done in Thread.detachNewThread { done(Self.renamed(record, "http://a/new")) } },
                after: { record, done in
                    var record = record
                    record.result = .success(Response(status: 299))
                    done(record)
                })
        ])
        let answer = try await interceptor.transport(wrapping: .echo).send(getRoot)
        #expect(answer.status == 299)
        #expect(await interceptor.records.first?.designatedRequest.url == "http://a/new")
        #expect(interceptor.reports.isEmpty)
    }

    @Test func `a second call of a completion handler is ignored and reported`() async throws {
        let interceptor = Interceptor.running([
            ClosureFloret(before: { record, done in
                done(Self.renamed(record, "http://a/first"))
                done(Self.renamed(record, "http://a/second"))
            })
        ])
        let answer = try await interceptor.transport(wrapping: .echo).send(getRoot)
        #expect(answer.headers["X-Target"] == "/first")
        #expect(interceptor.reports.map(\.code) == [.calledTwice])
        #expect(interceptor.reports.first?.floret == "ClosureFloret")
    }

    @Test
    func
        `if a completion handler is not called before the deadline, the request continues unchanged, and this is reported`()
        async throws
    {
        let kept = Locked<Handler?>(nil)
        let interceptor = Interceptor.running([
            ClosureFloret(before: { record, done in kept.withLock { $0 = done } }),
            Probe(before: { $0.designatedRequest.url += "next" }),
        ]) { $0.wait = { _ in } }
        let answer = try await interceptor.transport(wrapping: .echo).send(getRoot)
        #expect(answer.headers["X-Target"] == "/next")
        #expect(interceptor.reports.map(\.code) == [.noAnswer])
        #expect(interceptor.reports.first?.message.contains("willRequest") == true)
        let record = try #require(await interceptor.records.first)
        kept.withLock { $0 }?(Self.renamed(record, "http://a/late"))
        #expect(await interceptor.records.first?.designatedRequest.url == "http://a/next")
        #expect(interceptor.reports.count == 1)
    }

    @Test func `a cancelled caller does not wait for the completion handler`() async throws {
        let isAsked = Gate()
        let interceptor = Interceptor.running([ClosureFloret(before: { _, _ in isAsked.open() })]) {
            $0.wait = { _ in try await untilCancelled() }
        }
        let transport = interceptor.transport(wrapping: .echo)
        let sending = Task { try await transport.send(getRoot) }
        await isAsked.wait()
        sending.cancel()
        await #expect(throws: HTTPError(.cancelled, "")) { try await sending.value }
        #expect(interceptor.reports.isEmpty)
        #expect(await interceptor.records.first?.failure as? HTTPError == HTTPError(.cancelled, ""))
    }
}

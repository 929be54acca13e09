import HTTPCore
import NetworkInterception
import Primitives
import Testing

@Suite struct BodyStreamFloretTests {
    /// Records the lengths of the buffered bodies that reach it, and `nil` for streams.
    private final class BodyLengthFloret: InterceptableFloret {
        let seen = Locked<[Int?]>([])
        var enabled: Bool {
            get { true }
            set {}
        }

        func willRequest(_ record: Record) async -> Record {
            seen.withLock { $0.append(record.designatedRequest.body.buffered?.count) }
            return record
        }

        func didRespond(_ record: Record) async -> Record {
            seen.withLock { $0.append(record.response?.body.buffered?.count) }
            return record
        }
    }

    private func scene(limit: Int, _ lengths: BodyLengthFloret) -> FloretScene {
        FloretScene([BodyStreamFloret(maximumConvertedByteSize: limit), lengths]) { request in
            Response(status: 200, body: .stream(HTTPBodyStream([request.body.buffered ?? []])))
        }
    }

    @Test func `later florets get buffered bodies of requests and responses`() async throws {
        let lengths = BodyLengthFloret()
        let answer = try await scene(limit: 6, lengths).send(.post, body: .pieces("abc", "", "def"))
        #expect(lengths.seen.withLock { $0 } == [6, 6])
        #expect(try await answer.body.text() == "abcdef")
    }

    @Test func `a body over the limit stays a stream, and nothing is lost`() async throws {
        let lengths = BodyLengthFloret()
        let answer = try await scene(limit: 5, lengths).send(.post, body: .pieces("abc", "def", "ghi"))
        #expect(lengths.seen.withLock { $0 } == [nil, nil])
        #expect(try await answer.body.text() == "abcdefghi")
    }

    @Test func `a stream with a length over the limit is not read`() async throws {
        let begun = Locked(false)
        let stream = HTTPBodyStream(length: 1 << 40) {
            begun.withLock { $0 = true }
            return nil
        }
        var record = Record(HTTPRequest(method: .put, url: "http://a/", body: .stream(stream)))
        record = await BodyStreamFloret().willRequest(record)
        #expect(!begun.withLock { $0 })
    }

    @Test func `a body that fails delivers the bytes that arrived, then its error`() async throws {
        let chunks = Locked([[UInt8]](repeating: [1, 2], count: 2))
        let stream = HTTPBodyStream {
            if let chunk = chunks.withLock({ $0.popLast() }) { return chunk }
            throw HTTPError(.connectionLost, "gone")
        }
        let record = await BodyStreamFloret().willRequest(
            Record(HTTPRequest(method: .put, url: "http://a/", body: .stream(stream))))
        guard case .stream(let rest) = record.designatedRequest.body else {
            Issue.record("the failed body was buffered")
            return
        }
        for _ in 1...2 { #expect(try await rest.next() == [1, 2]) }
        await #expect(throws: HTTPError(.connectionLost, "")) { try await rest.next() }
    }

    @Test func `abandoning the rest of a body cancels its source`() async throws {
        let cancelled = Locked(false)
        let stream = HTTPBodyStream(next: { [0, 0] }, cancel: { cancelled.withLock { $0 = true } })
        let record = await BodyStreamFloret(maximumConvertedByteSize: 3).willRequest(
            Record(HTTPRequest(method: .put, url: "http://a/", body: .stream(stream))))
        guard case .stream(let rest) = record.designatedRequest.body else {
            Issue.record("the endless body was buffered")
            return
        }
        rest.cancel()
        #expect(cancelled.withLock { $0 })
    }

    @Test func `an event stream is not buffered`() async throws {
        let scene = FloretScene([BodyStreamFloret()]) { _ in
            let stream = HTTPBodyStream(next: {
                Issue.record("the event stream was buffered")
                return nil
            })
            return Response(
                status: 200, headers: ["Content-Type": "text/event-stream; charset=utf-8"], body: .stream(stream))
        }
        let answer = try await scene.send()
        #expect(answer.body.buffered == nil)
    }

    @Test func `bodies that the selector does not match stay streams`() async throws {
        let floret = BodyStreamFloret(selector: .path("/small"))
        let record = await floret.willRequest(
            Record(HTTPRequest(method: .put, url: "http://a/large", body: .pieces("a"))))
        #expect(record.designatedRequest.body.buffered == nil)
    }
}

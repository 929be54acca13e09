import BaseTestSupport
import Foundation
import HTTPCore
import NetworkInterception
import Primitives
import Testing

/// The content of the storage over time.
@Suite struct RecordingTests {
    @Test func `a streamed upload passes, and the record has its first bytes`() async throws {
        let interceptor = Interceptor.running([]) { $0.maximumRecordedBytes = 4 }
        let body = HTTPBody.stream(HTTPBodyStream([[1, 2, 3], [4, 5, 6]]))
        let answer = try await interceptor.transport(wrapping: .echo).send(
            HTTPRequest(method: .post, url: "http://a/", body: body))
        #expect(try await answer.body.collect(upTo: 100) == [1, 2, 3, 4, 5, 6])
        let record = try #require(await interceptor.records.first)
        #expect(record.originalRequest.body.buffered == [1, 2, 3, 4])
        #expect(record.designatedRequest.body.buffered == [1, 2, 3, 4])
        #expect(record.bodies.original == Record.BodyTransfer(byteCount: 6, isCut: true))
        #expect(record.bodies.designated == Record.BodyTransfer(byteCount: 6, isCut: true))
        #expect(record.response?.body.buffered == [1, 2, 3, 4])
        #expect(record.bodies.response == Record.BodyTransfer(byteCount: 6, isCut: true))
    }

    @Test func `the states of a record are stored in their order, with the instants of each`() async throws {
        let clock = ManualClock()
        let start = clock.now()
        let interceptor = Interceptor.running([
            Probe(before: { _ in clock.advance(by: 1) }, after: { _ in clock.advance(by: 4) })
        ]) { $0.clock = clock }
        let transport = interceptor.transport(
            wrapping: AnyTransport { _ in
                clock.advance(by: 2)
                return HTTPResponse(status: 200, body: .stream(HTTPBodyStream([[7], [8]])))
            })
        var updates = interceptor.storage.updates.makeAsyncIterator()
        let answer = try await transport.send(getRoot)
        let sent = try #require(await updates.next())
        #expect(sent.timing == .init(started: start, sent: start + 1))
        #expect(sent.result == nil)
        let answered = try #require(await updates.next())
        #expect(answered.timing == .init(started: start, sent: start + 1, answered: start + 3))
        #expect(answered.bodies.response == .init(byteCount: 0, end: .underway))
        clock.advance(by: 8)
        #expect(try await answer.body.collect(upTo: 10) == [7, 8])
        let ended = try #require(await updates.next())
        #expect(ended.timing == .init(started: start, sent: start + 1, answered: start + 3, ended: start + 15))
        #expect(ended.response?.body.buffered == [7, 8])
        #expect(ended.bodies.response == .init(byteCount: 2))
        #expect(Set([sent.id, answered.id, ended.id]).count == 1)
    }

    @Test func `every state is stored without secrets, even if only a part has changed since the last state`()
        async throws
    {
        let interceptor = Interceptor.running([
            Probe(after: { record in
                record.designatedRequest.headers["Cookie"] = "later-secret"
                guard case .success(var response)? = record.result else { return }
                response.headers["Set-Cookie"] = "answered-secret"
                record.result = .success(response)
            })
        ])
        let transport = interceptor.transport(
            wrapping: AnyTransport { _ in HTTPResponse(status: 200, body: .stream(HTTPBodyStream([[1]]))) })
        var updates = interceptor.storage.updates.makeAsyncIterator()
        let answer = try await transport.send(
            HTTPRequest(
                method: .post, url: "http://a/", headers: ["Authorization": "early-secret", "Accept": "*/*"],
                body: .text("plain")))
        #expect(answer.headers["Set-Cookie"] == "answered-secret")
        _ = try await answer.body.collect(upTo: 10)
        for state in ["sent", "answered", "ended"] {
            let record = try #require(await updates.next())
            #expect(!"\(record)".contains("-secret"), "\(state)")
            #expect(record.originalRequest.headers["Authorization"] == "[redacted]", "\(state)")
            #expect(record.designatedRequest.headers["Accept"] == "*/*", "\(state)")
            #expect(record.originalRequest.body.buffered == Array("plain".utf8), "\(state)")
            #expect(record.designatedRequest.headers.contains("Cookie") == (state != "sent"), "\(state)")
        }
    }

    @Test func `a streamed answer is returned when its head has arrived, and its body in chunks`() async throws {
        let more = Gate()
        let pieces = Locked<[[UInt8]]>([[1], [2]])
        let interceptor = Interceptor.running([Probe()])
        let transport = interceptor.transport(
            wrapping: AnyTransport { _ in
                let stream = HTTPBodyStream(next: {
                    let piece = pieces.withLock { $0.isEmpty ? nil : $0.removeFirst() }
                    if piece == [2] { await more.wait() }
                    return piece
                })
                return HTTPResponse(status: 200, body: .stream(stream))
            })
        let answer = try await transport.send(getRoot)
        guard case .stream(let stream) = answer.body else { return #expect(Bool(false), "the body was collected") }
        #expect(try await stream.next() == [1])
        more.open()
        #expect(try await stream.next() == [2])
        #expect(try await stream.next() == nil)
    }

    @Test func `a cancelled reader is recorded with the bytes that it read`() async throws {
        let isStopped = OneWay()
        let interceptor = Interceptor.running([])
        let transport = interceptor.transport(
            wrapping: AnyTransport { _ in
                HTTPResponse(
                    status: 200, body: .stream(HTTPBodyStream(next: { [1, 2] }, cancel: { isStopped.happen() })))
            })
        do {
            let answer = try await transport.send(getRoot)
            guard case .stream(let stream) = answer.body else { return #expect(Bool(false), "the body was collected") }
            _ = try await stream.next()
        }
        await interceptor.settled()
        #expect(isStopped.hasHappened)
        let record = try #require(await interceptor.records.first)
        #expect(record.bodies.response == .init(byteCount: 2, end: .cancelled))
        #expect(record.response?.body.buffered == [1, 2])
        #expect(record.timing.ended != nil)
    }

    @Test func `a body is recorded as complete when its reader has all announced bytes`() async throws {
        let interceptor = Interceptor.running([])
        let transport = interceptor.transport(
            wrapping: AnyTransport { _ in HTTPResponse(status: 200, body: .stream(HTTPBodyStream([[1, 2]]))) })
        do {
            let answer = try await transport.send(getRoot)
            guard case .stream(let stream) = answer.body else { return #expect(Bool(false), "the body was collected") }
            _ = try await stream.next()
        }
        await interceptor.settled()
        #expect(await interceptor.records.first?.bodies.response == .init(byteCount: 2))
    }

    @Test func `a body that fails gives its reader the same error, and the failure is recorded`() async throws {
        let interceptor = Interceptor.running([])
        let pieces = Locked(1)
        let transport = interceptor.transport(
            wrapping: AnyTransport { _ in
                HTTPResponse(
                    status: 200,
                    body: .stream(
                        HTTPBodyStream(next: {
                            guard
                                pieces.withLock({
                                    $0 -= 1; return $0
                                }) >= 0
                            else {
                                throw HTTPError(.connectionLost, "gone")
                            }
                            return [9]
                        })))
            })
        let answer = try await transport.send(getRoot)
        await #expect(throws: HTTPError(.connectionLost, "")) { try await answer.body.collect(upTo: 10) }
        let record = try #require(await interceptor.records.first)
        #expect(record.bodies.response == .init(byteCount: 1, end: .failed))
        #expect(record.response?.body.buffered == [9])
    }

    @Test func `an answer that comes before the upload was read is recorded at once, and the rest of the upload later`()
        async throws
    {
        let rest = Gate()
        let reading = Locked<Task<[UInt8], any Error>?>(nil)
        let interceptor = Interceptor.running([])
        let transport = interceptor.transport(
            wrapping: AnyTransport { request in
                reading.withLock {
                    $0 = Task {
                        await rest.wait()
                        return try await request.body.collect(upTo: 100)
                    }
                }
                return HTTPResponse(status: 200)
            })
        do {
            let body = HTTPBody.stream(HTTPBodyStream([[1, 2], [3]]))
            _ = try await transport.send(HTTPRequest(method: .post, url: "http://a/", body: body))
        }
        let early = try #require(await interceptor.records.first)
        #expect(early.bodies.original?.end == .underway)
        #expect(early.response?.status == 200)
        rest.open()
        #expect(try await reading.withLock { $0 }?.value == [1, 2, 3])
        await interceptor.settled()
        let late = try #require(await interceptor.records.first)
        #expect(late.designatedRequest.body.buffered == [1, 2, 3])
        #expect(
            late.bodies
                == .init(original: .init(byteCount: 3), designated: .init(byteCount: 3), response: .init(byteCount: 0)))
    }

    @Test func `a change during a slow write is stored next, so that the last state wins`() async throws {
        /// A storage that stores the second state only when the test permits it.
        final class Slow: RecordStorage {
            let stored = MemoryRecordStorage()
            let states = Locked<[Record]>([])
            let second = Gate()
            let isAtSecond = Gate()

            func store(_ record: Record) async {
                let number = states.withLock { states in
                    states.append(record)
                    return states.count
                }
                if number == 2 {
                    isAtSecond.open()
                    await second.wait()
                }
                await stored.store(record)
            }
            func records(_ count: Int, after record: Record?) async -> [Record] {
                await stored.records(count, after: record)
            }
            var updates: AsyncStream<Record> { stored.updates }
        }
        let slow = Slow()
        let upload = Locked<HTTPBody?>(nil)
        let interceptor = Interceptor.running([]) { $0.storage = slow }
        let transport = interceptor.transport(
            wrapping: AnyTransport { request in
                upload.withLock { $0 = request.body }
                return HTTPResponse(status: 200)
            })
        let sending = Task {
            try await transport.send(
                HTTPRequest(method: .post, url: "http://a/", body: .stream(HTTPBodyStream([[1], [2]]))))
        }
        await slow.isAtSecond.wait()
        let body = try #require(upload.withLock { $0 })
        #expect(try await body.collect(upTo: 9) == [1, 2])
        #expect(await slow.stored.records(1, after: nil).first?.bodies.designated?.end == .underway)
        slow.second.open()
        _ = try await sending.value
        await interceptor.settled()
        #expect(await interceptor.records.first?.bodies.designated == .init(byteCount: 2))
        #expect(slow.states.withLock { $0.last?.bodies.original } == .init(byteCount: 2))
    }

    @Test
    func `the selector runs again on a selected record when its response has come, and a deselected record is removed`()
        async throws
    {
        let asked = Diary()
        let interceptor = Interceptor.running([Probe()]) {
            $0.recordSelector = RecordSelector { record in
                asked.write(record.response.map { "\($0.status)" } ?? "no answer")
                return record.response?.status != 404 && record.originalRequest.path != "/out"
            }
        }
        let transport = interceptor.transport(
            wrapping: AnyTransport { request in
                HTTPResponse(
                    status: request.path == "/missing" ? 404 : 200, body: .stream(HTTPBodyStream([[1], [2]])))
            })
        let missing = try await transport.send(HTTPRequest(method: .get, url: "http://a/missing"))
        #expect(try await missing.body.collect(upTo: 9) == [1, 2])
        #expect(asked.all == ["no answer", "404"])
        #expect(await interceptor.records.isEmpty)
        _ = try await transport.send(HTTPRequest(method: .get, url: "http://a/out"))
        #expect(asked.all == ["no answer", "404", "no answer"])
        _ = try await transport.send(getRoot)
        #expect(await interceptor.records.map(\.originalRequest.path) == ["/"])
    }
}

/// A flag that is set once.
private final class OneWay: Sendable {
    private let flag = Locked(false)
    func happen() { flag.withLock { $0 = true } }
    var hasHappened: Bool { flag.withLock { $0 } }
}

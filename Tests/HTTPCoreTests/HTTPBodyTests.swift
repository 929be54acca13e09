import HTTPCore
import Primitives
import Testing

@Suite struct HTTPBodyTests {
    @Test func `bytes and streams are collected to the same content`() async throws {
        #expect(try await HTTPBody.bytes([1, 2, 3]).collect(upTo: 3) == [1, 2, 3])
        #expect(try await HTTPBody.stream(HTTPBodyStream([[1], [], [2, 3]])).collect(upTo: 3) == [1, 2, 3])
        #expect(try await HTTPBody.empty.collect(upTo: 0) == [])
    }

    @Test func `a body over the limit is refused, as bytes and as a stream`() async {
        let tooLarge = HTTPError(.bodyTooLarge, "")
        await #expect(throws: tooLarge) { try await HTTPBody.bytes([1, 2, 3]).collect(upTo: 2) }
        await #expect(throws: tooLarge) { try await HTTPBody.stream(HTTPBodyStream([[1], [2, 3]])).collect(upTo: 2) }
    }

    @Test func `a stream over the limit is cancelled, whether its length is known or not`() async {
        for length in [nil, 100] {
            let cancelled = Locked(0)
            let stream = HTTPBodyStream(length: length) {
                [UInt8](repeating: 7, count: 10)
            } cancel: {
                cancelled.withLock { $0 += 1 }
            }
            await #expect(throws: HTTPError(.bodyTooLarge, "")) { try await HTTPBody.stream(stream).collect(upTo: 25) }
            #expect(cancelled.withLock { $0 } == 1)
            await #expect(throws: HTTPError(.cancelled, "")) { try await stream.next() }
        }
    }

    @Test func `a stream that ended is not cancelled when it is released`() async throws {
        let cancelled = Locked(0)
        var stream: HTTPBodyStream? = HTTPBodyStream(next: { nil }, cancel: { cancelled.withLock { $0 += 1 } })
        #expect(try await stream?.next() == nil)
        #expect(try await stream?.next() == nil)
        stream = nil
        #expect(cancelled.withLock { $0 } == 0)
    }

    @Test func `releasing a stream before its end stops the producer`() async throws {
        let cancelled = Locked(0)
        do {
            let stream = HTTPBodyStream(next: { [1] }, cancel: { cancelled.withLock { $0 += 1 } })
            #expect(try await stream.next() == [1])
        }
        #expect(cancelled.withLock { $0 } == 1)
    }

    @Test func `a failing stream fails its reader and ends`() async throws {
        struct Broken: Error {}
        let stream = HTTPBodyStream { throw Broken() }
        await #expect(throws: Broken.self) { try await HTTPBody.stream(stream).collect(upTo: 10) }
        #expect(try await stream.next() == nil)
    }

    @Test func `JSON bodies are written and read, and other bytes are refused`() async throws {
        let value: JSONValue = ["name": "pro", "seats": 3]
        #expect(try await HTTPBody.json(value).json() == value)
        await #expect(throws: JSONError.self) { try await HTTPBody.text("{").json() }
        await #expect(throws: HTTPError(.bodyTooLarge, "")) { try await HTTPBody.json(value).json(upTo: 5) }
        #expect(HTTPBody.text("é").buffered == [0xC3, 0xA9])
        #expect(HTTPBody.text("é").length == 2)
        #expect(HTTPBody.stream(HTTPBodyStream(length: 9, next: { nil })).length == 9)
    }
}

import BaseTestSupport
import HTTPCore
import Primitives
import Testing

@Suite struct BodyFeedTests {
    private struct Broken: Error {}

    private static func take(_ feed: BodyFeed, _ count: Int) -> (step: BodyFeed.Step, bytes: [UInt8]) {
        var block = [UInt8](repeating: 0, count: count)
        let step = block.withUnsafeMutableBytes { feed.take(into: $0) }
        guard case .bytes(let taken) = step else { return (step, []) }
        return (step, Array(block[..<taken]))
    }

    /// Reads like a library with callbacks: after `.wait` it reads again when `ready` was called.
    private func readAll(
        _ stream: HTTPBodyStream, into size: Int, took: (Int) -> Void = { _ in }
    ) async throws -> [UInt8] {
        let ready = CallLog<Int>()
        let feed = BodyFeed(stream) { ready.record(1) }
        feed.start()
        var (bytes, waits) = ([UInt8](), 0)
        while true {
            let (step, piece) = Self.take(feed, size)
            switch step {
            case .bytes(let count):
                bytes += piece
                took(count)
            case .wait:
                waits += 1
                await ready.wait { [waits] in $0.count >= waits }
            case .end: return bytes
            case .failed(let error): throw error
            }
        }
    }

    @Test(arguments: [1, 2, 3, 4, 7, 100]) func `a stream is read whole through a buffer of any size`(
        size: Int
    ) async throws {
        let chunks: [[UInt8]] = [[1, 2, 3], [], [4], [5, 6, 7, 8, 9], []]
        let bytes = try await readAll(HTTPBodyStream(chunks), into: size) { #expect($0 <= size) }
        #expect(bytes == Array(1...9))
        #expect(try await readAll(HTTPBodyStream([]), into: size) == [])
    }

    @Test func `the bytes before a failure are read before the error`() async {
        let left = Locked(2)
        let stream = HTTPBodyStream {
            guard
                left.withLock({ left in
                    left -= 1; return left >= 0
                })
            else { throw Broken() }
            return [1, 2, 3]
        }
        let taken = Locked(0)
        await #expect(throws: Broken.self) {
            _ = try await readAll(stream, into: 2) { count in taken.withLock { $0 += count } }
        }
        #expect(taken.withLock { $0 } == 6)
    }

    @Test func `the next chunk is requested when the previous one has been read completely`() async throws {
        let reads = CallLog<Int>()
        let ready = CallLog<Int>()
        let feed = BodyFeed(
            HTTPBodyStream {
                reads.record(1)
                return [1, 2, 3, 4]
            }
        ) { ready.record(1) }
        feed.start()
        if case .wait = Self.take(feed, 3).step {
            await ready.wait { !$0.isEmpty }
            #expect(Self.take(feed, 3).bytes == [1, 2, 3])
        }
        #expect(reads.all.count == 1, "one byte is left")
        #expect(Self.take(feed, 3).bytes == [4])
        await reads.wait { $0.count == 2 }
        feed.cancel()
    }

    @Test func `cancelling wakes the reader, cancels the stream, and leaves an error`() async throws {
        let (isAsked, isStopped) = (Gate(), CallLog<Int>())
        let ready = CallLog<Int>()
        let stream = HTTPBodyStream(
            next: {
                isAsked.open()
                try await untilCancelled()
            }, cancel: { isStopped.record(1) })
        let feed = BodyFeed(stream) { ready.record(1) }
        feed.start()
        try await isAsked.pass()
        guard case .wait = Self.take(feed, 1).step else {
            Issue.record("the feed has no bytes")
            return
        }
        feed.cancel()
        feed.cancel()
        await ready.wait { !$0.isEmpty }
        guard case .failed(let error) = Self.take(feed, 1).step else {
            Issue.record("the cancelled feed has not failed")
            return
        }
        #expect((error as? HTTPError)?.code == .cancelled)
        #expect(isStopped.all.count == 1)
    }
}

import BaseTestSupport
import HTTPCore
import NetworkInterception
import Primitives
import Testing

/// The memory that all active exchanges hold.
@Suite struct BodyMemoryTests {
    /// An answer that streams: `count` bytes of one value, `piece` at a time.
    private func streaming(_ value: UInt8, _ count: Int, piece: Int = 10) -> HTTPResponse {
        let pieces = stride(from: 0, to: count, by: piece).map {
            [UInt8](repeating: value, count: min(piece, count - $0))
        }
        return HTTPResponse(status: 200, body: .stream(HTTPBodyStream(pieces)))
    }

    private func answer(
        _ interceptor: Interceptor, _ response: HTTPResponse, request: HTTPBody = .empty
    ) async throws -> HTTPResponse {
        try await interceptor.transport(wrapping: AnyTransport { _ in response }).send(
            HTTPRequest(method: .post, url: "http://a/", body: request))
    }

    @Test func `exchanges hold at most 64 MiB in total by default`() {
        #expect(Interceptor.Configuration().maximumHeldBytes == 64 << 20)
    }

    @Test func `bodies beyond the limit pass and are recorded as cut, and ended exchanges release memory`() async throws
    {
        let interceptor = Interceptor.running([]) { $0.maximumHeldBytes = 100 }
        do {
            var answers: [HTTPResponse] = []
            for value in 1...5 { answers.append(try await answer(interceptor, streaming(UInt8(value), 60))) }
            for (index, answer) in answers.enumerated() {
                let body = try await answer.body.collect(upTo: 1000)
                #expect(body == Array(repeating: UInt8(index + 1), count: 60), "the whole body passes")
            }
            let recorded = await interceptor.records.reversed()
            #expect(recorded.map { $0.response?.body.buffered?.count } == [60, 40, 0, 0, 0])
            #expect(recorded.map { $0.bodies.response?.isCut } == [false, true, true, true, true])
            #expect(recorded.allSatisfy { $0.bodies.response?.byteCount == 60 && $0.bodies.response?.end == .complete })
        }
        try await until("a later body is recorded whole") {
            let later = try await answer(interceptor, streaming(9, 100))
            _ = try await later.body.collect(upTo: 1000)
            return await interceptor.records.first?.bodies.response == .init(byteCount: 100)
        }
    }

    @Test func `buffered bodies count too, and a request body that no floret changed counts once`() async throws {
        let interceptor = Interceptor.running([]) { $0.maximumHeldBytes = 100 }
        let response = HTTPResponse(status: 200, body: .bytes(Array(repeating: 2, count: 70)))
        let answered = try await answer(interceptor, response, request: .bytes(Array(repeating: 1, count: 60)))
        #expect(answered.body.buffered?.count == 70)
        let record = try #require(await interceptor.records.first)
        #expect(record.originalRequest.body.buffered?.count == 60 && record.bodies.original == .init(byteCount: 60))
        #expect(record.designatedRequest.body.buffered?.count == 60 && record.bodies.designated == .init(byteCount: 60))
        #expect(record.response?.body.buffered == Array(repeating: 2, count: 40))
        #expect(record.bodies.response == .init(byteCount: 70, isCut: true))
    }

    @Test func `a request body over the limit is recorded up to the limit`() async throws {
        let interceptor = Interceptor.running([]) { $0.maximumHeldBytes = 10 }
        let answered = try await answer(interceptor, streaming(1, 20), request: .bytes(Array(repeating: 3, count: 50)))
        let record = try #require(await interceptor.records.first)
        #expect(record.originalRequest.body.buffered == Array(repeating: 3, count: 10))
        #expect(record.bodies.original == .init(byteCount: 50, isCut: true))
        #expect(try await answered.body.collect(upTo: 100).count == 20)
        #expect(await interceptor.records.first?.bodies.response == .init(byteCount: 20, isCut: true))
    }

    @Test func `with a limit of zero no body is recorded, and every body passes`() async throws {
        let interceptor = Interceptor.running([]) { $0.maximumHeldBytes = 0 }
        let answered = try await answer(interceptor, streaming(1, 25), request: .bytes([1, 2, 3]))
        #expect(try await answered.body.collect(upTo: 100).count == 25)
        let record = try #require(await interceptor.records.first)
        #expect(record.originalRequest.body.buffered == [] && record.response?.body.buffered == [])
        #expect(record.bodies.original?.isCut == true && record.bodies.response?.isCut == true)
    }

    @Test(arguments: 1...20)
    func `interleaved streams pass, their first bytes are recorded, and the limit holds`(
        seed: Int
    ) async throws {
        var random = SeededNumbers(state: UInt64(seed))
        let bound = Int.random(in: 0...400, using: &random)
        let interceptor = Interceptor.running([]) {
            $0.maximumHeldBytes = bound
            $0.maximumRecordedBytes = 90
        }
        var streams: [(stream: HTTPBodyStream, read: [UInt8], whole: [UInt8])] = []
        for _ in 0..<8 {
            let pieces = (0..<Int.random(in: 0...6, using: &random)).map { _ in
                (0..<Int.random(in: 0...40, using: &random)).map { _ in UInt8.random(in: 0...255, using: &random) }
            }
            let answered = try await answer(
                interceptor, HTTPResponse(status: 200, body: .stream(HTTPBodyStream(pieces))))
            guard case .stream(let stream) = answered.body else {
                return #expect(Bool(false), "the body is not a stream")
            }
            streams.append((stream, [], pieces.flatMap(\.self)))
        }
        var open = Set(streams.indices)
        while let next = open.sorted().randomElement(using: &random) {
            if let piece = try await streams[next].stream.next() {
                streams[next].read += piece
            } else {
                open.remove(next)
            }
        }
        let recorded = await interceptor.records.reversed().map {
            ($0.response?.body.buffered ?? [], $0.bodies.response)
        }
        for (stream, (bytes, transfer)) in zip(streams, recorded) {
            #expect(stream.read == stream.whole)
            #expect(stream.whole.starts(with: bytes))
            #expect(transfer?.byteCount == stream.whole.count && transfer?.isCut == (bytes.count < stream.whole.count))
        }
        #expect(recorded.reduce(0) { $0 + $1.0.count } <= bound)
        let wanted = streams.reduce(0) { $0 + min(90, $1.whole.count) }
        #expect(wanted > bound || recorded.reduce(0) { $0 + $1.0.count } == wanted, "nothing is cut without need")
    }
}

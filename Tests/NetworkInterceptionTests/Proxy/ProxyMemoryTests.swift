import BaseTestSupport
import Foundation
import HTTPCore
import HTTPListener
import NetworkInterception
import NetworkTestSupport
import Primitives
import StoreTestSupport
import Testing

/// The memory that a proxy uses for bodies.
@Suite(.timeLimit(.minutes(2))) struct ProxyMemoryTests {
    /// Returns the announced length of the request body, its real length, its digest, and whether it is a stream.
    private static let backend = AnyHTTPHandler { request in
        .suspended {
            let announced = request.headers["Content-Length"] ?? "none"
            let isStream = request.body.buffered == nil
            guard let bytes = try? await request.body.collect(upTo: 64 << 20) else { return HTTPResponse(status: 500) }
            return HTTPResponse(json: [
                "announced": .string(announced), "count": .number(bytes.count), "isStream": .bool(isStream),
                "digest": .string(Hex.encode(SHA256.hash(bytes))),
            ])
        }
    }

    private func bytes(_ count: Int, _ seed: Int) -> [UInt8] {
        var random = SeededNumbers(state: UInt64(seed))
        return (0..<count).map { _ in UInt8.random(in: 0...255, using: &random) }
    }

    private func withListener<Value>(
        _ handler: any HTTPHandler, held: Int?, bodies: Int = 8 << 20, _ body: (String) async throws -> Value
    ) async throws -> Value {
        try await withLoopbackServer(
            handler,
            configure: {
                $0.maximumHeldBytes = held
                $0.maximumBodyBytes = bodies
            }, body)
    }

    private func post(_ url: String, _ body: [UInt8]) async throws -> JSONValue {
        try await loopbackTransport().send(HTTPRequest(method: .post, url: url, body: .bytes(body))).body.json()
    }

    @Test(arguments: [0, 1, 65_535, 65_536, 65_537, 200_000, 1_000_000])
    func `a body beyond the listener's buffer is a stream of the same bytes`(count: Int) async throws {
        let body = bytes(count, count)
        try await withListener(Self.backend, held: 65_536) { url in
            let answer = try await post(url, body)
            #expect(answer["count"]?.intValue == count && answer["announced"] == .string("\(count)"))
            #expect(answer["digest"] == .string(Hex.encode(SHA256.hash(body))))
            #expect(answer["isStream"] == .bool(count > 65_536))
            try await until("the memory of the first body is released") {
                try await post(url, body)["isStream"] == .bool(count > 65_536)
            }
        }
    }

    @Test func `a body over the limit is rejected`() async throws {
        try await withListener(Self.backend, held: 10, bodies: 1000) { url in
            #expect(try await post(url, bytes(1000, 1))["count"] == 1000)
            let answer = try await loopbackTransport().send(
                HTTPRequest(method: .post, url: url, body: .bytes(bytes(1001, 1))))
            #expect(answer.status == 413)
        }
    }

    @Test func `many concurrent uploads pass unchanged, and their records have the first bytes`() async throws {
        // Random bytes may resemble a secret.
        let interceptor = Interceptor.running([]) {
            $0.maximumHeldBytes = 1 << 20
            $0.redaction = .none
        }
        try await withListener(Self.backend, held: nil) { upstream in
            let proxy = try ReverseProxy(
                upstream: upstream, over: interceptor.transport(wrapping: loopbackTransport()))
            try await withListener(proxy, held: 100_000) { url in
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for number in 1...12 {
                        group.addTask {
                            let body = bytes(400_000 + number, number)
                            let answer = try await post(url + "/\(number)", body)
                            #expect(answer["count"]?.intValue == body.count)
                            #expect(answer["announced"] == .string("\(body.count)"))
                            #expect(answer["digest"] == .string(Hex.encode(SHA256.hash(body))))
                        }
                    }
                    try await group.waitForAll()
                }
            }
        }
        await interceptor.settled()
        let records = await interceptor.records
        #expect(records.count == 12)
        for record in records {
            let number = Int(record.originalRequest.target.dropFirst()) ?? 0
            let recorded = try #require(record.originalRequest.body.buffered)
            let isPrefix = bytes(400_000 + number, number).starts(with: recorded)
            #expect(isPrefix)
            #expect(record.bodies.original?.byteCount == 400_000 + number)
            #expect(record.bodies.original?.isCut == (recorded.count < 400_000 + number))
        }
    }
}

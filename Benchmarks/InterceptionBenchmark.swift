import CurlTransport
import Foundation
import HTTPCore
import HTTPListener
import NetworkInterception
import Primitives

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// The cost of interception. Compares a call through a plain transport with the same call through a recording
/// interceptor. With no, one and eight florets, calls are made in process and over loopback; with one floret, also
/// through `URLSession`. Also measures the memory of a long recording.
enum InterceptionBenchmark {
    private static let floretCounts = [0, 1, 8]

    static func run() async throws -> [BenchmarkResult] {
        var results: [BenchmarkResult] = []
        for count in floretCounts { results.append(try await inProcess(count)) }
        results += try await overLoopback()
        return results + [try await memory()]
    }

    /// A floret that reads every record and returns it unchanged.
    private final class ReadingFloret: InterceptableFloret {
        var enabled: Bool {
            get { true }
            set {}
        }
    }

    /// A transport that responds at once with 200 bytes.
    private struct Constant: HTTPTransport {
        let response = HTTPResponse(
            status: 200, headers: ["Content-Type": "application/json", "ETag": "\"1\""],
            body: .bytes([UInt8](repeating: 0x20, count: 200)))

        func send(_ request: HTTPRequest) async throws -> HTTPResponse { response }
    }

    private static func intercepted(_ transport: any HTTPTransport, by count: Int) -> any HTTPTransport {
        let interceptor = Interceptor((0..<count).map { _ in ReadingFloret() })
        interceptor.run()
        return interceptor.transport(wrapping: transport)
    }

    private static func name(_ what: String, _ count: Int) -> String {
        "\(what), recorded, \(count == 0 ? "no floret" : count == 1 ? "one floret" : "\(count) florets")"
    }

    private static func request(_ url: String) -> HTTPRequest {
        HTTPRequest(
            method: .get, url: url,
            headers: ["Accept": "application/json", "Authorization": "Bearer key", "User-Agent": "bench"])
    }

    private static func inProcess(_ count: Int) async throws -> BenchmarkResult {
        let (plain, request) = (Constant(), request("http://127.0.0.1/v1/customers/anna?fields=all"))
        let transport = intercepted(plain, by: count)
        let times = try await paired(rounds: 15, iterations: 10_000) {
            _ = try await transport.send(request)
        } reference: {
            _ = try await send(request, through: plain)
        }
        let begin = processorTime()
        for _ in 0..<10_000 { _ = try await transport.send(request) }
        let spent = (processorTime() - begin) / 10_000
        return benchmarkResult(
            name("call in process", count), "the same call through the plain transport", times,
            budget: count == 1 ? .added(4) : .none, more: [("processorMicroseconds", rounded(spent / 1000))])
    }

    /// A call that the compiler cannot remove.
    @inline(never)
    private static func send(_ request: HTTPRequest, through transport: any HTTPTransport) async throws -> HTTPResponse
    {
        try await transport.send(request)
    }

    private static func benchmarkResult(
        _ name: String, _ reference: String, _ times: [Round], budget: Budget = .none,
        more: [(String, JSONValue)] = []
    ) -> BenchmarkResult {
        BenchmarkResult(
            name: name, reference: reference, rounds: times, budget: budget,
            more: [("addedMicroseconds", rounded((times.operation - times.reference) / 1000))] + more)
    }

    // MARK: - Over loopback

    private static func overLoopback() async throws -> [BenchmarkResult] {
        let bodies = [
            "/small": [UInt8](repeating: 0x20, count: 200), "/large": [UInt8](repeating: 0x20, count: 10_000_000),
        ]
        let listener = HTTPListener(
            handler: AnyHTTPHandler { request in
                .ready(HTTPResponse(status: 200, body: .bytes(bodies[request.path] ?? [])))
            })
        let url = try listener.start().url
        var results: [BenchmarkResult] = []
        for (path, size, iterations) in [("/small", "200 bytes", 1000), ("/large", "10 MB", 10)] {
            for count in floretCounts {
                results.append(
                    try await throughCurl(url + path, count, "GET over loopback, \(size)", bodies[path], iterations))
            }
        }
        results += try await throughURLSession(url + "/small")
        await listener.stop()
        return results
    }

    private static func throughCurl(
        _ url: String, _ count: Int, _ what: String, _ body: [UInt8]?, _ iterations: Int
    ) async throws -> BenchmarkResult {
        let (plain, request) = (CurlTransport(), request(url))
        let transport = intercepted(plain, by: count)
        func read(_ transport: any HTTPTransport) async throws {
            let bytes = try await transport.send(request).body.collect(upTo: .max)
            guard bytes.count == body?.count else { throw BenchmarkFailure("\(bytes.count) bytes came over loopback") }
        }
        let times = try await paired(rounds: 9, iterations: iterations) {
            try await read(transport)
        } reference: {
            try await read(plain)
        }
        return benchmarkResult(name(what, count), "the same through the plain CurlTransport", times)
    }

    private static func throughURLSession(_ address: String) async throws -> [BenchmarkResult] {
        guard let url = URL(string: address) else { throw BenchmarkFailure("no URL") }
        let interceptor = Interceptor([ReadingFloret()])
        interceptor.run()
        let (watched, forwarded) = (URLSessionConfiguration.ephemeral, URLSessionConfiguration.ephemeral)
        interceptor.install(in: watched)
        forwarded.protocolClasses = [ForwardingProtocol.self]
        let plain = URLSession(configuration: .ephemeral)
        func read(_ session: URLSession) async throws {
            let count = try await session.data(from: url).0.count
            guard count == 200 else { throw BenchmarkFailure("\(count) bytes came through URLSession") }
        }
        func compare(_ name: String, _ configuration: URLSessionConfiguration, _ budget: Budget) async throws
            -> BenchmarkResult
        {
            let session = URLSession(configuration: configuration)
            let times = try await paired(rounds: 15, iterations: 500) {
                try await read(session)
            } reference: {
                try await read(plain)
            }
            return benchmarkResult(name, "the same through a plain URLSession", times, budget: budget)
        }
        let get = "GET over loopback, 200 bytes, through URLSession"
        let results = [
            try await compare(name(get, 1), watched, .ratio(1.2)),
            try await compare(get + ", only forwarded by a URLProtocol", forwarded, .none),
        ]
        withExtendedLifetime(interceptor) {}
        return results
    }

    // MARK: - Memory

    private static func memory() async throws -> BenchmarkResult {
        let storage = MemoryRecordStorage(capacity: RecordCapacity(records: 1000))
        var configuration = Interceptor.Configuration.standard
        configuration.storage = storage
        let interceptor = Interceptor([ReadingFloret()], configuration: configuration)
        interceptor.run()
        let transport = interceptor.transport(wrapping: Constant())
        let clock = ContinuousClock()
        func record(_ numbers: Range<Int>) async throws -> Double {
            let begin = clock.now
            for number in numbers { _ = try await transport.send(request("http://127.0.0.1/\(number)")) }
            return (clock.now - begin).nanoseconds / Double(numbers.count)
        }
        let first = try await record(0..<10_000)
        let early = residentMegabytes()
        let last = try await record(10_000..<100_000)
        return BenchmarkResult(
            name: "a request recorded into a full storage of 1 000 records, 10 001st to 100 000th",
            reference: "the first 10 000", rounds: [Round(operation: last, reference: first)],
            budget: .other("memory stays flat"),
            more: [
                ("residentMegabytesAfter10000", .number(early)),
                ("residentMegabytesAfter100000", .number(residentMegabytes())),
                ("recordsKept", .number(await storage.records(.max, after: nil).count)),
            ])
    }
}

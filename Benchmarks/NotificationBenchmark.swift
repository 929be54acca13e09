import AppStoreSimulator
import CurlTransport
import Foundation
import HTTPCore
import HTTPListener
import Primitives
import StoreModel

/// A month passes for the simulator's subscribers, and the app's server gets a notification about each renewal. The
/// simulator computes, stores and signs each renewal, sends it over HTTP, and stores the response. The reference is a
/// POST of the same size by the same transport.
enum NotificationBenchmark {
    private static let subscribers = 1000
    private static let concurrency = 8

    static func run() async throws -> [BenchmarkResult] {
        let folder = FileManager.default.temporaryDirectory.path + "/souk-bench-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let received = Locked((count: 0, bytes: 0))
        let server = HTTPListener(
            handler: AnyHTTPHandler { request in
                received.withLock { $0 = ($0.count + 1, request.body.length ?? 0) }
                return .ready(HTTPResponse(status: 200))
            })
        let url = try server.start().url
        let transport = CurlTransport()
        var configuration = try StoreBenchmark.configuration(folder)
        configuration.notificationTransport = transport
        let store = try await SimulatedAppStore.open(configuration)
        try await store.populate(subscribers, subscribingTo: "monthly")
        try await store.set(.notificationsURL, to: .string(url))
        var times: [(delivered: Double, posted: Double)] = []
        for round in 0...5 {
            let clock = ContinuousClock()
            let before = received.withLock { $0.count }
            let delivered = try await clock.measure {
                // All subscriptions began on the 31st, so each span of 31 days has one renewal.
                try await store.advance(.init(period: .days(31)))
                try await store.deliverNotifications()
            }
            let count = received.withLock { $0.count } - before
            guard count == subscribers else {
                throw BenchmarkFailure("\(count) notifications of \(subscribers) renewals arrived")
            }
            let posted = try await clock.measure {
                try await post(received.withLock { $0.bytes }, to: url, over: transport)
            }
            if round > 0 { times.append((delivered.nanoseconds, posted.nanoseconds)) }
        }
        await store.close()
        await transport.shutdown()
        await server.stop()
        let each = median(times.map(\.delivered)) / Double(subscribers)
        let reference = median(times.map(\.posted)) / Double(subscribers)
        return [
            BenchmarkResult(
                name: "notification of a renewal, \(concurrency) at a time",
                reference: "the same POST, \(concurrency) at a time",
                rounds: times.map {
                    Round(operation: $0.delivered / Double(subscribers), reference: $0.posted / Double(subscribers))
                },
                more: [
                    ("notificationsPerSecond", .number((1e9 / each).rounded())),
                    ("referencePerSecond", .number((1e9 / reference).rounded())),
                    ("bytes", .number(received.withLock { $0.bytes })),
                ])
        ]
    }

    /// Sends one POST for each subscriber.
    private static func post(_ size: Int, to url: String, over transport: any HTTPTransport) async throws {
        let body = HTTPBody.bytes([UInt8](repeating: 0x20, count: size))
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<concurrency {
                group.addTask {
                    for _ in 0..<subscribers / concurrency {
                        let answer = try await transport.send(HTTPRequest(method: .post, url: url, body: body))
                        guard answer.isSuccess else { throw BenchmarkFailure("a post got status \(answer.status)") }
                    }
                }
            }
            try await group.waitForAll()
        }
    }
}

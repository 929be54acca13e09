import CurlTransport
import Foundation
import HTTPCore
import HTTPListener
import Primitives
import Purchases
import StoreModel

/// The cost of the purchase client beside that of its plugins. The client merges the paid features of all plugins,
/// which have them in memory, or get them from a backend on loopback that responds at once.
enum MergedReadBenchmark {
    private static let features = 4

    static func run() async throws -> [BenchmarkResult] {
        let backend = HTTPListener(
            handler: AnyHTTPHandler { _ in
                .ready(HTTPResponse(status: 200, headers: ["Content-Type": "application/json"], body: answer))
            })
        let url = try backend.start().url
        var results: [BenchmarkResult] = []
        for count in [1, 3, 10] {
            results.append(try await fromMemory(count, url))
            results.append(try await withStorage(count, url))
            results.append(try await overLoopback(count, url))
        }
        await backend.stop()
        return results
    }

    private static let answer: HTTPBody = .json([
        "features": .array(
            (0..<features).map { number in
                ["quantity": 1, "actualFrom": "2026-01-01T00:00:00Z", "feature": .string("feature \(number)")]
            })
    ])

    private static func fromMemory(_ count: Int, _ url: String) async throws -> BenchmarkResult {
        let plugins = plugins(count, url, freshness: .init(foreground: .seconds(86_400)))
        let client = try await client(plugins)
        let times = try await paired(iterations: 400) {
            try check(try await client.getPaidFeatures())
        } reference: {
            for plugin in plugins { try check(try await plugin.getPaidFeatures()) }
        }
        await client.close()
        return BenchmarkResult(
            name: "merged read from memory, \(plugins.count) plugin\(count == 1 ? "" : "s")",
            reference: "the same plugins one after another, not merged", rounds: times)
    }

    /// The storage already has the plugins' answers, so nothing is written.
    private static func withStorage(_ count: Int, _ url: String) async throws -> BenchmarkResult {
        let folder = FileManager.default.temporaryDirectory.path + "/souk-bench-\(UUID().uuidString)"
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let plugins = plugins(count, url, freshness: .init(foreground: .seconds(86_400)))
        let client = try await client(plugins)
        let storing = try await Self.client(plugins, storage: FileSecureStorage(directory: folder))
        let times = try await paired(iterations: 400) {
            try check(try await storing.getPaidFeatures())
        } reference: {
            try check(try await client.getPaidFeatures())
        }
        await storing.close()
        await client.close()
        return BenchmarkResult(
            name: "merged read with a storage, \(count) plugin\(count == 1 ? "" : "s")",
            reference: "the same without a storage", rounds: times)
    }

    private static func overLoopback(_ count: Int, _ url: String) async throws -> BenchmarkResult {
        let plugins = plugins(count, url, freshness: .none)
        let client = try await client(plugins)
        let transports = (0..<count).map { _ in CurlTransport() }
        let times = try await paired(iterations: 40) {
            try check(try await client.getPaidFeatures())
        } reference: {
            try await withThrowingTaskGroup(of: Void.self) { group in
                for transport in transports {
                    group.addTask {
                        let response = try await transport.send(
                            HTTPRequest(
                                method: .post, url: url + "/feature-provisioner/get-features",
                                headers: ["Content-Type": "application/json"], body: .text("{}")))
                        guard response.status == 200 else { throw BenchmarkFailure("status \(response.status)") }
                        _ = try await response.body.collect(upTo: 1 << 20)
                    }
                }
                try await group.waitForAll()
            }
        }
        await client.close()
        return BenchmarkResult(
            name: "merged read over loopback, \(count) plugin\(count == 1 ? "" : "s")",
            reference: "the same number of concurrent requests, responses not parsed", rounds: times)
    }

    private static func plugins(
        _ count: Int, _ url: String, freshness: RemotePurchasePlugin.Freshness
    ) -> [RemotePurchasePlugin] {
        (0..<count).map { number in
            var configuration = RemotePurchasePlugin.Configuration(baseURL: url, key: "pk_benchmark")
            configuration.name = "remote \(number)"
            configuration.freshness = freshness
            return RemotePurchasePlugin(configuration: configuration, transport: CurlTransport())
        }
    }

    private static func client(
        _ plugins: [RemotePurchasePlugin], storage: (any SecureStorage)? = nil
    ) async throws -> PurchaseClient {
        let client = PurchaseClient(configuration: .init(storage: storage))
        try await client.setup(with: plugins, appUserId: .string("ada"))
        return client
    }

    private static func check(_ answer: PaidFeatures) throws {
        guard answer.features.count == features else {
            throw BenchmarkFailure("\(answer.features.count) features of \(features)")
        }
    }
}

import Foundation
import Primitives

/// Measures the frequent operations and a reference for each, and prints one JSON object. Without arguments it runs all
/// groups but nginx, which needs further programs; otherwise the named ones (`make bench ARGS="signatures nginx"`).
@main
enum Benchmarks {
    private static let groups: [(name: String, run: @Sendable () async throws -> [BenchmarkResult])] = [
        ("signatures", SignatureBenchmark.run), ("receipts", ReceiptBenchmark.run), ("hub", HubBenchmark.run),
        ("reads", { [try await ReadBenchmark.run(), try await ReadBenchmark.serverAPI()] }),
        ("purchases", StoreBenchmark.purchases),
        ("renewals", StoreBenchmark.renewals), ("notifications", NotificationBenchmark.run),
        ("server", ServerBenchmark.run), ("retention", RetentionBenchmark.run), ("launch", LaunchBenchmark.run),
        ("client", { try await PurchaseBenchmark.run() + MergedReadBenchmark.run() }),
        ("interception", InterceptionBenchmark.run), ("figures", FigureBenchmark.run),
        ("console", ConsoleBenchmark.run),
        ("cluster", ClusterBenchmark.run), ("nginx", NginxBenchmark.run),
    ]

    static func main() async {
        do {
            #if DEBUG
                throw BenchmarkFailure("measurements of a debug build are meaningless; use make bench")
            #else
                let wanted = CommandLine.arguments.dropFirst()
                guard groups.map(\.name).contains(where: wanted.contains) || wanted.isEmpty else {
                    throw BenchmarkFailure(
                        "unknown group; the groups are \(groups.map(\.name).joined(separator: ", "))")
                }
                var results: [BenchmarkResult] = []
                for group in groups where wanted.isEmpty ? group.name != "nginx" : wanted.contains(group.name) {
                    results += try await group.run()
                }
                let report: JSONValue = [
                    "processors": .number(ProcessInfo.processInfo.activeProcessorCount),
                    "figures": .array(results.map(\.json)),
                ]
                print(report.text(pretty: true))
            #endif
        } catch {
            FileHandle.standardError.write(Data("benchmarks: \(error)\n".utf8))
            exit(1)
        }
    }
}

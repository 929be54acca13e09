import Foundation
import Primitives

/// Measures the hot paths beside their references and prints one JSON object.
@main
enum Benchmarks {
    static func main() async {
        do {
            #if DEBUG
                throw BenchmarkFailure("figures of a debug build mean nothing; use make bench")
            #else
                var figures = try SignatureBenchmark.run()
                figures += try await HubBenchmark.run()
                figures.append(try await ReadBenchmark.run())
                let report: JSONValue = [
                    "processors": .number(ProcessInfo.processInfo.activeProcessorCount),
                    "figures": .array(figures.map(\.json)),
                ]
                print(report.text(pretty: true))
            #endif
        } catch {
            FileHandle.standardError.write(Data("benchmarks: \(error)\n".utf8))
            exit(1)
        }
    }
}

import Foundation
import Primitives

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// A measurement and its reference, from the same run.
struct BenchmarkResult {
    let name: String
    let reference: String
    /// The nanoseconds of one operation; the median of the rounds if there are several.
    let nanoseconds: Double
    let referenceNanoseconds: Double
    /// The limit that the design sets, as text.
    let budget: String
    /// Further members of the JSON result.
    var more: [(String, JSONValue)] = []

    var json: JSONValue {
        .object(
            JSONMembers(
                [
                    ("name", .string(name)), ("microseconds", rounded(nanoseconds / 1000)),
                    ("reference", .string(reference)),
                    ("referenceMicroseconds", rounded(referenceNanoseconds / 1000)),
                    ("ratio", rounded(nanoseconds / referenceNanoseconds)), ("budget", .string(budget)),
                ] + more))
    }
}

func rounded(_ value: Double) -> JSONValue { .number((value * 1000).rounded() / 1000) }

/// Alternates `operation` and its reference, so that a change of the machine's speed affects both. Returns the median
/// nanoseconds of one operation and of one reference. The first round is not counted.
func paired(
    rounds: Int = 15, iterations: Int, _ operation: () throws -> Void, reference: () throws -> Void
) rethrows -> (operation: Double, reference: Double) {
    var measurements: [(Double, Double)] = []
    let clock = ContinuousClock()
    for round in 0...rounds {
        let first = try clock.measure { for _ in 0..<iterations { try operation() } }
        let second = try clock.measure { for _ in 0..<iterations { try reference() } }
        if round > 0 {
            measurements.append((first.nanoseconds / Double(iterations), second.nanoseconds / Double(iterations)))
        }
    }
    return (median(measurements.map(\.0)), median(measurements.map(\.1)))
}

/// Does the same for asynchronous operations.
func paired(
    rounds: Int = 15, iterations: Int, _ operation: () async throws -> Void, reference: () async throws -> Void
) async throws -> (operation: Double, reference: Double) {
    var measurements: [(Double, Double)] = []
    let clock = ContinuousClock()
    for round in 0...rounds {
        let begin = clock.now
        for _ in 0..<iterations { try await operation() }
        let middle = clock.now
        for _ in 0..<iterations { try await reference() }
        guard round > 0 else { continue }
        let (first, second) = (middle - begin, clock.now - middle)
        measurements.append((first.nanoseconds / Double(iterations), second.nanoseconds / Double(iterations)))
    }
    return (median(measurements.map(\.0)), median(measurements.map(\.1)))
}

/// Returns the resident memory of this process; 0 if the system has no `/proc`.
func residentMegabytes() -> Int {
    let pages = (try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8))?.split(separator: " ")
    return ((pages?.dropFirst().first.flatMap { Int($0) } ?? 0) * Int(getpagesize())) >> 20
}

/// Returns the processor time of this process so far, in nanoseconds.
func processorTime() -> Double {
    var time = timespec()
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
    return Double(time.tv_sec) * 1e9 + Double(time.tv_nsec)
}

func median(_ values: [Double]) -> Double {
    let sorted = values.sorted()
    return sorted.isEmpty ? 0 : sorted[sorted.count / 2]
}

extension Duration {
    var nanoseconds: Double { Double(components.seconds) * 1e9 + Double(components.attoseconds) / 1e9 }
}

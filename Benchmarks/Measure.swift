import Foundation
import Primitives

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// One figure beside its reference, measured in the same run.
struct Figure {
    let name: String
    let reference: String
    /// Nanoseconds an operation; the median of the rounds.
    let nanoseconds: Double
    let referenceNanoseconds: Double
    /// What the design allows, as text.
    let budget: String
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

/// Runs `operation` and its reference in turn, so that a machine that changes its speed changes both, and gives the
/// medians in nanoseconds an operation.
func paired(
    rounds: Int = 15, iterations: Int, _ operation: () throws -> Void, reference: () throws -> Void
) rethrows -> (operation: Double, reference: Double) {
    var figures: [(Double, Double)] = []
    let clock = ContinuousClock()
    for round in 0...rounds {
        let first = try clock.measure { for _ in 0..<iterations { try operation() } }
        let second = try clock.measure { for _ in 0..<iterations { try reference() } }
        if round > 0 {
            figures.append((first.nanoseconds / Double(iterations), second.nanoseconds / Double(iterations)))
        }
    }
    return (median(figures.map(\.0)), median(figures.map(\.1)))
}

/// As the other `paired`, for what waits.
func paired(
    rounds: Int = 15, iterations: Int, _ operation: () async throws -> Void, reference: () async throws -> Void
) async throws -> (operation: Double, reference: Double) {
    var figures: [(Double, Double)] = []
    let clock = ContinuousClock()
    for round in 0...rounds {
        let begin = clock.now
        for _ in 0..<iterations { try await operation() }
        let middle = clock.now
        for _ in 0..<iterations { try await reference() }
        guard round > 0 else { continue }
        let (first, second) = (middle - begin, clock.now - middle)
        figures.append((first.nanoseconds / Double(iterations), second.nanoseconds / Double(iterations)))
    }
    return (median(figures.map(\.0)), median(figures.map(\.1)))
}

/// Memory of this process that is not paged out.
func residentMegabytes() -> Int {
    let pages = (try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8))?.split(separator: " ")
    return ((pages?.dropFirst().first.flatMap { Int($0) } ?? 0) * Int(getpagesize())) >> 20
}

/// What this process has spent on processors so far, in nanoseconds.
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

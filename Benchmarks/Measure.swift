import Foundation
import Primitives

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// The nanoseconds of an operation and of its reference in one round. The two alternate, so that a change of the
/// machine's speed affects both.
struct Round: Sendable {
    let operation: Double
    let reference: Double
}

extension [Round] {
    /// The median nanoseconds of the operation.
    var operation: Double { median(map(\.operation)) }
    /// The median nanoseconds of the reference.
    var reference: Double { median(map(\.reference)) }

    init(_ operations: [Double], references: [Double]) {
        self = zip(operations, references).map { Round(operation: $0, reference: $1) }
    }
}

/// A limit that the design sets. It is met if the 95 % interval of the measure lies on the right side of it.
enum Budget {
    /// The operation takes at most this many times as long as the reference.
    case ratio(Double)
    /// At least this many operations in the time of one operation of the reference.
    case throughput(Double)
    /// The operation takes at most this many microseconds longer than the reference.
    case added(Double)
    /// The operation takes at most this many microseconds.
    case each(Double)
    /// At least this many operations a second.
    case perSecond(Double)
    /// A limit of something else, which the further members of the result have.
    case other(String)
    case none

    var description: String? {
        switch self {
        case .ratio(let limit): "≤ \(limit) ×"
        case .throughput(let limit): "≥ \(limit) × the operations of the reference"
        case .added(let limit): "≤ \(limit) µs more"
        case .each(let limit): "≤ \(limit) µs"
        case .perSecond(let limit): "≥ \(limit) a second"
        case .other(let text): text
        case .none: nil
        }
    }

    /// The measure that the budget limits, in one round.
    func measure(_ round: Round) -> Double {
        switch self {
        case .ratio, .other, .none: round.operation / round.reference
        case .throughput: round.reference / round.operation
        case .added: (round.operation - round.reference) / 1000
        case .each: round.operation / 1000
        case .perSecond: 1e9 / round.operation
        }
    }

    /// Whether an interval of the measure meets the budget; `nil` if it is on both sides of the limit, or if the budget
    /// limits something else.
    func isMet(by interval: ClosedRange<Double>) -> Bool? {
        func decide(_ isGood: (Double) -> Bool) -> Bool? {
            isGood(interval.lowerBound) == isGood(interval.upperBound) ? isGood(interval.lowerBound) : nil
        }
        switch self {
        case .ratio(let limit), .added(let limit), .each(let limit): return decide { $0 <= limit }
        case .throughput(let limit), .perSecond(let limit): return decide { $0 >= limit }
        case .other, .none: return nil
        }
    }
}

/// The rounds of a measurement with those of its reference, from the same run.
struct BenchmarkResult {
    let name: String
    let reference: String
    let rounds: [Round]
    let budget: Budget
    /// Further members of the JSON result.
    var more: [(String, JSONValue)]

    init(
        name: String, reference: String, rounds: [Round], budget: Budget = .none, more: [(String, JSONValue)] = []
    ) {
        (self.name, self.reference, self.rounds, self.budget) = (name, reference, rounds, budget)
        self.more = more
    }

    var json: JSONValue {
        let measured = rounds.map(budget.measure)
        var members: [(String, JSONValue)] = [
            ("name", .string(name)), ("microseconds", rounded(rounds.operation / 1000)),
            ("reference", .string(reference)), ("referenceMicroseconds", rounded(rounds.reference / 1000)),
            ("ratio", rounded(median(rounds.map { $0.operation / $0.reference }))),
        ]
        let interval = medianInterval(measured)
        if let limit = budget.description {
            members += [("budget", .string(limit)), ("measured", rounded(median(measured)))]
            if let isMet = interval.flatMap(budget.isMet) { members.append(("isMet", .bool(isMet))) }
        }
        if let interval {
            members.append(("interval", .array([rounded(interval.lowerBound), rounded(interval.upperBound)])))
        }
        return .object(JSONMembers(members + more))
    }
}

func rounded(_ value: Double) -> JSONValue { .number((value * 1000).rounded() / 1000) }

/// Alternates `operation` and its reference. Every second round begins with the reference. The first round is not
/// counted.
func paired(
    rounds: Int = 15, iterations: Int, _ operation: () throws -> Void, reference: () throws -> Void
) rethrows -> [Round] {
    let clock = ContinuousClock()
    func measure(_ body: () throws -> Void) rethrows -> Double {
        try clock.measure { for _ in 0..<iterations { try body() } }.nanoseconds / Double(iterations)
    }
    return try (0...rounds).compactMap { number in
        let referenceFirst = number.isMultiple(of: 2) ? try measure(reference) : nil
        let first = try measure(operation)
        let round = Round(operation: first, reference: try referenceFirst ?? measure(reference))
        return number > 0 ? round : nil
    }
}

/// Does the same for asynchronous operations.
func paired(
    rounds: Int = 15, iterations: Int, _ operation: () async throws -> Void, reference: () async throws -> Void
) async throws -> [Round] {
    let clock = ContinuousClock()
    func measure(_ body: () async throws -> Void) async throws -> Double {
        let begin = clock.now
        for _ in 0..<iterations { try await body() }
        return (clock.now - begin).nanoseconds / Double(iterations)
    }
    return try await alternating(rounds) {
        try await measure(operation)
    } reference: {
        try await measure(reference)
    }
}

/// Alternates two measurements, each of which returns the nanoseconds of one operation. Every second round begins with
/// the reference. The first round is not counted.
func alternating(
    _ rounds: Int, _ operation: () async throws -> Double, reference: () async throws -> Double
) async throws -> [Round] {
    var measured: [Round] = []
    for number in 0...rounds {
        var time = number.isMultiple(of: 2) ? try await reference() : nil
        let first = try await operation()
        if time == nil { time = try await reference() }
        if number > 0 { measured.append(Round(operation: first, reference: time ?? 0)) }
    }
    return measured
}

/// Returns a 95 % confidence interval of the median: two values in the order of their size, chosen by the binomial
/// distribution. So no distribution of the values is assumed. Returns `nil` for fewer than six values.
func medianInterval(_ values: [Double]) -> ClosedRange<Double>? {
    let sorted = values.sorted()
    // The probability that at most `rank` values are smaller than the median.
    var (rank, probability, term) = (-1, 0.0, pow(0.5, Double(sorted.count)))
    while probability + term <= 0.025 {
        probability += term
        rank += 1
        term *= Double(sorted.count - rank) / Double(rank + 1)
    }
    return rank < 0 ? nil : sorted[rank]...sorted[sorted.count - 1 - rank]
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

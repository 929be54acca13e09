import CAllocations
import Foundation
import Primitives

/// One or two threads or tasks that do the same work concurrently.
struct Workers {
    let size: Int

    static let all = [Workers(size: 1), Workers(size: 2)]

    var description: String { size == 1 ? "one thread" : "\(size) threads" }

    /// Like `paired(rounds:iterations:_:reference:)`, but all workers run each closure. Each worker runs it
    /// `iterations` times, so two workers take as long as one if each has a processor. The closures get the worker's
    /// number.
    func paired(
        rounds: Int = 15, iterations: Int, _ operation: @escaping @Sendable (Int) throws -> Void,
        reference: @escaping @Sendable (Int) throws -> Void
    ) throws -> [Round] {
        try (0...rounds).compactMap { number in
            let referenceFirst = number.isMultiple(of: 2) ? try elapsed(iterations, reference) : nil
            let first = try elapsed(iterations, operation)
            let round = Round(operation: first, reference: try referenceFirst ?? elapsed(iterations, reference))
            return number > 0 ? round : nil
        }
    }

    /// Does the same for an asynchronous operation that does all iterations in one call.
    func paired(
        rounds: Int = 15, iterations: Int, _ operation: @escaping @Sendable (_ worker: Int, _ times: Int) async -> Void,
        reference: @escaping @Sendable (Int) throws -> Void
    ) async throws -> [Round] {
        try await alternating(rounds) {
            await ContinuousClock().measure {
                await withTaskGroup(of: Void.self) { group in
                    for worker in 0..<size { group.addTask { await operation(worker, iterations) } }
                }
            }.nanoseconds / Double(iterations)
        } reference: {
            try elapsed(iterations, reference)
        }
    }

    /// Returns a result for one thread and one for two. Operation and reference alternate. The first result includes
    /// the heap allocations of one call. The second includes how much more work two threads do than one, and for
    /// comparison the same ratio for plain arithmetic.
    static func results(
        _ name: String, reference: String, budget: Budget, iterations: Int, rounds: Int = 15,
        more: [(String, JSONValue)] = [], _ operation: @escaping @Sendable (Int) throws -> Void,
        against referenceOperation: @escaping @Sendable (Int) throws -> Void
    ) throws -> [BenchmarkResult] {
        var times: [[Double]] = [[], [], [], []]
        var arithmetic: [Double] = []
        for round in 0...rounds {
            var longest = 0.0
            for (number, workers) in all.enumerated() {
                let first = try workers.elapsed(iterations, inThreads: true, operation)
                let second = try workers.elapsed(iterations, inThreads: true, referenceOperation)
                longest = max(longest, first * Double(iterations))
                guard round > 0 else { continue }
                times[2 * number].append(first)
                times[2 * number + 1].append(second)
            }
            // The arithmetic takes as long as the operation. Shorter work could find a free processor where the
            // operation has to share one.
            let count = max(1, Int(longest / Arithmetic.nanoseconds))
            let alone = try all[0].elapsed(count, inThreads: true) { _ in Arithmetic.work() }
            let together = try all[1].elapsed(count, inThreads: true) { _ in Arithmetic.work() }
            if round > 0 { arithmetic.append(2 * alone / together) }
        }
        // The ratio is computed for each round, because a machine that is slow for a while slows both sides.
        let scaling = (0...1).map { side in
            median(zip(times[side], times[side + 2]).map { one, two in 2 * one / two })
        }
        let heap = try Heap.perCall({ try operation(0) }, reference: { try referenceOperation(0) })
        return all.enumerated().map { number, workers in
            BenchmarkResult(
                name: "\(name), \(workers.description)", reference: reference,
                rounds: [Round](times[2 * number], references: times[2 * number + 1]),
                budget: workers.size == 1 ? budget : .other("scaling ≥ 1.7"),
                more: workers.size == 1
                    ? more + heap
                    : [
                        ("scaling", rounded(scaling[0])), ("referenceScaling", rounded(scaling[1])),
                        ("arithmeticScaling", rounded(median(arithmetic))),
                    ])
        }
    }

    /// Returns the nanoseconds of one iteration of the slowest worker. A single worker uses the caller's thread unless
    /// `inThreads` is true.
    private func elapsed(
        _ iterations: Int, inThreads: Bool = false, _ body: @escaping @Sendable (Int) throws -> Void
    ) throws -> Double {
        let clock = ContinuousClock()
        guard size > 1 || inThreads else {
            let time = try clock.measure { for _ in 0..<iterations { try body(0) } }
            return time.nanoseconds / Double(iterations)
        }
        let ready = DispatchSemaphore(value: 0)
        let start = DispatchSemaphore(value: 0)
        let done = DispatchSemaphore(value: 0)
        let outcomes = Locked<[Result<Duration, any Error>]>([])
        for worker in 0..<size {
            Thread {
                ready.signal()
                start.wait()
                let outcome = Result { try clock.measure { for _ in 0..<iterations { try body(worker) } } }
                outcomes.withLock { $0.append(outcome) }
                done.signal()
            }.start()
        }
        for _ in 0..<size { ready.wait() }
        for _ in 0..<size { start.signal() }
        for _ in 0..<size { done.wait() }
        let times = try outcomes.withLock { $0 }.map { try $0.get().nanoseconds }
        return (times.max() ?? 0) / Double(iterations)
    }
}

/// Work without shared data. The speed-up by a second thread shows how many processors were free.
private enum Arithmetic {
    /// A variable, so that the compiler cannot inline it. Unsafe: it is never changed, so any thread may read it.
    nonisolated(unsafe) static var step: (UInt64) -> UInt64 = { $0 &* 6_364_136_223_846_793_005 &+ 1 }

    /// The approximate nanoseconds of `work`.
    static let nanoseconds: Double = {
        let clock = ContinuousClock()
        return median((0..<25).map { _ in clock.measure { work() }.nanoseconds })
    }()

    static func work() {
        let step = step
        var value: UInt64 = 1
        for _ in 0..<10_000 { value = step(value) }
        precondition(value != 0 || step(0) == 1)
    }
}

/// The heap allocations of one call, including those that it frees: the median of calls with filled caches.
enum Heap {
    static func perCall(
        _ operation: () throws -> Void, reference: () throws -> Void
    ) rethrows -> [(String, JSONValue)] {
        let (ours, theirs) = (try median(operation), try median(reference))
        guard ours.bytes > 0 || theirs.bytes > 0 else { return [] }
        return [
            ("heapBytes", .number(ours.bytes)), ("heapAllocations", .number(ours.count)),
            ("referenceHeapBytes", .number(theirs.bytes)), ("referenceHeapAllocations", .number(theirs.count)),
        ]
    }

    private static func median(_ body: () throws -> Void) rethrows -> (bytes: Int, count: Int) {
        var calls: [(bytes: Int, count: Int)] = []
        calls.reserveCapacity(101)
        for _ in 0..<101 {
            let before = souk_allocations_of_thread()
            try body()
            let after = souk_allocations_of_thread()
            calls.append((Int(after.bytes - before.bytes), Int(after.count - before.count)))
        }
        return calls.sorted { $0.bytes < $1.bytes }[50]
    }
}

import CAllocations
import Foundation
import Primitives

/// Work that one or two threads, or tasks, do at once.
struct Crew {
    let size: Int

    static let all = [Crew(size: 1), Crew(size: 2)]

    var description: String { size == 1 ? "one thread" : "\(size) threads" }

    /// As `paired(rounds:iterations:_:reference:)` with each side done by the whole crew, each member doing all of
    /// `iterations`; so on a machine with a processor for each, more members should not take longer. The closures get the
    /// member's number.
    func paired(
        rounds: Int = 15, iterations: Int, _ operation: @escaping @Sendable (Int) throws -> Void,
        reference: @escaping @Sendable (Int) throws -> Void
    ) throws -> (operation: Double, reference: Double) {
        var figures: [(Double, Double)] = []
        for round in 0...rounds {
            let first = try elapsed(iterations, operation)
            let second = try elapsed(iterations, reference)
            if round > 0 { figures.append((first, second)) }
        }
        return (median(figures.map(\.0)), median(figures.map(\.1)))
    }

    /// As the other, for an operation that is itself asynchronous and does its own repeating.
    func paired(
        rounds: Int = 15, iterations: Int, _ operation: @escaping @Sendable (_ member: Int, _ times: Int) async -> Void,
        reference: @escaping @Sendable (Int) throws -> Void
    ) async throws -> (operation: Double, reference: Double) {
        var figures: [(Double, Double)] = []
        let clock = ContinuousClock()
        for round in 0...rounds {
            let first = await clock.measure {
                await withTaskGroup(of: Void.self) { group in
                    for member in 0..<size { group.addTask { await operation(member, iterations) } }
                }
            }
            let second = try elapsed(iterations, reference)
            if round > 0 { figures.append((first.nanoseconds / Double(iterations), second)) }
        }
        return (median(figures.map(\.0)), median(figures.map(\.1)))
    }

    /// Two figures, of one thread and of two, all four sides measured in turn: time, what the heap was asked for by one
    /// call, and how much more two threads do than one, beside what they do more of plain arithmetic.
    static func figures(
        _ name: String, reference: String, budget: String, iterations: Int, rounds: Int = 15,
        more: [(String, JSONValue)] = [], _ operation: @escaping @Sendable (Int) throws -> Void,
        against referenceOperation: @escaping @Sendable (Int) throws -> Void
    ) throws -> [Figure] {
        var times: [[Double]] = [[], [], [], []]
        var arithmetic: [Double] = []
        for round in 0...rounds {
            var longest = 0.0
            for (number, crew) in all.enumerated() {
                let first = try crew.elapsed(iterations, inThreads: true, operation)
                let second = try crew.elapsed(iterations, inThreads: true, referenceOperation)
                longest = max(longest, first * Double(iterations))
                guard round > 0 else { continue }
                times[2 * number].append(first)
                times[2 * number + 1].append(second)
            }
            // As long as the operation: short work of new threads finds a processor where long work has to share.
            let count = max(1, Int(longest / Arithmetic.nanoseconds))
            let alone = try all[0].elapsed(count, inThreads: true) { _ in Arithmetic.work() }
            let together = try all[1].elapsed(count, inThreads: true) { _ in Arithmetic.work() }
            if round > 0 { arithmetic.append(2 * alone / together) }
        }
        // Of each round by itself: a machine that is slow for a while is slow for both.
        let scaling = (0...1).map { side in
            median(zip(times[side], times[side + 2]).map { one, two in 2 * one / two })
        }
        let heap = try Heap.perCall({ try operation(0) }, reference: { try referenceOperation(0) })
        return all.enumerated().map { number, crew in
            Figure(
                name: "\(name), \(crew.description)", reference: reference, nanoseconds: median(times[2 * number]),
                referenceNanoseconds: median(times[2 * number + 1]), budget: crew.size == 1 ? budget : "scaling ≥ 1.7",
                more: crew.size == 1
                    ? more + heap
                    : [
                        ("scaling", rounded(scaling[0])), ("referenceScaling", rounded(scaling[1])),
                        ("arithmeticScaling", rounded(median(arithmetic))),
                    ])
        }
    }

    /// Nanoseconds an iteration of the slowest member. One member alone works on the caller's thread unless told not to.
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
        for member in 0..<size {
            Thread {
                ready.signal()
                start.wait()
                let outcome = Result { try clock.measure { for _ in 0..<iterations { try body(member) } } }
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

/// Work that shares nothing with anybody: how much more two threads of it do says what processors were free.
private enum Arithmetic {
    /// Changeable, so that nobody can know what it does. Unsafe: it never is changed, so any thread may read it.
    nonisolated(unsafe) static var step: (UInt64) -> UInt64 = { $0 &* 6_364_136_223_846_793_005 &+ 1 }

    /// What `work` takes, about.
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

/// What one call asks the heap for, freed or not; the median of calls that have everything they remember.
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

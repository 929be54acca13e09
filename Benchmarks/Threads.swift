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

    /// Nanoseconds an iteration of the slowest member.
    private func elapsed(_ iterations: Int, _ body: @escaping @Sendable (Int) throws -> Void) throws -> Double {
        let clock = ContinuousClock()
        guard size > 1 else {
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

import Foundation
import Primitives
import Testing

/// A clock that is stopped until a test moves it.
///
///     let clock = ManualClock()
///     async let woken: Void = clock.sleep(until: clock.now().addingTimeInterval(60))
///     await clock.waiters(atLeast: 1)
///     clock.advance(by: 60)
///     try await woken
///
/// `advance` wakes the tasks whose deadline has passed, in the order of their deadlines. If the clock is deallocated while a task
/// sleeps on it, the test fails.
public final class ManualClock: WallClock {
    private struct Sleeper {
        let id: Int
        let deadline: Date
        let continuation: CheckedContinuation<Void, any Error>
    }

    private struct State {
        var now: Date
        var nextID = 0
        var sleepers: [Sleeper] = []
        var cancelled: Set<Int> = []
        var observers: [(isMet: @Sendable ([Date]) -> Bool, continuation: CheckedContinuation<Void, Never>)] = []
    }

    private let state: Locked<State>

    /// Creates a clock at an instant, by default 2026-01-01T00:00:00Z.
    public init(_ now: Date = Date(timeIntervalSince1970: 1_767_225_600)) {
        state = Locked(State(now: now))
    }

    deinit {
        let remaining = state.withLock { $0.sleepers }
        for sleeper in remaining { sleeper.continuation.resume(throwing: CancellationError()) }
        if !remaining.isEmpty {
            Issue.record("\(remaining.count) tasks still slept on a manual clock when it was deallocated")
        }
    }

    public func now() -> Date { state.withLock { $0.now } }

    public func sleep(until deadline: Date) async throws {
        let id = state.withLock { state in
            state.nextID += 1
            return state.nextID
        }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                addSleeper(Sleeper(id: id, deadline: deadline, continuation: continuation))
            }
        } onCancel: {
            cancel(id)
        }
    }

    /// Advances the time and wakes the tasks whose deadline has passed.
    public func advance(by seconds: TimeInterval) { advance { $0.addingTimeInterval(seconds) } }

    /// Advances the time to an instant, which must not be earlier, and wakes the tasks whose deadline has passed.
    public func advance(to instant: Date) { advance { _ in instant } }

    private func advance(_ move: (Date) -> Date) {
        let due = state.withLock { state in
            let instant = move(state.now)
            precondition(instant >= state.now, "a clock does not go back")
            state.now = instant
            let due = state.sleepers.filter { $0.deadline <= instant }.sorted {
                ($0.deadline, $0.id) < ($1.deadline, $1.id)
            }
            state.sleepers.removeAll { $0.deadline <= instant }
            return due
        }
        for sleeper in due { sleeper.continuation.resume() }
    }

    /// Returns when at least `count` tasks sleep on this clock. Call it before `advance`.
    public func waiters(atLeast count: Int) async { await waiters { $0.count >= count } }

    /// Returns when a task sleeps until `instant`.
    public func waiters(until instant: Date) async { await waiters { $0.contains(instant) } }

    private func waiters(areMet isMet: @escaping @Sendable ([Date]) -> Bool) async {
        await withCheckedContinuation { continuation in
            let isMetNow = state.withLock { state in
                if isMet(state.sleepers.map(\.deadline)) { return true }
                state.observers.append((isMet, continuation))
                return false
            }
            if isMetNow { continuation.resume() }
        }
    }

    private func addSleeper(_ sleeper: Sleeper) {
        enum Verdict { case due, cancelled, waits }
        let (verdict, met) = state.withLock { state -> (Verdict, [CheckedContinuation<Void, Never>]) in
            if state.cancelled.remove(sleeper.id) != nil { return (.cancelled, []) }
            if sleeper.deadline <= state.now { return (.due, []) }
            state.sleepers.append(sleeper)
            let deadlines = state.sleepers.map(\.deadline)
            let met = state.observers.filter { $0.isMet(deadlines) }.map(\.continuation)
            state.observers.removeAll { $0.isMet(deadlines) }
            return (.waits, met)
        }
        switch verdict {
        case .due: sleeper.continuation.resume()
        case .cancelled: sleeper.continuation.resume(throwing: CancellationError())
        case .waits: for observer in met { observer.resume() }
        }
    }

    private func cancel(_ id: Int) {
        let sleeper = state.withLock { state -> Sleeper? in
            guard let index = state.sleepers.firstIndex(where: { $0.id == id }) else {
                state.cancelled.insert(id)
                return nil
            }
            return state.sleepers.remove(at: index)
        }
        sleeper?.continuation.resume(throwing: CancellationError())
    }
}

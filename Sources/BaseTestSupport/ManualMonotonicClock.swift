import Primitives
import Testing

/// A `MonotonicClock` that is stopped until a test moves it.
///
///     let time = ManualMonotonicClock()
///     configuration.clock = time.clock
///     …
///     time.advance(by: .seconds(10))
///
/// Code with a deadline on this clock reads it every few milliseconds. It reacts soon after `advance`, and not at once:
/// wait for the effect, or for the readings.
public final class ManualMonotonicClock: Sendable {
    private struct State {
        var now: ContinuousClock.Instant
        var readings = 0
    }

    private let start: ContinuousClock.Instant
    private let state: Locked<State>

    /// Creates a clock that is stopped.
    public init() {
        start = .now
        state = Locked(State(now: start))
    }

    /// The clock for a configuration.
    public var clock: MonotonicClock {
        MonotonicClock { [state] in
            state.withLock { state in
                state.readings += 1
                return state.now
            }
        }
    }

    /// The total time by which the clock was advanced.
    public var elapsed: Duration { state.withLock { $0.now } - start }

    /// Advances the clock.
    public func advance(by duration: Duration) {
        precondition(duration >= .zero, "a clock does not go back")
        state.withLock { $0.now += duration }
    }

    /// Waits until the clock has been read `count` more times. After two readings, a thread that reads the clock in a
    /// loop has reacted to the current time: it reads a second time after it has handled the first reading.
    public func waitForReadings(
        _ count: Int = 2, sourceLocation: SourceLocation = #_sourceLocation,
        isolation: isolated (any Actor)? = #isolation
    ) async throws {
        let enough = state.withLock { $0.readings } + count
        try await until("the clock is read", sourceLocation: sourceLocation) {
            state.withLock { $0.readings } >= enough
        }
    }

    /// Advances the clock repeatedly until `work` returns. Between two steps the clock is read.
    public func advance<Value>(
        by step: Duration, sourceLocation: SourceLocation = #_sourceLocation,
        isolation: isolated (any Actor)? = #isolation, during work: () async throws -> Value
    ) async rethrows -> Value {
        let steps = Task {
            while !Task.isCancelled {
                advance(by: step)
                try? await waitForReadings(sourceLocation: sourceLocation)
            }
        }
        let value: Value
        do {
            value = try await work()
        } catch {
            steps.cancel()
            await steps.value
            throw error
        }
        steps.cancel()
        await steps.value
        return value
    }
}

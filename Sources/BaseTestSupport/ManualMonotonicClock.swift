import Primitives
import Testing

/// A `MonotonicClock` that stops until a test moves it.
///
///     let time = ManualMonotonicClock()
///     configuration.clock = time.clock
///     …
///     time.advance(by: .seconds(10))
///
/// Code that waits for a deadline on such a clock reads it every few milliseconds. So a moved clock acts soon, but not at
/// once: wait for the effect, or for the readings.
public final class ManualMonotonicClock: Sendable {
    private struct State {
        var now: ContinuousClock.Instant
        var readings = 0
    }

    private let start: ContinuousClock.Instant
    private let state: Locked<State>

    public init() {
        start = .now
        state = Locked(State(now: start))
    }

    /// The clock to put into a configuration.
    public var clock: MonotonicClock {
        MonotonicClock { [state] in
            state.withLock { state in
                state.readings += 1
                return state.now
            }
        }
    }

    /// How far the clock has been moved.
    public var elapsed: Duration { state.withLock { $0.now } - start }

    /// Moves the clock forward.
    public func advance(by duration: Duration) {
        precondition(duration >= .zero, "a clock does not go back")
        state.withLock { $0.now += duration }
    }

    /// Waits until the clock has been read `count` times from now on. A thread that reads the clock in a loop has then
    /// acted on the present time: it reads a second time only after it has acted on the first reading.
    public func waitForReadings(
        _ count: Int = 2, sourceLocation: SourceLocation = #_sourceLocation,
        isolation: isolated (any Actor)? = #isolation
    ) async throws {
        let enough = state.withLock { $0.readings } + count
        try await until("the clock is read", sourceLocation: sourceLocation) {
            state.withLock { $0.readings } >= enough
        }
    }

    /// Moves the clock forward again and again until `work` returns. Between two steps the clock is read.
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

/// Brings one result from any thread to the task that waits for it, where a library calls back instead of returning.
///
/// The result passes through a lock. A bare continuation that is resumed before its task has suspended orders the two
/// threads just as well, but Thread Sanitizer cannot see that and reports a race on everything that was handed over.
package final class Handover<Value: Sendable>: Sendable {
    private struct State {
        var result: Result<Value, any Error>?
        var waiting: CheckedContinuation<Void, Never>?
    }

    private let state = Locked(State())

    package init() {}

    /// To be called once.
    package func deliver(_ result: Result<Value, any Error>) {
        let waiting = state.withLock { state in
            precondition(state.result == nil, "A handover has one result.")
            state.result = result
            defer { state.waiting = nil }
            return state.waiting
        }
        waiting?.resume()
    }

    /// Returns or throws what is delivered, however long that takes: whoever delivers has to heed cancellation. To be
    /// called by one task.
    package func value() async throws -> Value {
        while true {
            if let result = state.withLock({ $0.result }) { return try result.get() }
            await withCheckedContinuation { continuation in
                let isThere = state.withLock { state in
                    if state.result == nil { state.waiting = continuation }
                    return state.result != nil
                }
                if isThere { continuation.resume() }
            }
        }
    }
}

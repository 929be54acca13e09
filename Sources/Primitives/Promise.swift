/// One result, set on any thread, for the task that waits for it. Only the first result counts.
///
/// The result passes through a lock. A continuation alone would be correct, even if it is resumed before its task has
/// suspended. But Thread Sanitizer does not see the order of the two threads then, and reports a race on the result.
package final class Promise<Value: Sendable>: Sendable {
    private struct State {
        var result: Result<Value, any Error>?
        var waiting: CheckedContinuation<Void, Never>?
    }

    private let state = Locked(State())

    package init() {}

    package var isResolved: Bool { state.withLock { $0.result != nil } }

    /// Sets the result, and returns `false` if there is one already.
    @discardableResult
    package func resolve(_ result: Result<Value, any Error>) -> Bool {
        let (isFirst, waiting) = state.withLock { state -> (Bool, CheckedContinuation<Void, Never>?) in
            guard state.result == nil else { return (false, nil) }
            state.result = result
            defer { state.waiting = nil }
            return (true, state.waiting)
        }
        waiting?.resume()
        return isFirst
    }

    /// Waits for the result and returns or throws it. Only one task may call it.
    ///
    /// Cancellation of the task does not end the wait; resolve the promise with an error for that.
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

    /// Waits like `value()`. If the task is cancelled, resolves the promise with `CancellationError`.
    package func valueUnlessCancelled() async throws -> Value {
        try await withTaskCancellationHandler {
            try await value()
        } onCancel: {
            resolve(.failure(CancellationError()))
        }
    }
}

/// One result, from any thread, for the task that waits for it. The first result counts.
///
/// The result passes through a lock. A bare continuation that is resumed before its task has suspended orders the two
/// threads just as well, but Thread Sanitizer cannot see that and reports a race on everything that was handed over.
package final class Promise<Value: Sendable>: Sendable {
    private struct State {
        var result: Result<Value, any Error>?
        var waiting: CheckedContinuation<Void, Never>?
    }

    private let state = Locked(State())

    package init() {}

    package var isResolved: Bool { state.withLock { $0.result != nil } }

    /// Whether this was the first result; any other is dropped.
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

    /// Returns or throws the result, however long that takes: cancellation is one only where it is resolved with it.
    /// To be called by one task.
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

    /// As `value()`, but throws `CancellationError` once the task is cancelled.
    package func valueUnlessCancelled() async throws -> Value {
        try await withTaskCancellationHandler {
            try await value()
        } onCancel: {
            resolve(.failure(CancellationError()))
        }
    }
}

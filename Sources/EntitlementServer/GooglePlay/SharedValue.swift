import Primitives

/// A value from another server, such as an access token. Tasks that need a new one at the same time share one request.
final class SharedValue<Value: Sendable>: Sendable {
    private struct State {
        var value: Value?
        /// The tasks that wait for the running request; `nil` if none is running.
        var waiting: [Promise<Value?>]?
    }

    private enum Step {
        case use(Value)
        case wait(Promise<Value?>)
        case request
    }

    private let state = Locked(State())

    /// The present value, however old.
    var present: Value? { state.withLock { $0.value } }

    /// The number of tasks that wait for the running request of another one.
    var waiters: Int { state.withLock { $0.waiting?.count ?? 0 } }

    /// Returns the present value if it satisfies `isCurrent`. Otherwise returns the result of `request`, which replaces
    /// the present value, or the result of another task's running request.
    ///
    /// An error of the request goes to all tasks that wait for it. If the task that performs the request is cancelled,
    /// another one performs it again.
    func value(
        where isCurrent: @Sendable (Value) -> Bool, request: () async throws -> Value
    ) async throws -> Value {
        while true {
            let step = state.withLock { state -> Step in
                if let value = state.value, isCurrent(value) { return .use(value) }
                if state.waiting == nil {
                    state.waiting = []
                    return .request
                }
                let promise = Promise<Value?>()
                state.waiting?.append(promise)
                return .wait(promise)
            }
            switch step {
            case .use(let value): return value
            case .wait(let promise): if let value = try await promise.valueUnlessCancelled() { return value }
            case .request: return try await perform(request)
            }
        }
    }

    /// Removes the value if it satisfies `isOutdated`.
    func remove(where isOutdated: (Value) -> Bool) {
        state.withLock { state in
            if let value = state.value, isOutdated(value) { state.value = nil }
        }
    }

    private func perform(_ request: () async throws -> Value) async throws -> Value {
        do {
            let value = try await request()
            finish(.success(value), keeping: value)
            return value
        } catch {
            finish(Task.isCancelled ? .success(nil) : .failure(error), keeping: nil)
            throw error
        }
    }

    private func finish(_ result: Result<Value?, any Error>, keeping value: Value?) {
        let waiting = state.withLock { state in
            if let value { state.value = value }
            defer { state.waiting = nil }
            return state.waiting ?? []
        }
        for promise in waiting { promise.resolve(result) }
    }
}

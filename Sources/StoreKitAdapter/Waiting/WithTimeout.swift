import Primitives
import StoreModel

/// Returns the result of `operation`, or `nil` if it takes longer than `limit`. The operation continues then, and
/// passes its result to `onLateResult`.
func withTimeout<Answer: Sendable>(
    of limit: Duration = .seconds(2),
    sleep: @escaping @Sendable (Duration) async throws -> Void = { try await Task.sleep(for: $0) },
    onLateResult: @escaping @Sendable (Answer) async -> Void = { _ in },
    _ operation: @escaping @Sendable () async -> Answer?
) async -> Answer? {
    let promise = Promise<Answer?>()
    Task {
        let answer = await operation()
        if !promise.resolve(.success(answer)), let answer { await onLateResult(answer) }
    }
    let timer = Task {
        try await sleep(limit)
        promise.resolve(.success(nil))
    }
    defer { timer.cancel() }
    return try? await promise.value()
}

/// Returns the result of `operation`. Throws `failure` if it takes longer than `limit`, and `CancellationError` at once
/// if the caller is cancelled. In both cases the operation is cancelled, and its result is dropped.
func withTimeout<Answer: Sendable>(
    of limit: Duration, orThrow failure: StoreFailure,
    sleep: @escaping @Sendable (Duration) async throws -> Void = { try await Task.sleep(for: $0) },
    _ operation: @escaping @Sendable () async throws -> Answer
) async throws -> Answer {
    let promise = Promise<Answer>()
    let operationTask = Task {
        do {
            promise.resolve(.success(try await operation()))
        } catch {
            promise.resolve(.failure(error))
        }
    }
    let timer = Task {
        try await sleep(limit)
        promise.resolve(.failure(failure))
    }
    defer {
        operationTask.cancel()
        timer.cancel()
    }
    return try await promise.valueUnlessCancelled()
}

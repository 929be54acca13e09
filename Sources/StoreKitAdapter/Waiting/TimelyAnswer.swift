import Primitives
import StoreModel

/// Returns the answer of `question`, or `nil` when it takes longer than `limit`. The question goes on then, and `late`
/// gets its answer.
func timelyAnswer<Answer: Sendable>(
    within limit: Duration = .seconds(2),
    sleep: @escaping @Sendable (Duration) async throws -> Void = { try await Task.sleep(for: $0) },
    late: @escaping @Sendable (Answer) async -> Void = { _ in },
    _ question: @escaping @Sendable () async -> Answer?
) async -> Answer? {
    let promise = Promise<Answer?>()
    Task {
        let answer = await question()
        if !promise.resolve(.success(answer)), let answer { await late(answer) }
    }
    let timer = Task {
        try await sleep(limit)
        promise.resolve(.success(nil))
    }
    defer { timer.cancel() }
    return try? await promise.value()
}

/// Returns the answer of `question`. Throws `failure` when that takes longer than `limit`, and `CancellationError` at
/// once when the caller is cancelled; the question is cancelled then, and its answer is dropped.
func timelyAnswer<Answer: Sendable>(
    within limit: Duration, orThrow failure: StoreFailure,
    sleep: @escaping @Sendable (Duration) async throws -> Void = { try await Task.sleep(for: $0) },
    _ question: @escaping @Sendable () async throws -> Answer
) async throws -> Answer {
    let promise = Promise<Answer>()
    let asking = Task {
        do {
            promise.resolve(.success(try await question()))
        } catch {
            promise.resolve(.failure(error))
        }
    }
    let timer = Task {
        try await sleep(limit)
        promise.resolve(.failure(failure))
    }
    defer {
        asking.cancel()
        timer.cancel()
    }
    return try await promise.valueUnlessCancelled()
}

import Primitives

/// Runs `operation`, and returns its result. If the caller is cancelled first, throws `CancellationError` at once, and
/// the operation continues for the other callers that share it.
func cancellableWait<Answer: Sendable>(
    _ operation: @escaping @Sendable () async throws -> Answer
) async throws -> Answer {
    let answer = Promise<Answer>()
    Task {
        do {
            answer.resolve(.success(try await operation()))
        } catch {
            answer.resolve(.failure(error))
        }
    }
    return try await answer.valueUnlessCancelled()
}

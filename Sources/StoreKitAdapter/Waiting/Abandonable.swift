import Primitives

/// What `question` returns, unless the caller is cancelled first: then `CancellationError` at once, while the question
/// goes on for those who share it.
func abandonable<Answer: Sendable>(
    _ question: @escaping @Sendable () async throws -> Answer
) async throws -> Answer {
    let answer = Promise<Answer>()
    Task {
        do {
            answer.resolve(.success(try await question()))
        } catch {
            answer.resolve(.failure(error))
        }
    }
    return try await answer.valueUnlessCancelled()
}

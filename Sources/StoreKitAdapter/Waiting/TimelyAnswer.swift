import Primitives

/// The answer of `question`, or `nil` when it takes longer than `limit`. It goes on then, and `late` gets its answer.
///
/// StoreKit may ask the network for details of a purchase. A customer who has paid does not wait for them.
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

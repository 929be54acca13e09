import Primitives

/// Waiting for code that may never come back.
enum Deadline {
    /// What `operation` answers, or `PurchaseError.timedOut` after `deadline`, or `CancellationError` when the caller is
    /// cancelled, whichever is first. The operation is then cancelled; one that does not heed that is left alone, and
    /// its answer is dropped: the caller must not wait for somebody else's code.
    ///
    /// - Parameter waiting: how often the operation waited for the app; the deadline begins anew after each time.
    static func answer<Value: Sendable>(
        within deadline: Duration?, sleep: @escaping @Sendable (Duration) async throws -> Void, asking name: String,
        waiting: @escaping @Sendable () -> AppRequests.Waiting = { AppRequests.Waiting() },
        _ operation: @escaping @Sendable () async throws -> Value
    ) async throws -> Value {
        try Task.checkCancellation()
        let answer = Promise<Value>()
        let work = Task {
            // A caller who gave up before this task had its turn may have asked for the opposite since.
            guard !answer.isResolved else { return }
            do {
                answer.resolve(.success(try await operation()))
            } catch {
                answer.resolve(.failure(error))
            }
        }
        let timer = deadline.map { deadline in
            Task {
                var before: AppRequests.Waiting
                repeat {
                    before = waiting()
                    try await sleep(deadline)
                } while waiting() != before || before.now > 0
                answer.resolve(
                    .failure(PurchaseError(.timedOut, "The plugin \"\(name)\" did not answer within \(deadline).")))
            }
        }
        defer {
            timer?.cancel()
            work.cancel()
        }
        return try await answer.valueUnlessCancelled()
    }
}

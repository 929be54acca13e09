import Primitives

/// A timeout for code that may not return.
enum Deadline {
    /// Returns the result of `operation`.
    ///
    /// After the deadline, throws `PurchaseError.timedOut`; when the caller is cancelled, throws `CancellationError`.
    /// In both cases the operation is cancelled. If it ignores the cancellation, its result is dropped, because the
    /// caller must not wait for the code of a plugin.
    ///
    /// - Parameters:
    ///   - deadline: The timeout, or `nil` for none.
    ///   - sleep: A function that waits for a duration.
    ///   - name: The name of the plugin, for the error.
    ///   - waiting: Returns the numbers of the plugin's waits for the app. If the plugin waited for the app during the
    ///     deadline, the deadline starts again.
    ///   - operation: The work.
    static func answer<Value: Sendable>(
        within deadline: Duration?, sleep: @escaping @Sendable (Duration) async throws -> Void, of name: String,
        waiting: @escaping @Sendable () -> AppRequests.Waiting = { AppRequests.Waiting() },
        _ operation: @escaping @Sendable () async throws -> Value
    ) async throws -> Value {
        try Task.checkCancellation()
        let answer = Promise<Value>()
        let work = Task {
            // Does not begin after a cancellation: the caller may have started another operation, such as a log-out.
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

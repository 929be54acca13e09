import Primitives

/// One answer for one caller, however many may try to give it: the first stands.
final class SingleAnswer<Value: Sendable>: Sendable {
    private enum State {
        case open
        case awaited(CheckedContinuation<Value, any Error>)
        case answered(Result<Value, any Error>)
    }

    private let state = Locked(State.open)

    /// Whether nobody has answered yet.
    var isOpen: Bool {
        state.withLock { state in
            if case .answered = state { false } else { true }
        }
    }

    /// Whether this was the first answer.
    @discardableResult
    func give(_ answer: Result<Value, any Error>) -> Bool {
        let (isFirst, waiting) = state.withLock { state -> (Bool, CheckedContinuation<Value, any Error>?) in
            switch state {
            case .open:
                state = .answered(answer)
                return (true, nil)
            case .awaited(let continuation):
                state = .answered(answer)
                return (true, continuation)
            case .answered: return (false, nil)
            }
        }
        waiting?.resume(with: answer)
        return isFirst
    }

    /// To be awaited once.
    func value() async throws -> Value {
        try await withCheckedThrowingContinuation { continuation in
            let answer = state.withLock { state -> Result<Value, any Error>? in
                if case .answered(let answer) = state { return answer }
                state = .awaited(continuation)
                return nil
            }
            if let answer { continuation.resume(with: answer) }
        }
    }
}

/// Waiting for code that may never come back.
enum Patience {
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
        let answer = SingleAnswer<Value>()
        let work = Task {
            // A caller who gave up before this task had its turn may have asked for the opposite since.
            guard answer.isOpen else { return }
            do {
                answer.give(.success(try await operation()))
            } catch {
                answer.give(.failure(error))
            }
        }
        let timer = deadline.map { deadline in
            Task {
                var before: AppRequests.Waiting
                repeat {
                    before = waiting()
                    try await sleep(deadline)
                } while waiting() != before || before.now > 0
                answer.give(
                    .failure(PurchaseError(.timedOut, "The plugin \"\(name)\" did not answer within \(deadline).")))
            }
        }
        defer {
            timer?.cancel()
            work.cancel()
        }
        return try await withTaskCancellationHandler {
            try await answer.value()
        } onCancel: {
            answer.give(.failure(CancellationError()))
        }
    }
}

import Primitives

/// What `question` returns, unless the caller is cancelled first: then `CancellationError` at once, while the question
/// goes on for those who share it.
func abandonable<Answer: Sendable>(
    _ question: @escaping @Sendable () async throws -> Answer
) async throws -> Answer {
    let waiter = Waiter<Answer>()
    return try await withTaskCancellationHandler {
        try await withCheckedThrowingContinuation { continuation in
            waiter.wait(with: continuation)
            Task {
                do {
                    waiter.resolve(.success(try await question()))
                } catch {
                    waiter.resolve(.failure(error))
                }
            }
        }
    } onCancel: {
        waiter.resolve(.failure(CancellationError()))
    }
}

/// A continuation that is resumed exactly once, by whoever comes first, also before it is there.
final class Waiter<Answer: Sendable>: Sendable {
    private enum State {
        case new
        case waiting(CheckedContinuation<Answer, any Error>)
        case resolved(Result<Answer, any Error>)
        case done
    }

    private let state = Locked<State>(.new)

    func wait(with continuation: CheckedContinuation<Answer, any Error>) {
        let ready: Result<Answer, any Error>? = state.withLock { state in
            if case .resolved(let result) = state {
                state = .done
                return result
            }
            state = .waiting(continuation)
            return nil
        }
        if let ready { continuation.resume(with: ready) }
    }

    func resolve(_ result: Result<Answer, any Error>) {
        let waiting: CheckedContinuation<Answer, any Error>? = state.withLock { state in
            switch state {
            case .new:
                state = .resolved(result)
                return nil
            case .waiting(let continuation):
                state = .done
                return continuation
            case .resolved, .done: return nil
            }
        }
        waiting?.resume(with: result)
    }
}

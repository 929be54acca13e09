import Primitives

/// A queued write as a writer thread uses it. Its caller gets exactly one answer.
package protocol QueuedWrite: AnyObject, Sendable {
    /// Returns whether to run the body: false if the caller was cancelled, and answered, before.
    func start() -> Bool
    /// Runs the body on the connection of `session`, and keeps its result. Throws what `session` throws.
    func run(in session: ((any SQLConnection) throws -> Void) throws -> Void) throws
    /// Keeps the error as the result.
    func fail(_ error: any Error)
    /// Answers the caller with the result of the last run, or with `error` if the commit failed.
    func answer(commitFailedWith error: (any Error)?)
}

/// A body, its result, and the waiting caller.
///
/// Sendable because only one writer thread uses `outcome`, and a lock protects `phase`.
package final class QueuedBody<Value: Sendable>: QueuedWrite, @unchecked Sendable {
    package typealias Answer = @Sendable (Result<Value, any Error>) -> Void

    private enum Phase {
        case waiting(Answer?)
        case cancelled
        case started(Answer)
        case answered
    }

    private let body: @Sendable (any SQLConnection) throws -> Value
    private let phase: Locked<Phase>
    private var outcome: Result<Value, any Error> = .failure(CancellationError())

    package init(_ body: @escaping @Sendable (any SQLConnection) throws -> Value) {
        self.body = body
        phase = Locked(.waiting(nil))
    }

    /// Sets the caller's continuation. Returns false if the write was cancelled already: then the caller was answered,
    /// and the write is not queued.
    package func attach(_ answer: @escaping Answer) -> Bool {
        let isWanted = phase.withLock { phase in
            guard case .waiting = phase else { return false }
            phase = .waiting(answer)
            return true
        }
        if !isWanted { answer(.failure(CancellationError())) }
        return isWanted
    }

    /// Answers with `CancellationError`, unless the body has started.
    package func cancel() {
        let answer: Answer? = phase.withLock { phase in
            guard case .waiting(let answer) = phase else { return nil }
            phase = .cancelled
            return answer
        }
        answer?(.failure(CancellationError()))
    }

    package func start() -> Bool {
        phase.withLock { phase in
            switch phase {
            case .waiting(let answer?):
                phase = .started(answer)
                return true
            case .started: return true
            case .waiting(nil), .cancelled, .answered: return false
            }
        }
    }

    package func run(in session: ((any SQLConnection) throws -> Void) throws -> Void) throws {
        outcome = .failure(CancellationError())
        try session { outcome = .success(try body($0)) }
    }

    package func fail(_ error: any Error) {
        outcome = .failure(error)
    }

    package func answer(commitFailedWith error: (any Error)?) {
        let answer: Answer? = phase.withLock { phase in
            switch phase {
            case .started(let answer), .waiting(let answer?):
                phase = .answered
                return answer
            case .waiting(nil), .cancelled, .answered: return nil
            }
        }
        answer?(error.map { .failure($0) } ?? outcome)
    }
}

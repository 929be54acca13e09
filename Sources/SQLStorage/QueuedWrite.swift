import Primitives

/// One queued write as a writing thread sees it. Its caller is answered exactly once.
package protocol QueuedWrite: AnyObject, Sendable {
    /// Whether the body is to run: false if the caller was cancelled (and answered) before.
    func start() -> Bool
    /// Runs the body on the connection that `session` gives it, and remembers what came of it. Throws what `session` throws.
    func run(in session: ((any SQLConnection) throws -> Void) throws -> Void) throws
    /// Remembers that it failed.
    func fail(_ error: any Error)
    /// Answers the caller with what came of the last run, or with `error` if the commit failed.
    func answer(commitFailedWith error: (any Error)?)
}

/// A body, its outcome, and who waits for it.
///
/// Sendable because `outcome` is touched by one writing thread only, and `phase` lies behind its lock.
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

    /// Sets who is to be answered. False if the write was cancelled already: then the answer was given, and the write
    /// need not be queued.
    package func attach(_ answer: @escaping Answer) -> Bool {
        let isWanted = phase.withLock { phase in
            guard case .waiting = phase else { return false }
            phase = .waiting(answer)
            return true
        }
        if !isWanted { answer(.failure(CancellationError())) }
        return isWanted
    }

    /// Answers with `CancellationError` unless the body has started.
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

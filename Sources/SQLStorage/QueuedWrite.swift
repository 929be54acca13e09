import Primitives

/// A queued write, as a writer thread uses it. Its caller gets exactly one result.
package protocol QueuedWrite: AnyObject, Sendable {
    /// Returns whether to run the body. Returns `false` if the caller was cancelled and has its result.
    func start() -> Bool
    /// Runs the body on the connection of `session`, and stores its result. Throws the errors of `session`.
    func run(in session: ((any SQLConnection) throws -> Void) throws -> Void) throws
    /// Stores an error as the result.
    func fail(_ error: any Error)
    /// Resumes the caller with the result of the last run, or with `error` if the commit failed.
    func answer(commitFailedWith error: (any Error)?)
}

/// A body, its result, and the waiting caller.
///
/// It is `Sendable`, because only one writer thread uses `outcome`, and a lock protects `phase`.
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

    /// Sets the caller's continuation. If the write was cancelled already, resumes the caller and returns `false`: then the
    /// write must not be queued.
    package func attach(_ answer: @escaping Answer) -> Bool {
        let isWanted = phase.withLock { phase in
            guard case .waiting = phase else { return false }
            phase = .waiting(answer)
            return true
        }
        if !isWanted { answer(.failure(CancellationError())) }
        return isWanted
    }

    /// Resumes the caller with `CancellationError`, unless the body has started.
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

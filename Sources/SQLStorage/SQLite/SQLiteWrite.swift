import Primitives

/// One queued write as the writer sees it. Its caller is answered exactly once.
protocol SQLiteWriteMember: AnyObject, Sendable {
    /// Whether the body is to run: false if the caller was cancelled (and answered) before.
    func start() -> Bool
    /// Runs the body and remembers what came of it; throws what the body threw.
    func run(on connection: SQLiteConnection) throws
    /// Remembers that it failed.
    func fail(_ error: any Error)
    /// Answers the caller with what came of the last run, or with `error` if the commit failed.
    func answer(commitFailedWith error: (any Error)?)
}

/// A body, its outcome, and who waits for it.
///
/// Sendable because `outcome` is touched by the writer's thread only, and `phase` lies behind its lock.
final class SQLiteWrite<Value: Sendable>: SQLiteWriteMember, @unchecked Sendable {
    typealias Answer = @Sendable (Result<Value, any Error>) -> Void

    private enum Phase {
        case waiting(Answer?)
        case cancelled
        case started(Answer)
        case answered
    }

    private let body: @Sendable (any SQLConnection) throws -> Value
    private let phase: Locked<Phase>
    private var outcome: Result<Value, any Error> = .failure(CancellationError())

    init(_ body: @escaping @Sendable (any SQLConnection) throws -> Value) {
        self.body = body
        phase = Locked(.waiting(nil))
    }

    /// Sets who is to be answered. False if the write was cancelled already: then the answer was given, and the write
    /// need not be queued.
    func attach(_ answer: @escaping Answer) -> Bool {
        let isWanted = phase.withLock { phase in
            guard case .waiting = phase else { return false }
            phase = .waiting(answer)
            return true
        }
        if !isWanted { answer(.failure(CancellationError())) }
        return isWanted
    }

    /// Answers with `CancellationError` unless the body has started.
    func cancel() {
        let answer: Answer? = phase.withLock { phase in
            guard case .waiting(let answer) = phase else { return nil }
            phase = .cancelled
            return answer
        }
        answer?(.failure(CancellationError()))
    }

    func start() -> Bool {
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

    func run(on connection: SQLiteConnection) throws {
        outcome = .success(try connection.session(body))
    }

    func fail(_ error: any Error) {
        outcome = .failure(error)
    }

    func answer(commitFailedWith error: (any Error)?) {
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

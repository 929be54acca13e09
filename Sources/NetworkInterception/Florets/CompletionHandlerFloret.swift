import HTTPCore
import Primitives

/// A floret written with completion handlers, as the seed declares it. Conforming is all it takes: the interceptor sees
/// an `InterceptableFloret`.
///
/// Each handler is to be called exactly once, on any thread. A second call is ignored and reported. When none comes within
/// `Interceptor.Configuration.floretDeadline`, the request goes on with the record as it was, and that is reported.
public protocol CompletionHandlerFloret: InterceptableFloret {
    func willRequest(
        _ record: Record, modificationCompletionHandler completionHandler: @escaping @Sendable (Record) -> Void)
    func didRespond(
        _ record: Record, modificationCompletionHandler completionHandler: @escaping @Sendable (Record) -> Void)
}

extension CompletionHandlerFloret {
    public func willRequest(_ record: Record) async -> Record {
        await completed("willRequest", record) { willRequest(record, modificationCompletionHandler: $0) }
    }

    public func didRespond(_ record: Record) async -> Record {
        await completed("didRespond", record) { didRespond(record, modificationCompletionHandler: $0) }
    }

    private func completed(
        _ function: String, _ record: Record, _ call: (@escaping @Sendable (Record) -> Void) -> Void
    ) async -> Record {
        let interceptor = Interceptor.current
        let report: @Sendable (InterceptionReport.Code, String) -> Void = { [name] code, sentence in
            interceptor?.report(code, floret: name, "The floret \"\(name)\" \(sentence)")
        }
        let answer = Promise<Record>()
        let ending = Locked(Ending.open)
        // What is to be reported is reported before the request goes on.
        let end: @Sendable (Ending, Record, @Sendable () -> Void) -> Ending = { [answer] how, record, tell in
            let before = ending.withLock { state in
                defer { if state == .open { state = how } }
                return state
            }
            if before == .open {
                tell()
                answer.resolve(.success(record))
            }
            return before
        }
        call { changed in
            guard end(.answered, changed, {}) == .answered else { return }
            report(.calledTwice, "called the completion handler of \(function) again; only the first call counts.")
        }
        let configuration = interceptor?.configuration ?? .standard
        let deadline = Task { [wait = configuration.wait, limit = configuration.floretDeadline] in
            try await wait(limit)
            _ = end(.givenUp, record) {
                report(
                    .noAnswer,
                    "did not call the completion handler of \(function) within \(limit); the request goes on without it."
                )
            }
        }
        defer { deadline.cancel() }
        return await withTaskCancellationHandler {
            // What is handed over never failed.
            (try? await answer.value()) ?? record
        } onCancel: {
            _ = end(.givenUp, record) {}
        }
    }
}

/// How the waiting for a completion handler came to its end.
private enum Ending { case open, answered, givenUp }

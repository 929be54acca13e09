import HTTPCore
import Primitives

/// A floret with the completion handlers of the Cauli library, which the interceptor runs as an `InterceptableFloret`.
///
/// Call each handler exactly once, on any thread. A further call is ignored, and is reported if the first one came in
/// time. If no call comes within `Interceptor.Configuration.floretDeadline`, the request continues with the unchanged
/// record, and that is reported.
public protocol CompletionHandlerFloret: InterceptableFloret {
    /// Processes a record before its request is sent.
    ///
    /// - Parameters:
    ///   - record: The record.
    ///   - completionHandler: Takes the record, changed or not.
    func willRequest(
        _ record: Record, modificationCompletionHandler completionHandler: @escaping @Sendable (Record) -> Void)
    /// Processes a record when the head of its response, or its failure, has arrived.
    ///
    /// - Parameters:
    ///   - record: The record.
    ///   - completionHandler: Takes the record, changed or not.
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

    /// Returns the record of the handler's first call, or `record` after the deadline or a cancellation. Reports the
    /// deadline before the request continues.
    private func completed(
        _ function: String, _ record: Record, _ call: (@escaping @Sendable (Record) -> Void) -> Void
    ) async -> Record {
        let interceptor = Interceptor.current
        let report: @Sendable (InterceptionReport.Code, String) -> Void = { [name] code, sentence in
            interceptor?.report(code, floret: name, "The floret \"\(name)\" \(sentence)")
        }
        let answer = Promise<Record>()
        let state = Locked(Wait.open)
        let end: @Sendable (Wait, Record, @Sendable () -> Void) -> Wait = { [answer] how, record, notify in
            let previous = state.withLock { state in
                defer { if state == .open { state = how } }
                return state
            }
            if previous == .open {
                notify()
                answer.resolve(.success(record))
            }
            return previous
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
                    "did not call the completion handler of \(function) within \(limit); the request continues with the unchanged record."
                )
            }
        }
        defer { deadline.cancel() }
        return await withTaskCancellationHandler {
            (try? await answer.value()) ?? record
        } onCancel: {
            _ = end(.givenUp, record) {}
        }
    }
}

/// The state of the wait for a completion handler.
private enum Wait { case open, answered, givenUp }

import Primitives

/// A fetch that any number of callers share. It is cancelled when the last caller stops listening.
final class SharedFetch: Sendable {
    typealias Progress = AsyncThrowingStream<ContentProgress, any Error>

    private struct State {
        var listeners: [Int: Progress.Continuation] = [:]
        var next = 0
        var latest: ContentProgress?
        var isOver = false
        var task: Task<Void, Never>?
    }

    /// The lock that gives all listeners the same order of progress. `state` must not be locked while progress is sent,
    /// because the termination handler of a stream locks it on the cancelling thread.
    private let reportLock = Locked(())
    private let state = Locked(State())

    /// Returns the progress from now on, with the latest value first; `nil` if the fetch has ended.
    func join() -> Progress? {
        let (stream, listener) = Progress.makeStream(bufferingPolicy: .bufferingNewest(100))
        return reportLock.withLock { _ in
            let joined = state.withLock { state -> (number: Int, latest: ContentProgress?)? in
                guard !state.isOver else { return nil }
                state.next += 1
                state.listeners[state.next] = listener
                return (state.next, state.latest)
            }
            guard let joined else { return nil }
            listener.onTermination = { [weak self] _ in self?.removeListener(joined.number) }
            if let latest = joined.latest { listener.yield(latest) }
            return stream
        }
    }

    /// Begins `work`. Every listener receives its result at the end.
    func run(_ work: @escaping @Sendable () async -> Result<ContentProgress, PurchaseError>) {
        let task = Task { end(await work()) }
        let isOver = state.withLock { state in
            state.task = task
            return state.isOver
        }
        if isOver { task.cancel() }
    }

    func report(_ progress: ContentProgress) {
        reportLock.withLock { _ in
            let listeners = state.withLock { state in
                guard !state.isOver else { return [Progress.Continuation]() }
                state.latest = progress
                return Array(state.listeners.values)
            }
            for listener in listeners { listener.yield(progress) }
        }
    }

    var latest: ContentProgress? { state.withLock { $0.latest } }

    /// Ends the fetch for all listeners with `error`, and returns when its work has ended.
    func cancel(_ error: PurchaseError) async {
        end(.failure(error))
        let task = state.withLock { $0.task }
        task?.cancel()
        await task?.value
    }

    private func end(_ result: Result<ContentProgress, PurchaseError>) {
        reportLock.withLock { _ in
            let listeners = state.withLock { state in
                state.isOver = true
                defer { state.listeners = [:] }
                return Array(state.listeners.values)
            }
            for listener in listeners {
                switch result {
                case .success(let progress):
                    listener.yield(progress)
                    listener.finish()
                case .failure(let error): listener.finish(throwing: error)
                }
            }
        }
    }

    private func removeListener(_ number: Int) {
        let abandoned = state.withLock { state -> Task<Void, Never>? in
            state.listeners[number] = nil
            guard state.listeners.isEmpty, !state.isOver else { return nil }
            state.isOver = true
            return state.task
        }
        abandoned?.cancel()
    }
}

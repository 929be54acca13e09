import Primitives

/// One fetch to which any number of callers listen. It is cancelled when the last of them has gone.
final class SharedFetch: Sendable {
    typealias Progress = AsyncThrowingStream<ContentProgress, any Error>

    private struct State {
        var listeners: [Int: Progress.Continuation] = [:]
        var next = 0
        var latest: ContentProgress?
        var isOver = false
        var task: Task<Void, Never>?
    }

    /// Held while listeners are told, so that all hear one order. `state` is never held then: the end of a stream asks for
    /// it from where its reader is cancelled.
    private let turn = Locked(())
    private let state = Locked(State())

    /// What is told from now on, the latest first; `nil` when there is nothing to come any more.
    func join() -> Progress? {
        let (stream, listener) = Progress.makeStream(bufferingPolicy: .bufferingNewest(100))
        return turn.withLock { _ in
            let joined = state.withLock { state -> (number: Int, latest: ContentProgress?)? in
                guard !state.isOver else { return nil }
                state.next += 1
                state.listeners[state.next] = listener
                return (state.next, state.latest)
            }
            guard let joined else { return nil }
            listener.onTermination = { [weak self] _ in self?.leave(joined.number) }
            if let latest = joined.latest { listener.yield(latest) }
            return stream
        }
    }

    /// Begins `work`, whose outcome is the last that listeners hear.
    func run(_ work: @escaping @Sendable () async -> Result<ContentProgress, PurchaseError>) {
        let task = Task { end(await work()) }
        let isOver = state.withLock { state in
            state.task = task
            return state.isOver
        }
        if isOver { task.cancel() }
    }

    func tell(_ progress: ContentProgress) {
        turn.withLock { _ in
            let listeners = state.withLock { state in
                guard !state.isOver else { return [Progress.Continuation]() }
                state.latest = progress
                return Array(state.listeners.values)
            }
            for listener in listeners { listener.yield(progress) }
        }
    }

    /// What was told last.
    var latest: ContentProgress? { state.withLock { $0.latest } }

    /// Ends it for everybody with `error`, and returns when nothing of it runs any more.
    func giveUp(_ error: PurchaseError) async {
        end(.failure(error))
        let task = state.withLock { $0.task }
        task?.cancel()
        await task?.value
    }

    private func end(_ result: Result<ContentProgress, PurchaseError>) {
        turn.withLock { _ in
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

    private func leave(_ number: Int) {
        let abandoned = state.withLock { state -> Task<Void, Never>? in
            state.listeners[number] = nil
            guard state.listeners.isEmpty, !state.isOver else { return nil }
            state.isOver = true
            return state.task
        }
        abandoned?.cancel()
    }
}

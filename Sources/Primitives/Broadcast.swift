/// One writer's values for any number of readers, each with a stream of its own.
///
///     let changes = Broadcast<Int>(replaysLast: true)
///     for await value in changes.stream() { … }
public final class Broadcast<Element: Sendable>: Sendable {
    private struct State {
        var readers: [UInt64: AsyncStream<Element>.Continuation] = [:]
        var nextReader: UInt64 = 0
        var last: Element?
        var isFinished = false
    }

    private let state = Locked(State())
    private let replaysLast: Bool

    /// With `replaysLast` a new reader first gets the value that was sent last.
    public init(replaysLast: Bool = false) { self.replaysLast = replaysLast }

    /// A stream of what is sent from now on. Of values that its reader has not taken, the newest `limit` are kept.
    public func stream(keeping limit: Int = 1000) -> AsyncStream<Element> {
        let (stream, continuation) = AsyncStream.makeStream(
            of: Element.self, bufferingPolicy: .bufferingNewest(max(1, limit)))
        let (number, isFinished) = state.withLock { state in
            // A yield takes only the stream's own lock: under ours, so that no later value overtakes the replayed one.
            if replaysLast, let last = state.last { continuation.yield(last) }
            if !state.isFinished { state.readers[state.nextReader] = continuation }
            state.nextReader += 1
            return (state.nextReader - 1, state.isFinished)
        }
        if isFinished {
            continuation.finish()
        } else {
            continuation.onTermination = { [weak self] _ in
                self?.state.withLock { _ = $0.readers.removeValue(forKey: number) }
            }
        }
        return stream
    }

    /// Sends to every reader, in the order of the calls.
    public func send(_ element: Element) {
        state.withLock { state in
            guard !state.isFinished else { return }
            if replaysLast { state.last = element }
            for reader in state.readers.values { reader.yield(element) }
        }
    }

    /// Ends every reader's stream; later ones end at once.
    public func finish() {
        let readers = state.withLock { state in
            state.isFinished = true
            defer { state.readers = [:] }
            return Array(state.readers.values)
        }
        for reader in readers { reader.finish() }
    }
}

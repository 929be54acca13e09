/// Sends the values of one writer to any number of readers. Each reader has its own stream.
///
///     let changes = Broadcast<Int>(replaysLast: true)
///     for await value in changes.stream() { … }
///
/// Call `send` anywhere except in a cancellation handler.
package final class Broadcast<Element: Sendable>: Sendable {
    private struct State {
        var readers: [UInt64: AsyncStream<Element>.Continuation] = [:]
        var nextReader: UInt64 = 0
        var last: Element?
        var isFinished = false
    }

    /// A lock that gives all readers the same order of values.
    ///
    /// `state` must not be locked while a reader is resumed. Resuming takes the runtime's lock of the reader's task. A
    /// thread that cancels this task holds that lock while `onTermination` locks `state`: the two would deadlock.
    private let order = Locked(())
    private let state = Locked(State())
    private let replaysLast: Bool

    /// Creates a broadcast. With `replaysLast`, a new reader first receives the most recent value.
    package init(replaysLast: Bool = false) { self.replaysLast = replaysLast }

    /// Returns a stream of the values that are sent from now on. If its reader is slow, the stream keeps the newest
    /// `limit` values.
    package func stream(keeping limit: Int = 1000) -> AsyncStream<Element> {
        let (stream, reader) = AsyncStream.makeStream(
            of: Element.self, bufferingPolicy: .bufferingNewest(max(1, limit)))
        order.withLock { _ in
            let (number, last, isFinished) = state.withLock { state in
                state.nextReader += 1
                if !state.isFinished { state.readers[state.nextReader] = reader }
                return (state.nextReader, state.last, state.isFinished)
            }
            if replaysLast, let last { reader.yield(last) }
            if isFinished { return reader.finish() }
            reader.onTermination = { [weak self] _ in
                self?.state.withLock { _ = $0.readers.removeValue(forKey: number) }
            }
        }
        return stream
    }

    /// Sends a value to every reader, in the order of the calls.
    package func send(_ element: Element) {
        order.withLock { _ in
            let readers = state.withLock { state in
                guard !state.isFinished else { return [AsyncStream<Element>.Continuation]() }
                if replaysLast { state.last = element }
                return Array(state.readers.values)
            }
            for reader in readers { reader.yield(element) }
        }
    }

    /// Ends the stream of every reader. A later stream ends at once; with `replaysLast`, it first sends the most recent
    /// value.
    package func finish() {
        order.withLock { _ in
            let readers = state.withLock { state in
                state.isFinished = true
                defer { state.readers = [:] }
                return Array(state.readers.values)
            }
            for reader in readers { reader.finish() }
        }
    }
}

/// One writer's values for any number of readers, each with a stream of its own.
///
///     let changes = Broadcast<Int>(replaysLast: true)
///     for await value in changes.stream() { … }
///
/// To be sent to from anywhere but a cancellation handler.
package final class Broadcast<Element: Sendable>: Sendable {
    private struct State {
        var readers: [UInt64: AsyncStream<Element>.Continuation] = [:]
        var nextReader: UInt64 = 0
        var last: Element?
        var isFinished = false
    }

    /// Held while readers are told, so that all of them see one order. Waking a reader takes the runtime's lock of its task,
    /// and who cancels that task holds that lock while the end of its stream asks for `state`: so `state` is never held then.
    private let turn = Locked(())
    private let state = Locked(State())
    private let replaysLast: Bool

    /// With `replaysLast` a new reader first gets the value that was sent last.
    package init(replaysLast: Bool = false) { self.replaysLast = replaysLast }

    /// A stream of what is sent from now on. Of values that its reader has not taken, the newest `limit` are kept.
    package func stream(keeping limit: Int = 1000) -> AsyncStream<Element> {
        let (stream, reader) = AsyncStream.makeStream(
            of: Element.self, bufferingPolicy: .bufferingNewest(max(1, limit)))
        turn.withLock { _ in
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

    /// Sends to every reader, in the order of the calls.
    package func send(_ element: Element) {
        turn.withLock { _ in
            let readers = state.withLock { state in
                guard !state.isFinished else { return [AsyncStream<Element>.Continuation]() }
                if replaysLast { state.last = element }
                return Array(state.readers.values)
            }
            for reader in readers { reader.yield(element) }
        }
    }

    /// Ends every reader's stream; later ones end at once.
    package func finish() {
        turn.withLock { _ in
            let readers = state.withLock { state in
                state.isFinished = true
                defer { state.readers = [:] }
                return Array(state.readers.values)
            }
            for reader in readers { reader.finish() }
        }
    }
}

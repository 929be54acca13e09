import Primitives

/// Passes a body stream to a library that fetches bytes by callback on its own thread and cannot wait there.
///
/// The feed holds one chunk at a time, so the stream is read only as fast as the library sends. After `take` has
/// returned `.wait`, the feed calls `ready`, on any thread, when `take` can be called again.
package final class BodyFeed: Sendable {
    /// The result of `take`.
    package enum Step: Sendable {
        case bytes(Int)
        case wait
        case end
        case failed(any Error)
    }

    private struct State {
        var chunk: [UInt8] = []
        var offset = 0
        var outcome: Step?
        var isReaderWaiting = false
        var isCancelled = false
        var producer: CheckedContinuation<Void, Never>?
        var task: Task<Void, Never>?
    }

    private let stream: HTTPBodyStream
    private let ready: @Sendable () -> Void
    private let state = Locked(State())

    /// Creates a feed for `stream`. It calls `ready` as described above.
    package init(_ stream: HTTPBodyStream, ready: @escaping @Sendable () -> Void) {
        self.stream = stream
        self.ready = ready
    }

    /// Starts to read the stream. The caller then reads the feed to its end or cancels it.
    package func start() {
        let task = Task { await run() }
        state.withLock { $0.task = task }
    }

    /// Copies at most `buffer.count` of the available bytes.
    package func take(into buffer: UnsafeMutableRawBufferPointer) -> Step {
        let target = SendableBuffer(bytes: buffer)
        let (step, producer) = state.withLock { state -> (Step, CheckedContinuation<Void, Never>?) in
            let count = min(state.chunk.count - state.offset, target.bytes.count)
            guard count > 0 else {
                state.isReaderWaiting = state.outcome == nil
                return (state.outcome ?? .wait, nil)
            }
            target.bytes.copyBytes(from: state.chunk[state.offset..<state.offset + count])
            state.offset += count
            guard state.offset == state.chunk.count else { return (.bytes(count), nil) }
            defer { state.producer = nil }
            return (.bytes(count), state.producer)
        }
        producer?.resume()
        return step
    }

    /// Stops the feed. Cancels the stream unless it has ended.
    package func cancel() {
        let (producer, task) = state.withLock { state in
            state.isCancelled = true
            state.chunk = []
            state.offset = 0
            if state.outcome == nil { state.outcome = .failed(HTTPError(.cancelled, "The body stream was cancelled.")) }
            defer { state.producer = nil }
            return (state.producer, state.task)
        }
        producer?.resume()
        stream.cancel()
        task?.cancel()
        wakeReader()
    }

    private func run() async {
        do {
            while let chunk = try await stream.next() {
                if !chunk.isEmpty { await offer(chunk) }
            }
            finish(.end)
        } catch {
            finish(.failed(error))
        }
    }

    /// Returns when the whole chunk has been taken, or when the feed is cancelled.
    private func offer(_ chunk: [UInt8]) async {
        await withCheckedContinuation { continuation in
            let isWanted = state.withLock { state in
                guard !state.isCancelled else { return false }
                state.chunk = chunk
                state.offset = 0
                state.producer = continuation
                return true
            }
            if isWanted { wakeReader() } else { continuation.resume() }
        }
    }

    private func finish(_ outcome: Step) {
        state.withLock { state in
            if state.outcome == nil { state.outcome = outcome }
        }
        wakeReader()
    }

    private func wakeReader() {
        let isWaiting = state.withLock { state in
            defer { state.isReaderWaiting = false }
            return state.isReaderWaiting
        }
        if isWaiting { ready() }
    }

    /// Sendable: used only within one call to `withLock`, on the same thread.
    private struct SendableBuffer: @unchecked Sendable {
        let bytes: UnsafeMutableRawBufferPointer
    }
}

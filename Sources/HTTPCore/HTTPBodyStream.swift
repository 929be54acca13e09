import Primitives

/// A body that arrives in chunks. It can be read once, by one reader. The stream takes a chunk from its producer only
/// when the reader requests one.
///
///     for try await chunk in stream { … }
///
/// The producer stops when the reader calls `cancel()` or releases the last reference before the end.
public struct HTTPBodyStream: Sendable, AsyncSequence, AsyncIteratorProtocol {
    /// A chunk of bytes.
    public typealias Element = [UInt8]
    /// The error type of the sequence.
    public typealias Failure = any Error

    /// The total number of bytes, or `nil` when it is unknown.
    public let length: Int?
    private let source: Source

    /// Creates a stream.
    ///
    /// - Parameters:
    ///   - length: The total number of bytes, or `nil` when it is unknown.
    ///   - next: A function that returns the next chunk, or `nil` at the end. It is not called again after it has
    ///     returned `nil` or thrown.
    ///   - cancel: A function that stops the producer. It is called at most once: when the reader calls `cancel()` or
    ///     releases the stream before the end.
    public init(
        length: Int? = nil, next: @escaping @Sendable () async throws -> [UInt8]?,
        cancel: @escaping @Sendable () -> Void = {}
    ) {
        self.length = length
        source = Source(pull: next, cancel: cancel)
    }

    /// Creates a stream of the given chunks.
    ///
    /// - Parameter chunks: The chunks, in order.
    public init(_ chunks: [[UInt8]]) {
        let rest = Locked(chunks[...])
        self.init(length: chunks.reduce(0) { $0 + $1.count }) { rest.withLock { $0.popFirst() } }
    }

    /// Waits for the next chunk and returns it.
    ///
    /// - Returns: The chunk, or `nil` at the end.
    /// - Throws: The error of the producer, or `HTTPError` with the code `cancelled` after `cancel()`.
    public func next() async throws -> [UInt8]? { try await source.next() }

    /// Cancels the stream: the producer stops, and further reads fail.
    public func cancel() { source.cancel() }

    /// Returns the stream itself, which is its own iterator.
    public func makeAsyncIterator() -> Self { self }

    private final class Source: Sendable {
        private enum State { case open, ended, cancelled }

        private let pull: @Sendable () async throws -> [UInt8]?
        private let abandon: @Sendable () -> Void
        private let state = Locked(State.open)

        init(pull: @escaping @Sendable () async throws -> [UInt8]?, cancel: @escaping @Sendable () -> Void) {
            self.pull = pull
            abandon = cancel
        }

        deinit { cancel() }

        func next() async throws -> [UInt8]? {
            switch state.withLock({ $0 }) {
            case .ended: return nil
            case .cancelled: throw HTTPError(.cancelled, "The body stream was cancelled by its reader.")
            case .open: break
            }
            do {
                let chunk = try await pull()
                if chunk == nil { end() }
                return chunk
            } catch {
                end()
                throw error
            }
        }

        func cancel() {
            let isFirst = state.withLock { state in
                defer { if state == .open { state = .cancelled } }
                return state == .open
            }
            if isFirst { abandon() }
        }

        private func end() {
            state.withLock { if $0 == .open { $0 = .ended } }
        }
    }
}

import Primitives

/// A body that arrives in pieces. It is read once, by one reader, and read only as fast as the reader asks.
///
///     for try await chunk in stream { … }
///
/// Dropping the last reference before the end, or `cancel()`, tells the producer to stop.
public struct HTTPBodyStream: Sendable, AsyncSequence, AsyncIteratorProtocol {
    public typealias Element = [UInt8]
    public typealias Failure = any Error

    /// Bytes in all, if known beforehand.
    public let length: Int?
    private let source: Source

    /// A stream whose pieces come from `next`, which answers `nil` at the end and is never called again after that or
    /// after it has thrown. `cancel` is called at most once, when the reader gives up before the end.
    public init(
        length: Int? = nil, next: @escaping @Sendable () async throws -> [UInt8]?,
        cancel: @escaping @Sendable () -> Void = {}
    ) {
        self.length = length
        source = Source(pull: next, cancel: cancel)
    }

    /// The pieces in `chunks`.
    public init(_ chunks: [[UInt8]]) {
        let rest = Locked(chunks[...])
        self.init(length: chunks.reduce(0) { $0 + $1.count }) { rest.withLock { $0.popFirst() } }
    }

    /// The next piece, `nil` at the end. Throws what the producer throws, `HTTPError.cancelled` after `cancel()`.
    public func next() async throws -> [UInt8]? { try await source.next() }

    /// Gives up: the producer is told to stop, and nothing more can be read.
    public func cancel() { source.cancel() }

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

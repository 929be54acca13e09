import Primitives

/// The buffer for a reader that is slower than its source.
public struct Buffering: Sendable {
    enum Limit: Sendable { case none, newest(Int), oldest(Int) }
    let limit: Limit

    /// A buffer without a limit.
    public static let unbounded = Buffering(limit: .none)

    /// Returns a buffer that keeps the newest elements and drops older ones.
    ///
    /// - Parameter count: The number of elements to keep.
    /// - Returns: The buffer.
    public static func newest(_ count: Int) -> Buffering { Buffering(limit: .newest(Swift.max(0, count))) }

    /// Returns a buffer that keeps the oldest elements and drops new ones while it is full.
    ///
    /// - Parameter count: The number of elements to keep.
    /// - Returns: The buffer.
    public static func oldest(_ count: Int) -> Buffering { Buffering(limit: .oldest(Swift.max(0, count))) }

    func policy<Element>(of element: Element.Type) -> AsyncStream<Element>.Continuation.BufferingPolicy {
        switch limit {
        case .none: .unbounded
        case .newest(let count): .bufferingNewest(count)
        case .oldest(let count): .bufferingOldest(count)
        }
    }
}

/// The elements sent since the creation of the sequence, for one reader. The subscription ends when the sequence and
/// its iterators are released, or when the task of the reader is cancelled.
public struct BufferedSequence<Element: Sendable>: AsyncSequence, Sendable {
    /// The sequence does not fail.
    public typealias Failure = Never
    private let reading: Reading

    fileprivate final class Reading: Sendable {
        let stream: AsyncStream<Element>
        let subscription: EventSubscription
        let dropped: Locked<Int>
        let continuation: AsyncStream<Element>.Continuation

        init(_ buffering: Buffering, _ subscribe: (Observer<Element>) -> EventSubscription) {
            let (stream, continuation) = AsyncStream.makeStream(
                of: Element.self, bufferingPolicy: buffering.policy(of: Element.self))
            let dropped = Locked(0)
            self.stream = stream
            self.continuation = continuation
            self.dropped = dropped
            let subscription = subscribe(
                Observer(
                    receive: { element in
                        if case .dropped = continuation.yield(element) { dropped.withLock { $0 += 1 } }
                    },
                    finish: { continuation.finish() }))
            self.subscription = subscription
            continuation.onTermination = { [weak subscription] _ in subscription?.cancel() }
        }
    }

    init(_ buffering: Buffering, subscribe: (Observer<Element>) -> EventSubscription) {
        reading = Reading(buffering, subscribe)
    }

    /// The number of elements that did not fit in the buffer so far. It can grow during reading:
    ///
    ///     let outputs = publisher.values(.newest(16))
    ///     for await output in outputs {
    ///         if outputs.droppedCount > 0 { … }
    ///     }
    public var droppedCount: Int { reading.dropped.withLock { $0 } }

    /// Stops collecting elements. Collected elements can still be read. An element that another thread delivers at
    /// that time may be missing.
    public func cancel() {
        reading.subscription.cancel()
        reading.continuation.finish()
    }

    /// Returns an iterator over the collected elements.
    public func makeAsyncIterator() -> AsyncIterator {
        AsyncIterator(reading: reading, base: reading.stream.makeAsyncIterator())
    }

    /// An iterator over the elements of a sequence.
    public struct AsyncIterator: AsyncIteratorProtocol {
        private let reading: Reading
        private var base: AsyncStream<Element>.AsyncIterator

        fileprivate init(reading: Reading, base: AsyncStream<Element>.AsyncIterator) {
            self.reading = reading
            self.base = base
        }

        /// The number of elements that did not fit in the buffer so far.
        public var droppedCount: Int { reading.dropped.withLock { $0 } }

        /// Waits for the next element and returns it, or `nil` at the end.
        public mutating func next() async -> Element? { await base.next() }

        /// Waits for the next element on `actor` and returns it, or `nil` at the end.
        @available(macOS 15, iOS 18, *)
        public mutating func next(isolation actor: isolated (any Actor)?) async -> Element? {
            await base.next(isolation: actor)
        }
    }
}

import Primitives

/// What is kept for a reader that is slower than what it reads.
public struct Buffering: Sendable {
    enum Limit: Sendable { case none, newest(Int), oldest(Int) }
    let limit: Limit

    /// Everything.
    public static let unbounded = Buffering(limit: .none)

    /// The latest `count`; an older one is dropped.
    public static func newest(_ count: Int) -> Buffering { Buffering(limit: .newest(Swift.max(0, count))) }

    /// The first `count`; what comes while they wait is dropped.
    public static func oldest(_ count: Int) -> Buffering { Buffering(limit: .oldest(Swift.max(0, count))) }

    func policy<Element>(of: Element.Type) -> AsyncStream<Element>.Continuation.BufferingPolicy {
        switch limit {
        case .none: .unbounded
        case .newest(let count): .bufferingNewest(count)
        case .oldest(let count): .bufferingOldest(count)
        }
    }
}

/// What is sent from the moment this was made, for one reader. Ends its subscription when it and its iterators are
/// released, or when the reading task is cancelled.
public struct BufferedSequence<Element: Sendable>: AsyncSequence, Sendable {
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

    /// How many elements did not fit so far and will never be read. Grows while reading:
    ///
    ///     let outputs = publisher.values(.newest(16))
    ///     for await output in outputs {
    ///         if outputs.droppedCount > 0 { … }
    ///     }
    public var droppedCount: Int { reading.dropped.withLock { $0 } }

    /// Stops collecting. What was collected can still be read. An output that another thread is still delivering may not
    /// be among it.
    public func cancel() {
        reading.subscription.cancel()
        reading.continuation.finish()
    }

    public func makeAsyncIterator() -> AsyncIterator {
        AsyncIterator(reading: reading, base: reading.stream.makeAsyncIterator())
    }

    public struct AsyncIterator: AsyncIteratorProtocol {
        private let reading: Reading
        private var base: AsyncStream<Element>.AsyncIterator

        fileprivate init(reading: Reading, base: AsyncStream<Element>.AsyncIterator) {
            self.reading = reading
            self.base = base
        }

        /// How many elements did not fit so far, as the sequence's own count.
        public var droppedCount: Int { reading.dropped.withLock { $0 } }

        public mutating func next() async -> Element? { await base.next() }

        @available(macOS 15, iOS 18, *)
        public mutating func next(isolation actor: isolated (any Actor)?) async -> Element? {
            await base.next(isolation: actor)
        }
    }
}

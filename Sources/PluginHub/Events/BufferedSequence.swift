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
}

/// An observer of elements.
struct Observer<Element: Sendable>: Sendable {
    let receive: @Sendable (Element) -> Void
    let finish: @Sendable () -> Void
}

/// The elements sent since the creation of the sequence, for one reader. The subscription ends when the sequence and
/// its iterators are released, or when the task of the reader is cancelled.
public struct BufferedSequence<Element: Sendable>: AsyncSequence, Sendable {
    /// The sequence does not fail.
    public typealias Failure = Never
    private let reading: Reading

    fileprivate final class Reading: Sendable {
        let buffer: ReaderBuffer<Element>
        private let subscription: EventSubscription

        init(_ buffering: Buffering, _ subscribe: (Observer<Element>) -> EventSubscription) {
            let buffer = ReaderBuffer<Element>(buffering.limit)
            self.buffer = buffer
            subscription = subscribe(Observer(receive: { buffer.append($0) }, finish: { buffer.finish() }))
        }

        func cancel() {
            subscription.cancel()
            buffer.finish()
        }

        /// Returns the next element if it is here already, or `.some(nil)` at the end. The cancellation of the task ends
        /// the subscription.
        func known() -> Element?? {
            if Task.isCancelled { cancel() }
            return buffer.take()
        }

        /// Waits for the next element and returns it, or `nil` at the end. This takes several times as long as `known`.
        func wait(on actor: isolated (any Actor)?) async -> Element? {
            await withTaskCancellationHandler {
                await withCheckedContinuation(isolation: actor) { buffer.resume($0) }
            } onCancel: {
                cancel()
            }
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
    public var droppedCount: Int { reading.buffer.droppedCount }

    /// Stops collecting elements. Collected elements can still be read. An element that another thread delivers at
    /// that time may be missing.
    public func cancel() { reading.cancel() }

    /// Returns an iterator over the collected elements.
    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(reading: reading) }

    /// An iterator over the elements of a sequence.
    public struct AsyncIterator: AsyncIteratorProtocol {
        private let reading: Reading

        fileprivate init(reading: Reading) { self.reading = reading }

        /// The number of elements that did not fit in the buffer so far.
        public var droppedCount: Int { reading.buffer.droppedCount }

        /// Waits for the next element and returns it, or `nil` at the end.
        public mutating func next() async -> Element? {
            if let known = reading.known() { return known }
            return await reading.wait(on: nil)
        }

        /// Waits for the next element on `actor` and returns it, or `nil` at the end.
        @available(macOS 15, iOS 18, *)
        public mutating func next(isolation actor: isolated (any Actor)?) async -> Element? {
            if let known = reading.known() { return known }
            return await reading.wait(on: actor)
        }
    }
}

/// The elements that wait for a reader, and the reads that wait for an element.
private final class ReaderBuffer<Element: Sendable>: Sendable {
    private struct State {
        /// The elements from `head` on are not read yet; those before it are `nil`.
        var elements: [Element?] = []
        var head = 0
        var reads: [CheckedContinuation<Element?, Never>] = []
        var dropped = 0
        var isFinished = false

        var count: Int { elements.count - head }

        mutating func removeFirst() -> Element? {
            guard head < elements.count else { return nil }
            let element = elements[head]
            elements[head] = nil
            head += 1
            if head == elements.count {
                elements.removeAll(keepingCapacity: head <= 64)
                head = 0
            } else if head > 64, head > elements.count / 2 {
                elements.removeFirst(head)
                head = 0
            }
            return element
        }
    }

    private let limit: Buffering.Limit
    private let state = Locked(State())

    init(_ limit: Buffering.Limit) { self.limit = limit }

    var droppedCount: Int { state.withLock { $0.dropped } }

    func append(_ element: Element) {
        // The read is resumed, and a dropped element released, outside of the lock.
        let (read, dropped): (CheckedContinuation<Element?, Never>?, Element?) = state.withLock { state in
            guard !state.isFinished else { return (nil, nil) }
            if !state.reads.isEmpty { return (state.reads.removeFirst(), nil) }
            switch limit {
            case .none: break
            case .newest(let limit) where state.count >= limit:
                state.dropped += 1
                guard limit > 0 else { return (nil, nil) }
                let oldest = state.removeFirst()
                state.elements.append(element)
                return (nil, oldest)
            case .oldest(let limit) where state.count >= limit:
                state.dropped += 1
                return (nil, nil)
            case .newest, .oldest: break
            }
            state.elements.append(element)
            return (nil, nil)
        }
        read?.resume(returning: element)
        withExtendedLifetime(dropped) {}
    }

    /// Ends all waiting reads. Elements that wait can still be read.
    func finish() {
        let reads = state.withLock { state in
            state.isFinished = true
            defer { state.reads = [] }
            return state.reads
        }
        for read in reads { read.resume(returning: nil) }
    }

    /// Returns the next element, or `.some(nil)` at the end. Returns `nil` if a read must wait.
    ///
    /// Other modules call it through generic code. The specialization more than halves the time of reading an event.
    @specialized(where Element == EventOutput)
    func take() -> Element?? {
        state.withLock { state in
            if let element = state.removeFirst() { return element }
            return state.isFinished ? .some(nil) : nil
        }
    }

    /// Resumes a read with the next element, as soon as there is one.
    func resume(_ read: CheckedContinuation<Element?, Never>) {
        let known: Element?? = state.withLock { state in
            if let element = state.removeFirst() { return element }
            if state.isFinished { return .some(nil) }
            state.reads.append(read)
            return nil
        }
        if let known { read.resume(returning: known) }
    }
}

/// The outputs of an event, for any number of subscribers. It is a value and can be copied.
///
/// Subscribe with a callback, or read it as an asynchronous sequence:
///
///     subscription = publisher.filter(correlationId: id).sink { output in … }
///     for await output in publisher { … }
///
/// The callbacks of one subscription are never concurrent or nested. They run on the thread of a sender, or of the
/// subscriber for the current value, so keep them short. A callback may cancel its own subscription, create
/// subscriptions, and send outputs. An output that a callback sends is queued (see `EventSubject`). A subscriber that
/// subscribes during a delivery receives only later outputs, and the current value if the subject keeps one.
public struct EventPublisher: AsyncSequence, Sendable {
    /// An output of the event.
    public typealias Element = EventOutput
    /// The sequence does not fail. Failures are outputs.
    public typealias Failure = Never
    /// The iterator of the sequence.
    public typealias AsyncIterator = BufferedSequence<EventOutput>.AsyncIterator

    let subscribe: @Sendable (EventObserver) -> EventSubscription

    init(subscribe: @escaping @Sendable (EventObserver) -> EventSubscription) { self.subscribe = subscribe }

    /// Creates a publisher from a custom source.
    ///
    /// - Parameter start: A function that starts the source for one subscriber and returns a subscription that stops
    ///   the source. Its parameter `send` passes an output to the subscriber. Any thread can call `send`.
    public init(_ start: @escaping @Sendable (_ send: @escaping @Sendable (EventOutput) -> Void) -> EventSubscription) {
        self.init(subscribe: { observer in
            let broadcast = OrderedBroadcast()
            let detach = broadcast.attach(observer)
            let source = start { broadcast.send($0) }
            return EventSubscription {
                detach()
                source.cancel()
            }
        })
    }

    /// A publisher that has finished without an output.
    public static let empty = EventPublisher(subscribe: { observer in
        observer.finish()
        return EventSubscription()
    })

    /// Calls a function with each output until the subscription is cancelled or released.
    ///
    /// - Parameter receive: The function to call.
    /// - Returns: The subscription, which the caller must keep.
    public func sink(_ receive: @escaping @Sendable (EventOutput) -> Void) -> EventSubscription {
        subscribe(EventObserver(receive: receive, finish: {}))
    }

    /// Calls a function with each output until the subscription is cancelled or released.
    ///
    /// - Parameters:
    ///   - finished: A function that is called once if the publisher ends, for example because its subject finished or
    ///     was released, or because the publishing or the subscribing plugin left.
    ///   - receive: The function to call.
    /// - Returns: The subscription, which the caller must keep.
    public func sink(
        finished: @escaping @Sendable () -> Void, _ receive: @escaping @Sendable (EventOutput) -> Void
    ) -> EventSubscription {
        subscribe(EventObserver(receive: receive, finish: finished))
    }

    /// Subscribes now and returns the outputs in a buffered sequence. `droppedCount` counts the outputs that did not
    /// fit.
    ///
    /// Subscribe before you send the command whose answer you expect:
    ///
    ///     let answers = publisher.filter(correlationId: id).values(.newest(16))
    ///     try messageSender.send(command: command, payload: nil, sender: self)
    ///     for await answer in answers { … }
    ///
    /// - Parameter buffering: The buffer for outputs that are not read yet.
    /// - Returns: The sequence.
    public func values(_ buffering: Buffering = .unbounded) -> BufferedSequence<EventOutput> {
        BufferedSequence(buffering) { sink(finished: $0.finish, $0.receive) }
    }

    /// Subscribes now. Keeps every output that is not read yet.
    public func makeAsyncIterator() -> AsyncIterator { values().makeAsyncIterator() }
}

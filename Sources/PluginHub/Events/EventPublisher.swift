/// The outputs of an event: a value, free to copy, that any number may subscribe to.
///
/// With a callback, or as an asynchronous sequence:
///
///     subscription = publisher.filter(correlationId: id).sink { output in … }
///     for await output in publisher { … }
///
/// Callbacks of one subscription are never concurrent or nested, and run on the thread that sends; keep them short. A
/// callback may cancel its own subscription, subscribe, and send (its output waits its turn, see `EventSubject`). One who
/// subscribes during a delivery sees what is sent after that.
public struct EventPublisher: AsyncSequence, Sendable {
    public typealias Element = EventOutput
    public typealias Failure = Never
    public typealias AsyncIterator = BufferedSequence<EventOutput>.AsyncIterator

    let subscribe: @Sendable (Observer<EventOutput>) -> EventSubscription

    init(subscribe: @escaping @Sendable (Observer<EventOutput>) -> EventSubscription) { self.subscribe = subscribe }

    /// A publisher over a source of one's own: `start` is called for each subscription with where its outputs go, from any
    /// thread, and returns what ends it.
    public init(_ start: @escaping @Sendable (_ send: @escaping @Sendable (EventOutput) -> Void) -> EventSubscription) {
        self.init(subscribe: { observer in
            let row = Broadcast<EventOutput>()
            let detach = row.attach(observer)
            let source = start { row.send($0) }
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

    /// Calls `receive` with each output until the subscription is cancelled or released, so keep what this returns.
    public func sink(_ receive: @escaping @Sendable (EventOutput) -> Void) -> EventSubscription {
        subscribe(Observer(receive: receive, finish: {}))
    }

    /// As `sink(_:)`, and calls `finished` once if the publisher ends: its subject is gone or its plugin left.
    public func sink(
        finished: @escaping @Sendable () -> Void, _ receive: @escaping @Sendable (EventOutput) -> Void
    ) -> EventSubscription {
        subscribe(Observer(receive: receive, finish: finished))
    }

    /// Subscribes now and keeps up to what `buffering` says for a reader that is slower; what did not fit is counted in
    /// `droppedCount`. Subscribe before you send the command whose answer you want:
    ///
    ///     let answers = publisher.filter(correlationId: id).values(.newest(16))
    ///     try messageSender.send(command: command, payload: nil, sender: self)
    ///     for await answer in answers { … }
    public func values(_ buffering: Buffering = .unbounded) -> BufferedSequence<EventOutput> {
        BufferedSequence(buffering) { subscribe($0) }
    }

    /// Subscribes now, keeping every output that is not read yet.
    public func makeAsyncIterator() -> AsyncIterator { values().makeAsyncIterator() }
}

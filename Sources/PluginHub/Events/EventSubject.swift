/// The source of the outputs of an event. A plugin has one for each event that it publishes.
///
///     private let infos = EventSubject()
///     func publisher(forEvent event: Message, payload: JSONObject?) throws -> EventPublisher { infos.publisher }
///     …
///     infos.send(.success(["info": "new"], correlationId: command.id))
///
/// Outputs are delivered one at a time, in the order of `send`, on the thread of the sender. Each output goes to the
/// subscribers that exist when `send` is called. If a delivery is in progress, because a callback or another thread
/// sends, the new output is queued and `send` returns at once. The delivering thread then delivers it. Outputs are not
/// replayed, unless the subject keeps a current value. When the subject is released, its publishers finish.
public final class EventSubject: Sendable {
    private let broadcast: OrderedBroadcast

    /// Creates a subject whose later subscribers do not see earlier outputs.
    public init() { broadcast = OrderedBroadcast() }

    /// Creates a subject for an event that is a state. Each subscriber first receives the most recent output. It does
    /// so before `sink` returns, unless a delivery is in progress.
    ///
    /// - Parameter current: The output for subscribers before the first `send`, or `nil` for none.
    public init(current: EventOutput?) { broadcast = OrderedBroadcast(keepsLatest: true, latest: current) }

    deinit { broadcast.finish() }

    /// Sends `output` to all subscribers.
    public func send(_ output: EventOutput) { broadcast.send(output) }

    /// Finishes the publishers: their asynchronous sequences return `nil` after the earlier outputs. Later outputs are
    /// ignored.
    public func finish() { broadcast.finish() }

    /// Whether there are subscribers.
    public var isObserved: Bool { broadcast.isObserved }

    /// The outputs. After the subject is released, the publisher finishes new subscriptions at once.
    public var publisher: EventPublisher {
        let broadcast = broadcast
        return EventPublisher(subscribe: { EventSubscription(onCancel: broadcast.attach($0)) })
    }
}

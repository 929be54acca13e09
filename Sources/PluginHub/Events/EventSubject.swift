/// Where the outputs of an event enter: a plugin keeps one per event it publishes.
///
///     private let infos = EventSubject()
///     func publisher(forEvent event: Message, payload: JSONObject?) throws -> EventPublisher { infos.publisher }
///     …
///     infos.send(.success(["info": "new"], correlationId: command.id))
///
/// Outputs are delivered one at a time in the order sent, each to those who were subscribed when it was sent, on the
/// sending thread. If one is being delivered already (a callback sends, or another thread does), the new one waits its
/// turn, `send` returns at once, and whoever is delivering goes on with it. Without replay, unless the subject keeps a
/// current value. When the subject is released, its publishers finish.
public final class EventSubject: Sendable {
    private let broadcast: Broadcast<EventOutput>

    /// Later subscribers do not see earlier outputs.
    public init() { broadcast = Broadcast() }

    /// For events that are a state: each subscriber first receives the output sent last, before any was sent `current`
    /// (nothing, if that is `nil`). It does so before `sink` returns, unless an output is just being delivered.
    public init(current: EventOutput?) { broadcast = Broadcast(keepsLatest: true, latest: current) }

    deinit { broadcast.finish() }

    public func send(_ output: EventOutput) { broadcast.send(output) }

    /// Ends the publishers: their asynchronous sequences return `nil` after what was sent. Later outputs are ignored.
    public func finish() { broadcast.finish() }

    /// Whether anybody is subscribed.
    public var isObserved: Bool { broadcast.isObserved }

    /// Stays usable, but silent, after the subject is gone.
    public var publisher: EventPublisher {
        let broadcast = broadcast
        return EventPublisher(subscribe: { EventSubscription(onCancel: broadcast.attach($0)) })
    }
}

/// One output of an event as the event's own type.
///
///     for await info in try hub.events(InfoChanged.self, as: self) {
///         switch info.result {
///         case .success(let info): show(info)
///         case .failure(let error): show(error)
///         }
///     }
public struct TypedOutput<Event: HubEvent>: Sendable {
    /// The event; or what its publisher sent as a failure; or, for a payload that is no `Event`, a `PluginError` of code
    /// `missingField` or `invalidField`.
    public let result: Result<Event, any Error>
    public let correlationId: MessageID?

    public init(result: Result<Event, any Error>, correlationId: MessageID? = nil) {
        self.result = result
        self.correlationId = correlationId
    }

    /// Reads an untyped output. None is lost: what cannot be read becomes a failure.
    public init(_ output: EventOutput) {
        self.init(
            result: Result { try Event(payload: output.result.get()) }, correlationId: output.correlationId)
    }

    /// The event; throws the failure.
    public func value() throws -> Event { try result.get() }
}

/// The outputs of an event as values of a type: `EventPublisher`, with the payloads read.
///
///     let infos = try hub.events(InfoChanged.self, as: self).filter(correlationId: id).values(.newest(1))
///     try hub.send(RefreshInfo(), id: id, as: self)
///     for await info in infos { show(info.result) }
public struct TypedPublisher<Event: HubEvent>: AsyncSequence, Sendable {
    public typealias Element = TypedOutput<Event>
    public typealias Failure = Never
    public typealias AsyncIterator = BufferedSequence<TypedOutput<Event>>.AsyncIterator

    /// The same outputs with their payloads as they came.
    public let untyped: EventPublisher

    public init(_ untyped: EventPublisher) { self.untyped = untyped }

    /// Only what the message with this id caused.
    public func filter(correlationId: MessageID) -> TypedPublisher {
        TypedPublisher(untyped.filter(correlationId: correlationId))
    }

    /// Calls `receive` with each output until the subscription is cancelled or released, so keep what this returns; and
    /// `finished` once if the publisher ends.
    public func sink(
        finished: @escaping @Sendable () -> Void = {}, _ receive: @escaping @Sendable (TypedOutput<Event>) -> Void
    ) -> EventSubscription {
        untyped.sink(finished: finished) { receive(TypedOutput($0)) }
    }

    /// Subscribes now and keeps up to what `buffering` says for a slower reader, as `EventPublisher.values(_:)` does.
    public func values(_ buffering: Buffering = .unbounded) -> BufferedSequence<TypedOutput<Event>> {
        BufferedSequence(buffering) { sink(finished: $0.finish, $0.receive) }
    }

    /// Subscribes now, keeping every output that is not read yet.
    public func makeAsyncIterator() -> AsyncIterator { values().makeAsyncIterator() }
}

/// An output of an event, decoded to the type of the event.
///
///     for await info in try hub.events(InfoChanged.self, as: self) {
///         switch info.result {
///         case .success(let info): show(info)
///         case .failure(let error): show(error)
///         }
///     }
public struct TypedOutput<Event: HubEvent>: Sendable {
    /// The event, or a failure: the failure that the publisher sent, or a `PluginError` with the code `missingField` or
    /// `invalidField` for a payload that is not an `Event`.
    public let result: Result<Event, any Error>
    /// The id of the message that caused the output, or `nil` if no message with an id did.
    public let correlationId: MessageID?

    /// Creates an output.
    ///
    /// - Parameters:
    ///   - result: The event or the failure.
    ///   - correlationId: The id of the message that caused the output.
    public init(result: Result<Event, any Error>, correlationId: MessageID? = nil) {
        self.result = result
        self.correlationId = correlationId
    }

    /// Decodes an untyped output. An output that cannot be decoded becomes a failure.
    ///
    /// - Parameter output: The untyped output.
    public init(_ output: EventOutput) {
        self.init(
            result: Result { try Event(payload: output.result.get()) }, correlationId: output.correlationId)
    }

    /// Returns the event.
    ///
    /// - Returns: The event of a success.
    /// - Throws: The error of a failure.
    public func value() throws -> Event { try result.get() }
}

/// An `EventPublisher` whose payloads are decoded to a type.
///
///     let infos = try hub.events(InfoChanged.self, as: self).filter(correlationId: id).values(.newest(1))
///     try hub.send(RefreshInfo(), id: id, as: self)
///     for await info in infos { show(info.result) }
public struct TypedPublisher<Event: HubEvent>: AsyncSequence, Sendable {
    /// An output of the event.
    public typealias Element = TypedOutput<Event>
    /// The sequence does not fail. Failures are outputs.
    public typealias Failure = Never
    /// The iterator of the sequence.
    public typealias AsyncIterator = BufferedSequence<TypedOutput<Event>>.AsyncIterator

    /// The publisher of the undecoded outputs.
    public let untyped: EventPublisher

    /// Creates a publisher that decodes the outputs of `untyped`.
    public init(_ untyped: EventPublisher) { self.untyped = untyped }

    /// Returns only the outputs that one message caused.
    ///
    /// - Parameter correlationId: The id of the message.
    /// - Returns: A publisher of these outputs.
    public func filter(correlationId: MessageID) -> TypedPublisher {
        TypedPublisher(untyped.filter(correlationId: correlationId))
    }

    /// Calls a function with each output until the subscription is cancelled or released.
    ///
    /// - Parameters:
    ///   - finished: A function that is called once if the publisher ends.
    ///   - receive: The function to call.
    /// - Returns: The subscription, which the caller must keep.
    public func sink(
        finished: @escaping @Sendable () -> Void = {}, _ receive: @escaping @Sendable (TypedOutput<Event>) -> Void
    ) -> EventSubscription {
        untyped.sink(finished: finished) { receive(TypedOutput($0)) }
    }

    /// Subscribes now and returns the outputs in a buffered sequence, like `EventPublisher.values(_:)`.
    ///
    /// - Parameter buffering: The buffer for outputs that are not read yet.
    /// - Returns: The sequence.
    public func values(_ buffering: Buffering = .unbounded) -> BufferedSequence<TypedOutput<Event>> {
        BufferedSequence(buffering) { sink(finished: $0.finish, $0.receive) }
    }

    /// Subscribes now. Keeps every output that is not read yet.
    public func makeAsyncIterator() -> AsyncIterator { values().makeAsyncIterator() }
}

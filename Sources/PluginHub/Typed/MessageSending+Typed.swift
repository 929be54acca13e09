extension MessageSending {
    /// Sends `command`; returning means: accepted. Throws as `send(command:payload:sender:)` does.
    ///
    ///     try hub.send(RefreshInfo(force: true), id: id, as: self)
    public func send<Command: HubCommand>(
        _ command: Command, id: MessageID? = nil, as sender: any PluginProtocol
    ) throws {
        try send(command: Command.message(id), payload: command.payload(), sender: sender)
    }

    /// The answer to `query`. Throws as `send(query:payload:sender:)` does, and `missingField` or `invalidField` for an
    /// answer that is no `Answer`.
    ///
    ///     let info = try hub.send(GetInfo(), as: self)
    public func send<Query: HubQuery>(
        _ query: Query, id: MessageID? = nil, as sender: any PluginProtocol
    ) throws -> Query.Answer {
        try Query.read(send(query: Query.message(id), payload: query.payload(), sender: sender))
    }

    /// The screen `viewQuery` asks for. Throws as `send(viewQuery:payload:sender:)` does.
    public func send<ViewQuery: HubViewQuery>(
        _ viewQuery: ViewQuery, id: MessageID? = nil, as sender: any PluginProtocol
    ) throws -> ViewDocument {
        try send(viewQuery: ViewQuery.message(id), payload: viewQuery.payload(), sender: sender)
    }

    /// The outputs of an event. Throws as `publisher(forEvent:payload:subscriber:)` does.
    ///
    ///     for await info in try hub.events(InfoChanged.self, as: self) { show(info.result) }
    public func events<Event: HubEvent>(
        _ event: Event.Type, id: MessageID? = nil, as subscriber: any PluginProtocol
    ) throws -> TypedPublisher<Event> where Event.Parameters == NoParameters {
        TypedPublisher(try publisher(forEvent: Event.message(id), payload: nil, subscriber: subscriber))
    }

    /// The outputs of an event that is asked for with `parameters`.
    public func events<Event: HubEvent>(
        _ event: Event.Type, with parameters: Event.Parameters, id: MessageID? = nil, as subscriber: any PluginProtocol
    ) throws -> TypedPublisher<Event> {
        let payload = try PayloadCoding.encode(
            parameters, "payload that asks for \"\(Event.message.name)\"", Event.message)
        return TypedPublisher(
            try publisher(
                forEvent: Event.message(id), payload: payload.isEmpty ? nil : payload, subscriber: subscriber))
    }
}

extension EventSubject {
    /// Sends `event`, caused by the message with `correlationId`. One that cannot be encoded is sent as the failure that
    /// says why.
    public func send<Event: HubEvent>(_ event: Event, correlationId: MessageID? = nil) {
        send(.event(event, correlationId: correlationId))
    }
}

extension EventOutput {
    /// `event` as an output; a failure of code `invalidField` if it cannot be encoded.
    public static func event<Event: HubEvent>(_ event: Event, correlationId: MessageID? = nil) -> EventOutput {
        EventOutput(result: Result { try event.payload() ?? [:] }, correlationId: correlationId)
    }
}

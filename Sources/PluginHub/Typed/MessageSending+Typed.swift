extension MessageSending {
    /// Sends a command. When the function returns, the receiver has accepted the command.
    ///
    ///     try hub.send(RefreshInfo(force: true), id: id, as: self)
    ///
    /// - Parameters:
    ///   - command: The command.
    ///   - id: The id for the events that the command causes.
    ///   - sender: The plugin that calls.
    /// - Throws: The errors of `send(command:payload:sender:)`, or `PluginError` with the code `invalidField` when the
    ///   command cannot be encoded as an object.
    public func send<Command: HubCommand>(
        _ command: Command, id: MessageID? = nil, as sender: any PluginProtocol
    ) throws {
        try send(command: Command.message(id), payload: command.payload(), sender: sender)
    }

    /// Sends a query and returns its answer.
    ///
    ///     let info = try hub.send(GetInfo(), as: self)
    ///
    /// - Parameters:
    ///   - query: The query.
    ///   - id: The id of the query.
    ///   - sender: The plugin that calls.
    /// - Returns: The answer.
    /// - Throws: The errors of `send(query:payload:sender:)`, or `PluginError` with the code `invalidField` when the
    ///   query cannot be encoded as an object, and `missingField` or `invalidField` when the answer is not an `Answer`.
    public func send<Query: HubQuery>(
        _ query: Query, id: MessageID? = nil, as sender: any PluginProtocol
    ) throws -> Query.Answer {
        try Query.read(send(query: Query.message(id), payload: query.payload(), sender: sender))
    }

    /// Sends a view query and returns the screen.
    ///
    /// - Parameters:
    ///   - viewQuery: The view query.
    ///   - id: The id of the query.
    ///   - sender: The plugin that calls.
    /// - Returns: The screen.
    /// - Throws: The errors of `send(viewQuery:payload:sender:)`, or `PluginError` with the code `invalidField` when
    ///   the query cannot be encoded as an object.
    public func send<ViewQuery: HubViewQuery>(
        _ viewQuery: ViewQuery, id: MessageID? = nil, as sender: any PluginProtocol
    ) throws -> ViewDocument {
        try send(viewQuery: ViewQuery.message(id), payload: viewQuery.payload(), sender: sender)
    }

    /// Returns the outputs of an event.
    ///
    ///     for await info in try hub.events(InfoChanged.self, as: self) { show(info.result) }
    ///
    /// - Parameters:
    ///   - event: The type of the event.
    ///   - id: The id for the outputs.
    ///   - subscriber: The plugin that calls.
    /// - Returns: The outputs.
    /// - Throws: The errors of `publisher(forEvent:payload:subscriber:)`.
    public func events<Event: HubEvent>(
        _ event: Event.Type, id: MessageID? = nil, as subscriber: any PluginProtocol
    ) throws -> TypedPublisher<Event> where Event.Parameters == NoParameters {
        TypedPublisher(try publisher(forEvent: Event.message(id), payload: nil, subscriber: subscriber))
    }

    /// Returns the outputs of an event with parameters.
    ///
    /// - Parameters:
    ///   - event: The type of the event.
    ///   - parameters: The parameters of the subscription.
    ///   - id: The id for the outputs.
    ///   - subscriber: The plugin that calls.
    /// - Returns: The outputs.
    /// - Throws: The errors of `publisher(forEvent:payload:subscriber:)`, or `PluginError` with the code `invalidField`
    ///   when the parameters cannot be encoded as an object.
    public func events<Event: HubEvent>(
        _ event: Event.Type, with parameters: Event.Parameters, id: MessageID? = nil, as subscriber: any PluginProtocol
    ) throws -> TypedPublisher<Event> {
        let payload = try PayloadCoding.encode(
            parameters, "payload of the subscription to \"\(Event.message.name)\"", Event.message)
        return TypedPublisher(
            try publisher(
                forEvent: Event.message(id), payload: payload.isEmpty ? nil : payload, subscriber: subscriber))
    }
}

extension EventSubject {
    /// Sends an event. If it cannot be encoded, sends the encoding error as a failure.
    ///
    /// - Parameters:
    ///   - event: The event.
    ///   - correlationId: The id of the message that caused it.
    public func send<Event: HubEvent>(_ event: Event, correlationId: MessageID? = nil) {
        send(.event(event, correlationId: correlationId))
    }
}

extension EventOutput {
    /// Returns an event as an output. If it cannot be encoded, the output is a failure with the code `invalidField`.
    ///
    /// - Parameters:
    ///   - event: The event.
    ///   - correlationId: The id of the message that caused it.
    /// - Returns: The output.
    public static func event<Event: HubEvent>(_ event: Event, correlationId: MessageID? = nil) -> EventOutput {
        EventOutput(result: Result { try event.payload() ?? [:] }, correlationId: correlationId)
    }
}

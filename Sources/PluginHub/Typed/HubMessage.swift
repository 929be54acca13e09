/// A type that is the payload of one message and knows that message's name, so that neither has to be spelt out to send
/// or receive it. Which of the four kinds it is, the protocols below say.
///
///     struct RefreshInfo: HubCommand {
///         static let message: Message = "info.refresh"
///         var force = false
///     }
///
/// Its fields are the payload's, as its `Codable` says; a type without any is sent without payload. It must encode as a
/// JSON object. Dates are RFC 3339 text in UTC with milliseconds, data is base64.
///
/// This is another spelling of the untyped calls, not another way through the hub: policies, refusals and the trace see
/// no difference, and one side may be typed while the other is not.
public protocol HubMessage: Codable, Sendable {
    /// Its name. An id in it is ignored: the one given with each call counts.
    static var message: Message { get }
}

/// Do something.
public protocol HubCommand: HubMessage {}

/// Read something that is known already.
public protocol HubQuery: HubMessage {
    /// What comes back; must encode as a JSON object.
    associatedtype Answer: Codable & Sendable
}

/// Give me a screen.
public protocol HubViewQuery: HubMessage {}

/// Something that happened; the type is the payload of each output.
public protocol HubEvent: HubMessage {
    /// The payload that asks for the event; none unless the type says so.
    associatedtype Parameters: Codable & Sendable = NoParameters
}

/// Asks for an event without payload.
public struct NoParameters: Codable, Sendable, Hashable {
    public init() {}
}

// MARK: - Receiving

extension HubMessage {
    /// Reads a payload that came with `message`.
    ///
    /// Throws `PluginError`: `missingField` for one that is absent or null, `invalidField` for one of another kind; the
    /// sentence names the field by its path, as in `items[2].price`.
    ///
    ///     func onReceive(command: Message, payload: JSONObject?) throws {
    ///         switch command {
    ///         case RefreshInfo.self: try refresh(RefreshInfo(payload: payload), for: command.id)
    ///         default: throw unsupported(.command, command)
    ///         }
    ///     }
    public init(payload: JSONObject?) throws {
        self = try PayloadCoding.decode(Self.self, from: payload, "payload of \"\(Self.message.name)\"", Self.message)
    }

    /// What goes over the hub for it; `nil` for one without fields.
    ///
    /// Throws `PluginError` code `invalidField` for a value JSON has no word for, as an infinite number.
    public func payload() throws -> JSONObject? {
        let object = try PayloadCoding.encode(self, "payload of \"\(Self.message.name)\"", Self.message)
        return object.isEmpty ? nil : object
    }

    static func message(_ id: MessageID?) -> Message { message.with(id: id) }
}

extension HubQuery {
    /// An answer as `onReceive(query:payload:)` returns it.
    ///
    ///     case GetInfo.self: return try GetInfo.answer(Info(title: title))
    public static func answer(_ answer: Answer) throws -> JSONObject {
        try PayloadCoding.encode(answer, "answer to \"\(message.name)\"", message)
    }

    static func read(_ answer: JSONObject) throws -> Answer {
        try PayloadCoding.decode(Answer.self, from: answer, "answer to \"\(message.name)\"", message)
    }
}

extension HubEvent {
    /// Reads the payload somebody asked for the event with, in `publisher(forEvent:payload:)`; throws as
    /// `init(payload:)` does.
    public static func parameters(_ payload: JSONObject?) throws -> Parameters {
        try PayloadCoding.decode(Parameters.self, from: payload, "payload that asks for \"\(message.name)\"", message)
    }
}

/// `case RefreshInfo.self:` in a `switch` over a message: whether it has that type's name.
public func ~= (type: any HubMessage.Type, message: Message) -> Bool { type.message.name == message.name }

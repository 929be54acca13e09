/// A type that is the payload of one message and has the name of that message. Conform to `HubCommand`, `HubQuery`,
/// `HubViewQuery` or `HubEvent`.
///
///     struct RefreshInfo: HubCommand {
///         static let message: Message = "info.refresh"
///         var force = false
///     }
///
/// The type must encode as a JSON object, whose members are the fields of the payload. A type without fields is sent
/// without payload. Dates are RFC 3339 text in UTC with milliseconds, and data is base64.
///
/// Typed and untyped calls are equivalent: policies, errors and the trace do not differ, and one side can be typed
/// while the other is not.
public protocol HubMessage: Codable, Sendable {
    /// The message. Its id is ignored; each call has its own.
    static var message: Message { get }
}

/// A command, which starts an action.
public protocol HubCommand: HubMessage {}

/// A query, which returns known data.
public protocol HubQuery: HubMessage {
    /// The answer, which must encode as a JSON object.
    associatedtype Answer: Codable & Sendable
}

/// A view query, which returns a screen.
public protocol HubViewQuery: HubMessage {}

/// An event. The type is the payload of each output.
public protocol HubEvent: HubMessage {
    /// The parameters of a subscription; by default there are none.
    associatedtype Parameters: Codable & Sendable = NoParameters
}

/// The parameters of an event that needs none.
public struct NoParameters: Codable, Sendable, Hashable {
    /// Creates the empty parameters.
    public init() {}
}

extension HubMessage {
    /// Decodes a payload that came with `message`.
    ///
    ///     func onReceive(command: Message, payload: JSONObject?) throws {
    ///         switch command {
    ///         case RefreshInfo.self: try refresh(RefreshInfo(payload: payload), for: command.id)
    ///         default: throw unsupported(.command, command)
    ///         }
    ///     }
    ///
    /// - Parameter payload: The payload, or `nil`.
    /// - Throws: `PluginError` with the code `missingField` when a field is missing or null, and `invalidField` when a
    ///   value has another type. The sentence contains the path of the field, such as `items[2].price`.
    public init(payload: JSONObject?) throws {
        self = try PayloadCoding.decode(Self.self, from: payload, "payload of \"\(Self.message.name)\"", Self.message)
    }

    /// Returns the payload of the message.
    ///
    /// - Returns: The payload, or `nil` if no field has a value.
    /// - Throws: `PluginError` with the code `invalidField` for infinity, or a type that is not encoded as an object.
    public func payload() throws -> JSONObject? {
        let object = try PayloadCoding.encode(self, "payload of \"\(Self.message.name)\"", Self.message)
        return object.isEmpty ? nil : object
    }

    static func message(_ id: MessageID?) -> Message { message.with(id: id) }
}

extension HubQuery {
    /// Returns an answer in the form that `onReceive(query:payload:)` returns.
    ///
    ///     case GetInfo.self: return try GetInfo.answer(Info(title: title))
    ///
    /// - Parameter answer: The answer.
    /// - Returns: The answer as a payload.
    /// - Throws: `PluginError` with the code `invalidField` for a value that JSON cannot express, or an answer that is
    ///   not encoded as an object.
    public static func answer(_ answer: Answer) throws -> JSONObject {
        try PayloadCoding.encode(answer, "answer to \"\(message.name)\"", message)
    }

    static func read(_ answer: JSONObject) throws -> Answer {
        try PayloadCoding.decode(Answer.self, from: answer, "answer to \"\(message.name)\"", message)
    }
}

extension HubEvent {
    /// Decodes the parameters of a subscription, in `publisher(forEvent:payload:)`.
    ///
    /// - Parameter payload: The payload, or `nil`.
    /// - Returns: The parameters.
    /// - Throws: `PluginError` with the code `missingField` or `invalidField`, like `init(payload:)`.
    public static func parameters(_ payload: JSONObject?) throws -> Parameters {
        try PayloadCoding.decode(
            Parameters.self, from: payload, "payload of the subscription to \"\(message.name)\"", message)
    }
}

/// Returns whether a message has the name of a type, for `case RefreshInfo.self:` in a `switch`.
///
/// - Parameters:
///   - type: The type.
///   - message: The message.
/// - Returns: Whether the message matches.
public func ~= (type: any HubMessage.Type, message: Message) -> Bool { type.message.name == message.name }

/// An output of an event: a payload or a failure, and the id of the message that caused it.
///
/// Publishers never fail; a failure is a value here. All outputs that a command causes have the id of that command.
public struct EventOutput: Sendable {
    /// The payload or the failure.
    public let result: Result<JSONObject, any Error>
    /// The id of the message that caused the output, or `nil` if no message with an id did.
    public let correlationId: MessageID?

    /// Creates an output.
    ///
    /// - Parameters:
    ///   - result: The payload or the failure.
    ///   - correlationId: The id of the message that caused the output.
    public init(result: Result<JSONObject, any Error>, correlationId: MessageID? = nil) {
        self.result = result
        self.correlationId = correlationId
    }

    /// Returns an output with a payload.
    ///
    /// - Parameters:
    ///   - payload: The payload.
    ///   - correlationId: The id of the message that caused the output.
    /// - Returns: The output.
    public static func success(_ payload: JSONObject, correlationId: MessageID? = nil) -> EventOutput {
        EventOutput(result: .success(payload), correlationId: correlationId)
    }

    /// Returns an output with a failure.
    ///
    /// - Parameters:
    ///   - error: The failure.
    ///   - correlationId: The id of the message that caused the output.
    /// - Returns: The output.
    public static func failure(_ error: any Error, correlationId: MessageID? = nil) -> EventOutput {
        EventOutput(result: .failure(error), correlationId: correlationId)
    }

    /// Returns the payload.
    ///
    /// - Returns: The payload of a success.
    /// - Throws: The error of a failure.
    public func payload() throws -> JSONObject { try result.get() }
}

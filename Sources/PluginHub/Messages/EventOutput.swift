/// One thing that happened: a payload or a failure, and the message that caused it.
///
/// Publishers never fail; a failure is a value here. Everything caused by one command carries that command's id;
/// `nil` says that nobody asked for it.
public struct EventOutput: Sendable {
    public let result: Result<JSONObject, any Error>
    public let correlationId: MessageID?

    public init(result: Result<JSONObject, any Error>, correlationId: MessageID? = nil) {
        self.result = result
        self.correlationId = correlationId
    }

    public static func success(_ payload: JSONObject, correlationId: MessageID? = nil) -> EventOutput {
        EventOutput(result: .success(payload), correlationId: correlationId)
    }

    public static func failure(_ error: any Error, correlationId: MessageID? = nil) -> EventOutput {
        EventOutput(result: .failure(error), correlationId: correlationId)
    }

    /// The payload; throws the failure.
    public func payload() throws -> JSONObject { try result.get() }
}

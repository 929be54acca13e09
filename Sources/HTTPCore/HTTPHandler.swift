/// The server port: responds to a request.
///
/// In a handler, `request.url` is the request target exactly as it was sent.
public protocol HTTPHandler: Sendable {
    /// Responds to a request.
    ///
    /// Runs on a thread of the listener, so it must return at once. Work that waits belongs in
    /// ``HTTPReply/suspended(_:)``.
    ///
    /// - Parameter request: The request.
    /// - Returns: The response, or the asynchronous work that produces it.
    func respond(to request: HTTPRequest) -> HTTPReply
}

/// The reply of a handler: a response, or asynchronous work that returns one.
public enum HTTPReply: Sendable {
    /// A complete response.
    case ready(HTTPResponse)
    /// Work that runs off the listener's threads. Its task is cancelled when the client disconnects, or at the end of
    /// the grace period of a listener that stops.
    case suspended(@Sendable () async -> HTTPResponse)

    /// Returns the response. Runs the work if there is any.
    public func response() async -> HTTPResponse {
        switch self {
        case .ready(let response): response
        case .suspended(let work): await work()
        }
    }

    /// Returns the same reply with a changed response.
    ///
    /// - Parameter change: A function that returns the new response.
    /// - Returns: The changed reply.
    public func map(_ change: @escaping @Sendable (HTTPResponse) -> HTTPResponse) -> HTTPReply {
        switch self {
        case .ready(let response): .ready(change(response))
        case .suspended(let work): .suspended { change(await work()) }
        }
    }
}

/// A handler that calls a function.
public struct AnyHTTPHandler: HTTPHandler {
    private let function: @Sendable (HTTPRequest) -> HTTPReply

    /// Creates a handler.
    ///
    /// - Parameter respond: The function that responds to requests.
    public init(_ respond: @escaping @Sendable (HTTPRequest) -> HTTPReply) { function = respond }

    /// Calls the function with `request`.
    public func respond(to request: HTTPRequest) -> HTTPReply { function(request) }
}

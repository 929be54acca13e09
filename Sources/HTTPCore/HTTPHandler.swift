/// The server port: answers a request. `request.url` is the request target exactly as it was sent.
///
/// `respond` runs on a thread of the listener, so it returns at once: what has to wait goes into `.suspended`.
public protocol HTTPHandler: Sendable {
    func respond(to request: HTTPRequest) -> HTTPReply
}

/// A handler's answer, at hand or still to come.
public enum HTTPReply: Sendable {
    case ready(HTTPResponse)
    /// Runs off the listener's threads. Its task is cancelled when the client goes away or the listener has to stop.
    case suspended(@Sendable () async -> HTTPResponse)

    /// The answer, waited for where necessary.
    public func response() async -> HTTPResponse {
        switch self {
        case .ready(let response): response
        case .suspended(let work): await work()
        }
    }

    /// The same reply with its answer changed.
    public func map(_ change: @escaping @Sendable (HTTPResponse) -> HTTPResponse) -> HTTPReply {
        switch self {
        case .ready(let response): .ready(change(response))
        case .suspended(let work): .suspended { change(await work()) }
        }
    }
}

/// A handler made of a function.
public struct AnyHTTPHandler: HTTPHandler {
    private let function: @Sendable (HTTPRequest) -> HTTPReply

    public init(_ respond: @escaping @Sendable (HTTPRequest) -> HTTPReply) { function = respond }

    public func respond(to request: HTTPRequest) -> HTTPReply { function(request) }
}

/// The client port: sends a request and returns its response, whatever the status.
///
/// An implementation does not follow redirects, does not change bodies, and stops at the timeout of the request. It
/// throws `HTTPError`. If the response body is a stream, reading it can throw the same errors.
public protocol HTTPTransport: Sendable {
    /// Sends a request and returns its response.
    ///
    /// - Parameter request: A request with an absolute URL.
    /// - Returns: The response, whatever its status.
    /// - Throws: `HTTPError` when there is no response.
    func send(_ request: HTTPRequest) async throws -> HTTPResponse
}

/// A transport that passes each request to a handler in the same process, without a socket.
public struct InProcessTransport: HTTPTransport {
    private let handler: any HTTPHandler

    /// Creates a transport to `handler`.
    public init(_ handler: any HTTPHandler) { self.handler = handler }

    /// Passes a request to the handler and returns its response.
    ///
    /// The handler receives what a listener passes to it: the path and query of the URL as the request target, and a
    /// `Host` header.
    ///
    /// - Parameter request: A request with an absolute URL.
    /// - Returns: The response of the handler.
    /// - Throws: `HTTPError` with the code `timeout`, `cancelled` or `noAnswer`.
    public func send(_ request: HTTPRequest) async throws -> HTTPResponse {
        var received = request
        received.url = request.target
        if !received.headers.contains("Host"), let host = request.authority { received.headers.add("Host", host) }
        received.timeout = nil
        let reply = handler.respond(to: received)
        return try await withDeadline(request.timeout ?? .seconds(30)) {
            var response = await reply.response()
            if response.status == HTTPResponse.connectionClosed.status {
                throw HTTPError(.noAnswer, "The handler closed the connection without a response.")
            }
            if request.method == .head { response.body = .empty }
            return response
        }
    }
}

extension HTTPRequest {
    /// The host and port of an absolute URL without user information, or `nil` when the URL has none.
    package var authority: String? {
        // A request target without a host can contain "://" in its query.
        guard !url.hasPrefix("/"), let mark = url.firstRange(of: "://") else { return nil }
        let rest = url[mark.upperBound...]
        let authority = rest.prefix { !"/?#".contains($0) }
        let host = authority.lastIndex(of: "@").map { authority[authority.index(after: $0)...] } ?? authority
        return host.isEmpty ? nil : String(host)
    }
}

/// Returns the result of `operation`. If it does not return within `duration`, cancels it and throws
/// `HTTPError.timeout`.
func withDeadline<Value: Sendable>(
    _ duration: Duration, _ operation: @escaping @Sendable () async throws -> Value
) async throws -> Value {
    try await withThrowingTaskGroup(of: Value.self) { group in
        group.addTask(operation: operation)
        group.addTask {
            try await Task.sleep(for: duration)
            throw HTTPError(.timeout, "No response came within \(duration).")
        }
        defer { group.cancelAll() }
        do {
            guard let first = try await group.next() else { throw CancellationError() }
            return first
        } catch is CancellationError {
            throw HTTPError(.cancelled, "The request was cancelled.")
        }
    }
}

/// The client port: sends one request and returns its answer, whatever the status.
///
/// An implementation follows no redirects, changes no bodies, and gives up at the request's deadline. It throws
/// `HTTPError`; the answer's body may be a stream, whose reader may then meet the same errors.
public protocol HTTPTransport: Sendable {
    func send(_ request: HTTPRequest) async throws -> HTTPResponse
}

/// A transport that hands each request to a handler in this process, without a socket.
public struct InProcessTransport: HTTPTransport {
    private let handler: any HTTPHandler

    public init(_ handler: any HTTPHandler) { self.handler = handler }

    /// The handler sees the URL's path and query as the request target, and `Host`, as a listener would give them.
    public func send(_ request: HTTPRequest) async throws -> HTTPResponse {
        var received = request
        received.url = request.target
        if !received.headers.contains("Host"), let host = request.authority { received.headers.add("Host", host) }
        received.timeout = nil
        let reply = handler.respond(to: received)
        return try await withDeadline(request.timeout ?? .seconds(30)) {
            var response = await reply.response()
            if response.status == HTTPResponse.connectionClosed.status {
                throw HTTPError(.noAnswer, "The handler closed the connection without an answer.")
            }
            if request.method == .head { response.body = .empty }
            return response
        }
    }
}

extension HTTPRequest {
    /// Host and port of an absolute URL, without user information; `nil` when it has none.
    package var authority: String? {
        // A URL in the query of a path is not this request's.
        guard !url.hasPrefix("/"), let mark = url.firstRange(of: "://") else { return nil }
        let rest = url[mark.upperBound...]
        let authority = rest.prefix { !"/?#".contains($0) }
        let host = authority.lastIndex(of: "@").map { authority[authority.index(after: $0)...] } ?? authority
        return host.isEmpty ? nil : String(host)
    }
}

/// What `operation` returns if it does so within `duration`, else `HTTPError.timeout`; the operation is then cancelled.
func withDeadline<Value: Sendable>(
    _ duration: Duration, _ operation: @escaping @Sendable () async throws -> Value
) async throws -> Value {
    try await withThrowingTaskGroup(of: Value.self) { group in
        group.addTask(operation: operation)
        group.addTask {
            try await Task.sleep(for: duration)
            throw HTTPError(.timeout, "No answer came within \(duration).")
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

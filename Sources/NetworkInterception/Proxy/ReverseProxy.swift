import HTTPCore

/// Forwards each request to a server, over a transport whose traffic an interceptor may record.
///
///     let proxy = try ReverseProxy(upstream: "http://127.0.0.1:8080", over: interceptor.transport(wrapping: CurlTransport()))
///     let listener = HTTPListener(handler: proxy)
///
/// Messages pass unchanged, with three exceptions. Hop-by-hop fields (RFC 9110 section 7.6.1) and `Expect` are removed.
/// `Host` names the server unless `preservesHost` is set. A `Location` that points to the server is rewritten to the
/// proxy's address over plain http. Contrary to section 7.6.3, the proxy adds no `Via`, so that it does not change the
/// recorded traffic. Responses are streamed. If the server closes the connection before or within its response, the
/// proxy closes the client's connection at the same point. If the server cannot be reached or does not answer in time,
/// the proxy responds with 502 or 504.
///
/// The proxy uses HTTP/1.1 on both sides. It refuses the handshake of a WebSocket with 501. It removes any other
/// `Upgrade`, including that to HTTP/2, as RFC 9110 section 7.8 permits, so that the exchange continues with HTTP/1.1.
public struct ReverseProxy: HTTPHandler {
    /// The scheme, host and port of the server.
    private let origin: String
    private let authority: String
    /// The path that is prepended to each target.
    private let prefix: String
    private let transport: any HTTPTransport
    private let preservesHost: Bool

    /// Creates a proxy.
    ///
    /// - Parameters:
    ///   - upstream: The absolute http or https URL of the server. Its path is prepended to each target.
    ///   - transport: The transport to the server.
    ///   - preservesHost: Whether the server receives the `Host` that the client sent.
    /// - Throws: `HTTPError` with the code `invalidURL`.
    public init(upstream: String, over transport: any HTTPTransport, preservesHost: Bool = false) throws {
        let request = HTTPRequest(method: .get, url: upstream)
        guard let scheme = upstream.firstRange(of: "://"), let authority = request.authority, !authority.isEmpty,
            ["http", "https"].contains(upstream[..<scheme.lowerBound].lowercased()), !upstream.contains("@"),
            !upstream.contains("?"), !upstream.contains("#")
        else {
            throw HTTPError(
                .invalidURL,
                "The server's URL must have http or https, a host, and optionally a port and a path, but no query.")
        }
        self.authority = authority
        origin = upstream[..<scheme.lowerBound].lowercased() + "://" + authority
        prefix = request.path.hasSuffix("/") ? String(request.path.dropLast()) : request.path
        self.transport = transport
        self.preservesHost = preservesHost
    }

    public func respond(to request: HTTPRequest) -> HTTPReply {
        if let refusal = Self.refusal(of: request) { return .ready(refusal.response) }
        let (forwarded, host) = (forwarded(request), request.headers["Host"])
        return .suspended {
            do {
                return rewritten(try await transport.send(forwarded), host)
            } catch {
                return Self.answer(to: error)
            }
        }
    }

    private static func refusal(of request: HTTPRequest) -> HTTPProblem? {
        guard request.url.hasPrefix("/") || (request.method == .options && request.url == "*") else {
            return HTTPProblem(
                status: 421, code: "not_a_forward_proxy", title: "Not a forward proxy",
                detail: "This proxy serves one server. Send requests to its address, without http_proxy.")
        }
        guard request.url.utf8.allSatisfy({ $0 < 0x80 }) else {
            return HTTPProblem(
                status: 400, code: "malformed_request", title: "Malformed request",
                detail: "The target contains characters outside of ASCII. Percent-encode them.")
        }
        guard request.headers.tokens(of: "Upgrade").contains("websocket") else { return nil }
        return HTTPProblem(
            status: 501, code: "websocket", title: "No WebSockets",
            detail: "This proxy does not forward WebSockets. Connect to the server directly.")
    }

    /// Returns the request to the server. Removes `Expect`, because the listener has already told the client to
    /// continue.
    private func forwarded(_ request: HTTPRequest) -> HTTPRequest {
        var forwarded = request
        forwarded.url = origin + prefix + (request.url == "*" ? "" : request.url)
        forwarded.headers = request.headers.endToEnd
        forwarded.headers["Expect"] = nil
        if !preservesHost { forwarded.headers["Host"] = authority }
        // A stream may take long. It ends when the client disconnects.
        forwarded.timeout = .seconds(24 * 60 * 60)
        return forwarded
    }

    /// Returns the response with its `Location` rewritten to `host`, the `Host` of the client's request.
    private func rewritten(_ response: HTTPResponse, _ host: String?) -> HTTPResponse {
        var response = response
        response.headers = response.headers.endToEnd
        if let location = response.headers["Location"], let host, let target = rewrittenLocation(location, host) {
            response.headers["Location"] = target
        }
        return response
    }

    /// Returns the rewritten location, or `nil` if it stays unchanged. A path below `prefix` loses the prefix, and any
    /// other path becomes a URL of the server.
    private func rewrittenLocation(_ location: String, _ host: String) -> String? {
        let isAbsolute = location.lowercased().hasPrefix(origin.lowercased())
        guard isAbsolute || (!prefix.isEmpty && location.hasPrefix("/") && !location.hasPrefix("//")) else {
            return nil
        }
        let target = isAbsolute ? location.dropFirst(origin.count) : location[...]
        let below = target.dropFirst(prefix.count)
        guard target.hasPrefix(prefix), below.isEmpty || "/?#".contains(below.first ?? "/") else {
            // On the server but outside of this proxy, or on another server whose name has the same prefix.
            return isAbsolute ? nil : origin + location
        }
        return isAbsolute ? "http://\(host)\(below)" : below.hasPrefix("/") ? String(below) : "/\(below)"
    }

    private static func answer(to error: any Error) -> HTTPResponse {
        let reason = (error as? HTTPError)?.reason ?? (error as? InterceptionError)?.reason
        let error = error as? HTTPError
        switch error?.code {
        case .noAnswer?, .connectionLost?, .cancelled?: return .connectionClosed
        case .timeout?:
            return HTTPProblem(
                status: 504, code: "upstream_timeout", title: "No answer in time",
                detail: "The server behind this proxy did not answer in time.", isRetryable: true
            ).response
        default:
            return HTTPProblem(
                status: 502, code: error.map { "upstream_\($0.code.rawValue)" } ?? "upstream_failed",
                title: "No response from the server",
                detail: reason ?? "The request failed on its way to the server behind this proxy.",
                isRetryable: error?.isRetryable ?? false
            ).response
        }
    }
}

extension HTTPHeaders {
    /// The end-to-end fields, without hop-by-hop fields (RFC 9110 section 7.6.1).
    fileprivate var endToEnd: HTTPHeaders {
        let own = Set(tokens(of: "Connection")).union([
            "connection", "keep-alive", "proxy-connection", "proxy-authorization", "te", "transfer-encoding", "upgrade",
        ])
        return HTTPHeaders(fields.filter { !own.contains($0.name.lowercased()) })
    }

    /// The members of a list of tokens, in lower case. A token has no white space (RFC 9110 section 5.6.2).
    fileprivate func tokens(of name: String) -> [String] {
        values(name).flatMap { $0.split { ", \t".contains($0) } }.map { $0.lowercased() }
    }
}

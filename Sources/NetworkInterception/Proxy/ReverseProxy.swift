import HTTPCore

/// Answers each request with what a server behind it answers, over a transport that an interceptor may watch.
///
///     let proxy = try ReverseProxy(upstream: "http://127.0.0.1:8080", over: interceptor.transport(wrapping: CurlTransport()))
///     let listener = HTTPListener(handler: proxy)
///
/// Messages pass as they came, but for what belongs to one connection (RFC 9110 section 7.6.1), `Host`, which names the
/// server, and a `Location` behind this proxy, which is turned to point here, over plain http. Unlike what section 7.6.3 asks
/// of proxies no `Via` is added: being watched is not to change what is watched. Answers stream. A server that gives no
/// answer, or half of one, is told as it is: the client's connection is closed there.
///
/// It speaks HTTP/1.1 to both sides. A WebSocket's handshake is refused (501); every other `Upgrade`, HTTP/2's too, is
/// left out, as RFC 9110 section 7.8 allows, so the exchange stays with HTTP/1.1.
public struct ReverseProxy: HTTPHandler {
    /// Scheme, host and port of the server.
    private let origin: String
    private let authority: String
    /// What stands before each target.
    private let prefix: String
    private let transport: any HTTPTransport
    private let preservesHost: Bool

    /// `upstream` is an absolute http or https URL; a path at its end stands before each target. With `preservesHost` the
    /// server gets the `Host` the client sent.
    ///
    /// Throws `HTTPError` code `invalidURL`.
    public init(upstream: String, over transport: any HTTPTransport, preservesHost: Bool = false) throws {
        let request = HTTPRequest(method: .get, url: upstream)
        guard let scheme = upstream.firstRange(of: "://"), let authority = request.authority, !authority.isEmpty,
            ["http", "https"].contains(upstream[..<scheme.lowerBound].lowercased()), !upstream.contains("@"),
            !upstream.contains("?"), !upstream.contains("#")
        else {
            throw HTTPError(
                .invalidURL, "The server's URL is http or https, a host, and perhaps a port and a path; no query.")
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
                return here(try await transport.send(forwarded), host)
            } catch {
                return Self.answer(to: error)
            }
        }
    }

    private static func refusal(of request: HTTPRequest) -> HTTPProblem? {
        guard request.url.hasPrefix("/") || (request.method == .options && request.url == "*") else {
            return HTTPProblem(
                status: 421, code: "not_a_forward_proxy", title: "Not a forward proxy",
                detail: "This stands in front of one server: send requests to its address, not by way of http_proxy.")
        }
        guard request.url.utf8.allSatisfy({ $0 < 0x80 }) else {
            return HTTPProblem(
                status: 400, code: "malformed_request", title: "Malformed request",
                detail: "The target should be of ASCII: write other characters with percent signs.")
        }
        guard request.headers.tokens(of: "Upgrade").contains("websocket") else { return nil }
        return HTTPProblem(
            status: 501, code: "websocket", title: "No WebSockets",
            detail: "WebSockets do not pass here: connect to the server itself.")
    }

    private func forwarded(_ request: HTTPRequest) -> HTTPRequest {
        var forwarded = request
        forwarded.url = origin + prefix + (request.url == "*" ? "" : request.url)
        forwarded.headers = request.headers.endToEnd
        // Who listens has already told the client to continue.
        forwarded.headers["Expect"] = nil
        if !preservesHost { forwarded.headers["Host"] = authority }
        // A stream may go on for long; it ends when the client goes.
        forwarded.timeout = .seconds(24 * 60 * 60)
        return forwarded
    }

    /// The answer as it is given at this place, which the client called `host`.
    private func here(_ response: HTTPResponse, _ host: String?) -> HTTPResponse {
        var response = response
        response.headers = response.headers.endToEnd
        if let location = response.headers["Location"], let host, let place = self.place(location, host) {
            response.headers["Location"] = place
        }
        return response
    }

    /// Where a client goes that is told to go to `location`; `nil` when it may go there as it is told to.
    private func place(_ location: String, _ host: String) -> String? {
        let isAbsolute = location.lowercased().hasPrefix(origin.lowercased())
        // What has no path of its own begins where the request went.
        guard isAbsolute || (!prefix.isEmpty && location.hasPrefix("/") && !location.hasPrefix("//")) else {
            return nil
        }
        let target = isAbsolute ? location.dropFirst(origin.count) : location[...]
        let below = target.dropFirst(prefix.count)
        guard target.hasPrefix(prefix), below.isEmpty || "/?#".contains(below.first ?? "/") else {
            // At the server, but not behind this proxy; or at another server, whose name only begins alike.
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
                title: "No answer from behind",
                detail: reason ?? "The request failed on its way to the server behind this proxy.",
                isRetryable: error?.isRetryable ?? false
            ).response
        }
    }
}

extension HTTPHeaders {
    /// The fields that are meant for the other end, not for the next connection (RFC 9110 section 7.6.1).
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

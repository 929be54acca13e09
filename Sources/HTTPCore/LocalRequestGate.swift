/// Refuses requests that a web page of another site sends to a server on this machine.
///
/// A page of any site can make the browser send requests to 127.0.0.1. A page can also read the responses if its own
/// host name resolves to 127.0.0.1 (DNS rebinding). Two checks prevent both attacks:
///
/// - **Host**: `Host`, and the host in the request target if there is one, must be a name of this server. Those are
///   `localhost`, `127.0.0.1`, `[::1]`, the address that the server is bound to, and the names that the operator
///   allowed. A rebound host name is not among these names. A request without a host passes, because browsers always
///   send `Host`.
/// - **Site**: `Sec-Fetch-Site` and `Origin`, which a page cannot change, must not name another site. A link to a page
///   of the server passes, because the site with the link cannot read the response.
///
/// ```swift
/// let gate = LocalRequestGate(hostNames: ["ci.example"])
/// if let problem = gate.refusal(of: request) { return .ready(problem.response) }
/// ```
///
/// The gate is for servers without authentication. The entitlement server uses it only for the host of a console
/// without TLS. Apps and backends call that server by public names that it does not know, and its endpoints with data
/// require a key or a signature that no other site has.
package struct LocalRequestGate: Sendable {
    /// The allowed names in lower case, with IPv6 addresses in brackets; `nil` allows any name.
    private let names: Set<String>?
    /// Whether every literal IP address is allowed, because the server is bound to all addresses.
    private let allowsAddresses: Bool

    /// Creates a gate for a server that is bound to `address`. `hostNames` are further names of the server, without
    /// scheme and port.
    package init(boundTo address: String = "127.0.0.1", hostNames: [String] = []) {
        let all = ["localhost", "127.0.0.1", "[::1]"] + [Self.bracketed(address)] + hostNames.map(Self.bracketed)
        names = Set(all.map { $0.lowercased() })
        allowsAddresses = ["0.0.0.0", "::"].contains(address)
    }

    private init() {
        names = nil
        allowsAddresses = true
    }

    /// A gate that checks only the site, for servers that check the host or a token themselves.
    package static let anyHost = LocalRequestGate()

    /// Returns the error response, with status 403, for a refused request, or `nil` for an allowed one.
    ///
    /// `isProven` is true if the request contains a secret of the server's own page. A form on this page can send the
    /// origin `null`, and older browsers send no `Sec-Fetch-Site`. Only the secret then proves that the page sent the
    /// form.
    package func refusal(of request: HTTPRequest, isProven: Bool = false) -> HTTPProblem? {
        refusalOfHost(request) ?? Self.refusalOfSite(request, isProven)
    }

    /// Checks only the host, for resources that any site can request under a name of this server.
    package func refusalOfHost(_ request: HTTPRequest) -> HTTPProblem? {
        guard let names else { return nil }
        // The request target can contain a host too; servers then use that host.
        for host in [request.headers["Host"], request.authority].compactMap(\.self) {
            if let name = Self.name(of: host), names.contains(name) || allowsAddresses && Self.isAddress(name) {
                continue
            }
            return Self.forbidden(
                "foreign_host",
                "This server does not accept the host name \"\(host.prefix(255))\". Use localhost or 127.0.0.1, or allow "
                    + "the name when it is started.")
        }
        return nil
    }

    /// Returns the name in a `Host` header in lower case, or `nil` when the header is malformed.
    private static func name(of host: String) -> String? {
        let isBracketed = host.hasPrefix("[")
        let end = isBracketed ? host.firstIndex(of: "]").map(host.index(after:)) : host.firstIndex(of: ":")
        guard let end = end ?? (isBracketed ? nil : host.endIndex) else { return nil }
        let port = host[end...]
        guard port.isEmpty || port.first == ":" && port.dropFirst().utf8.allSatisfy(\.isDigit) else { return nil }
        return host[..<end].lowercased()
    }

    private static func isAddress(_ name: String) -> Bool {
        if name.hasPrefix("[") { return true }
        let parts = name.split(separator: ".", omittingEmptySubsequences: false)
        return parts.count == 4 && parts.allSatisfy { UInt8($0) != nil }
    }

    private static func bracketed(_ name: String) -> String {
        name.contains(":") && !name.hasPrefix("[") ? "[\(name)]" : name
    }

    /// Returns whether `text` is a host name or an IP address, without scheme, port and path.
    package static func isHostName(_ text: String) -> Bool {
        let name = bracketed(text)
        guard (1...255).contains(text.utf8.count), Self.name(of: name) == name.lowercased() else { return false }
        guard name.hasPrefix("[") else {
            return name.utf8.allSatisfy { $0.isDigit || $0.isLetter || "._-".utf8.contains($0) }
        }
        let address = name.dropFirst().dropLast()
        return address.count { $0 == ":" } >= 2
            && address.allSatisfy { $0.isHexDigit && $0.isASCII || ":.".contains($0) }
    }

    private static func refusalOfSite(_ request: HTTPRequest, _ isProven: Bool) -> HTTPProblem? {
        let site = request.headers["Sec-Fetch-Site"]
        if let site, site != "same-origin", site != "none", !isNavigation(request) {
            return forbidden("foreign_site", "A web page of another site may not send this request.")
        }
        guard let origin = request.headers["Origin"] else { return nil }
        // A form on a page with "Referrer-Policy: no-referrer" sends the origin "null".
        let isOwn =
            origin == "null"
            ? site == "same-origin" || isProven && site == nil : hostAndPort(of: origin) == request.headers["Host"]
        return isOwn ? nil : forbidden("foreign_site", "A web page of another site may not send this request.")
    }

    /// Returns whether the browser displays the response as a page of its own, for example after a click on a link.
    private static func isNavigation(_ request: HTTPRequest) -> Bool {
        let (mode, destination) = (request.headers["Sec-Fetch-Mode"], request.headers["Sec-Fetch-Dest"])
        return [.get, .head].contains(request.method) && mode == "navigate" && destination ?? "document" == "document"
    }

    private static func hostAndPort(of origin: String) -> String? {
        origin.split(separator: "/").last.map(String.init)
    }

    private static func forbidden(_ code: String, _ detail: String) -> HTTPProblem {
        HTTPProblem(status: 403, code: code, title: "Forbidden", detail: detail)
    }
}

extension LocalRequestGate {
    /// Returns a handler that passes only allowed requests to `handler`. Pass `false` for `checksSite` if other sites
    /// may call it, as for a proxy, whose upstream server checks the site itself.
    package func guarding(_ handler: any HTTPHandler, checksSite: Bool = true) -> AnyHTTPHandler {
        AnyHTTPHandler { request in
            if let problem = checksSite ? refusal(of: request) : refusalOfHost(request) {
                return .ready(problem.response)
            }
            return handler.respond(to: request)
        }
    }
}

extension UInt8 {
    fileprivate var isDigit: Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(self) }
    fileprivate var isLetter: Bool { (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(self | 0x20) }
}

extension HTTPRequest {
    /// The error response, with status 415, for a request whose body is not declared as JSON, or `nil` for an allowed
    /// request.
    ///
    /// Without a CORS preflight, a page of another site can send a body only as a form or as plain text.
    package var refusalOfMediaType: HTTPProblem? {
        guard body.length != 0 else { return nil }
        let type = (headers["Content-Type"] ?? "").prefix { $0 != ";" }.lowercased()
        let isJSON = type.split(separator: " ").elementsEqual(["application/json"])
        return isJSON
            ? nil
            : HTTPProblem(
                status: 415, code: "unsupported_media_type", title: "Unsupported media type",
                detail: "The body must be JSON. Send it with \"Content-Type: application/json\".", field: "Content-Type"
            )
    }
}

/// Refuses requests that a web page of another site sends to a server on this machine.
///
/// A browser sends any page's requests to any address, 127.0.0.1 included. A page can also be read from under its own
/// name after that name was pointed to 127.0.0.1 (DNS rebinding). Two checks stop both:
///
/// - **Host**: the request names the server as `localhost`, `127.0.0.1`, `[::1]`, by the address it is bound to, or by a
///   name that the operator allowed, in `Host` and in a target that names a host. A rebound name is none of these. A
///   request that names no host passes: browsers always send `Host`.
/// - **Site**: `Sec-Fetch-Site` and `Origin`, which a page cannot change, name the server itself. A link to a page of
///   the server passes, because the site with the link cannot read the answer.
///
/// ```swift
/// let gate = LocalRequestGate(hostNames: ["ci.example"])
/// if let problem = gate.refusal(of: request) { return .ready(problem.response) }
/// ```
///
/// For servers without credentials of their own. The entitlement server has none of these checks: apps and backends call
/// it by public names that it does not know, and each of its endpoints wants a key or a signature that no other site has.
package struct LocalRequestGate: Sendable {
    /// The names, in lower case, IPv6 addresses in brackets; `nil`: any name.
    private let names: Set<String>?
    /// Whether every literal IP address is a name of the server, because it is bound to all addresses.
    private let takesAddresses: Bool

    /// `address`: the address that the server is bound to. `hostNames`: further names under which it is called, without
    /// scheme and port.
    package init(boundTo address: String = "127.0.0.1", hostNames: [String] = []) {
        let all = ["localhost", "127.0.0.1", "[::1]"] + [Self.bracketed(address)] + hostNames.map(Self.bracketed)
        names = Set(all.map { $0.lowercased() })
        takesAddresses = ["0.0.0.0", "::"].contains(address)
    }

    private init() {
        names = nil
        takesAddresses = true
    }

    /// Checks the site only. For servers that want a credential from the page itself.
    package static let anyHost = LocalRequestGate()

    /// Why a request is refused, with status 403; `nil` for one that may go on.
    ///
    /// `isProven`: the request carries a secret of the server's own page. Such a page's form may keep its origin to
    /// itself, and then only newer browsers tell whose it is.
    package func refusal(of request: HTTPRequest, isProven: Bool = false) -> HTTPProblem? {
        refusalOfHost(request) ?? Self.refusalOfSite(request, isProven)
    }

    // MARK: - Host

    /// Checks the name only. For what any site may ask, once it is asked under a name of this server.
    package func refusalOfHost(_ request: HTTPRequest) -> HTTPProblem? {
        guard let names else { return nil }
        // A target may name a host too, and then it is that one which is meant.
        for host in [request.headers["Host"], request.authority].compactMap(\.self) {
            if let name = Self.name(of: host), names.contains(name) || takesAddresses && Self.isAddress(name) {
                continue
            }
            return Self.forbidden(
                "foreign_host",
                "This server does not go by the name \"\(host.prefix(255))\". Call it as localhost or 127.0.0.1, or allow "
                    + "the name when it is started.")
        }
        return nil
    }

    /// The name in a `Host` header, in lower case; `nil` for a header that is malformed.
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

    /// Whether a text is a host name or an IP address, without scheme, port and path.
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

    // MARK: - Site

    private static func refusalOfSite(_ request: HTTPRequest, _ isProven: Bool) -> HTTPProblem? {
        let site = request.headers["Sec-Fetch-Site"]
        if let site, site != "same-origin", site != "none", !isNavigation(request) {
            return forbidden("foreign_site", "A web page of another site may not ask this.")
        }
        guard let origin = request.headers["Origin"] else { return nil }
        // A form of a page that sends no referrer says "null".
        let isOwn =
            origin == "null"
            ? site == "same-origin" || isProven && site == nil : hostAndPort(of: origin) == request.headers["Host"]
        return isOwn ? nil : forbidden("foreign_site", "A web page of another site may not ask this.")
    }

    /// Whether the browser shows the answer as a page of its own, as after a click on a link.
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
    /// The gate in front of a handler. `checksSite`: `false` for a handler that pages of other sites may ask, such as a
    /// proxy, whose upstream says which may.
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
    /// Why a request to a JSON endpoint is refused, with status 415: it has a body that it does not call JSON. `nil` for
    /// one that may go on.
    ///
    /// A page of another site can send such a body without asking first only as a form or as plain text.
    package var refusalOfMediaType: HTTPProblem? {
        guard body.length != 0 else { return nil }
        let type = (headers["Content-Type"] ?? "").prefix { $0 != ";" }.lowercased()
        let isJSON = type.split(separator: " ").elementsEqual(["application/json"])
        return isJSON
            ? nil
            : HTTPProblem(
                status: 415, code: "unsupported_media_type", title: "Unsupported media type",
                detail: "The body is JSON; say so with \"Content-Type: application/json\".", field: "Content-Type")
    }
}

import Foundation
import HTTPCore
import Primitives

extension EntitlementService.Configuration {
    /// The connections over which browsers reach the console.
    ///
    /// A listener does not tell its handler how it is bound. Name the kind of connection that your listener accepts:
    ///
    ///     configuration.console = .loopback
    public struct ConsoleAccess: Hashable, Sendable {
        let isSecure: Bool
        /// The host, and the port unless it is 443, under which a proxy serves the console; `nil` without a proxy.
        let proxyAuthority: String?

        /// A listener on a loopback address, without TLS. Requests must use the host `localhost`, `127.0.0.1` or `::1`.
        public static let loopback = ConsoleAccess(isSecure: false, proxyAuthority: nil)
        /// A listener with TLS, on any address. The cookie of a session has the prefix `__Host-`.
        public static let tls = ConsoleAccess(isSecure: true, proxyAuthority: nil)

        /// A listener that only a trusted proxy reaches, which serves it with TLS. `Host` and `Origin` of requests must
        /// be exactly those of the proxy's origin:
        ///
        ///     configuration.console = try .behindProxy(at: "https://console.example.com")
        ///
        /// - Parameter origin: The origin as browsers send it: `https://`, the host in lower case, and the port unless
        ///   it is 443.
        /// - Returns: The access.
        /// - Throws: ``EntitlementServerError`` with `invalidConfiguration` for another text.
        public static func behindProxy(at origin: String) throws(EntitlementServerError) -> ConsoleAccess {
            guard let authority = authority(of: origin) else {
                throw EntitlementServerError(
                    .invalidConfiguration,
                    "The origin of the console should be https:// and a host in lower case, with a port unless it is "
                        + "443, such as https://console.example.com.")
            }
            return ConsoleAccess(isSecure: true, proxyAuthority: authority)
        }

        private static func authority(of origin: String) -> String? {
            let scheme = "https://"
            guard origin.utf8.count <= 300, origin.hasPrefix(scheme) else { return nil }
            let authority = String(origin.dropFirst(scheme.count))
            guard let match = authority.wholeMatch(of: /([a-z0-9.-]+|\[[0-9a-f:.]+\])(?::([1-9][0-9]{0,4}))?/),
                match.output.1.first != "-", match.output.1.first != "."
            else { return nil }
            guard let port = match.output.2 else { return authority }
            guard let number = Int(port), number <= 65535, number != 443 else { return nil }
            return authority
        }
    }
}

extension EntitlementService.Configuration.ConsoleAccess {
    private static let gate = LocalRequestGate()

    /// The name of the cookie. Browsers accept `__Host-` only with TLS, for this host alone and for the path `/`.
    var cookieName: String { isSecure ? "__Host-souk_console" : "souk_console" }

    /// Returns the value of `Set-Cookie` for a token.
    func cookie(_ token: String, seconds: Int) -> String {
        let place = isSecure ? "Path=/; Secure" : "Path=\(ConsoleRoute.root)"
        return "\(cookieName)=\(token); \(place); HttpOnly; SameSite=Strict; Max-Age=\(seconds)"
    }

    /// Returns the tokens that a request has, at most four: other servers on this machine can set cookies of this name.
    func tokens(in request: HTTPRequest) -> [String] {
        let cookies = request.headers.values("Cookie").flatMap { $0.split(separator: ";") }
        let tokens = cookies.compactMap { pair -> String? in
            let halves = pair.drop { $0 == " " }.split(separator: "=", maxSplits: 1)
            guard halves.count == 2, String(halves[0]).hasSameBytes(as: cookieName) else { return nil }
            return String(halves[1])
        }
        return Array(tokens.prefix(4))
    }

    /// Throws a `ConsoleRefusal` for a foreign host, for a request to the proxy without TLS, and for a form of another
    /// site.
    func check(_ request: HTTPRequest) throws(ConsoleRefusal) {
        try checkHost(request)
        guard request.method == .post else { return }
        if let site = request.headers["Sec-Fetch-Site"], site != "same-origin" { throw .foreignSite }
        // Browsers send the origin with every POST. With the referrer policy of the pages, it is not "null".
        guard let host = request.headers["Host"], let origin = request.headers["Origin"] else { throw .foreignSite }
        if let proxyAuthority {
            guard request.headers.values("Origin").count == 1, origin.hasSameBytes(as: "https://" + proxyAuthority)
            else { throw .foreignSite }
            return
        }
        guard origin.equalsIgnoringCase((isSecure ? "https://" : "http://") + host) else { throw .foreignSite }
    }

    private func checkHost(_ request: HTTPRequest) throws(ConsoleRefusal) {
        guard let proxyAuthority else {
            guard isSecure || Self.gate.refusalOfHost(request) == nil else { throw .foreignHost }
            return
        }
        let hosts = request.headers.values("Host")
        guard hosts.count == 1, hosts[0].hasSameBytes(as: proxyAuthority),
            request.authority.map({ $0.hasSameBytes(as: proxyAuthority) }) ?? true
        else { throw .foreignProxyHost(proxyAuthority) }
        // A proxy that also listens without TLS would show the key and the cookie to the network.
        let schemes = request.headers.values("X-Forwarded-Proto").flatMap { $0.split(separator: ",") }
        guard schemes.allSatisfy({ $0.trimmingCharacters(in: .whitespaces).equalsIgnoringCase("https") }) else {
            throw .plainProxy(proxyAuthority)
        }
    }
}

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

        /// A listener on a loopback address, without TLS. Requests must use the host `localhost`, `127.0.0.1` or `::1`.
        public static let loopback = ConsoleAccess(isSecure: false)
        /// A listener with TLS, on any address. The cookie of a session has the prefix `__Host-`.
        public static let tls = ConsoleAccess(isSecure: true)
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

    /// Throws `ConsoleRefusal.foreignSite` for a request under a foreign host name, and for a form of another site.
    func check(_ request: HTTPRequest) throws(ConsoleRefusal) {
        guard isSecure || Self.gate.refusalOfHost(request) == nil else { throw .foreignHost }
        guard request.method == .post else { return }
        if let site = request.headers["Sec-Fetch-Site"], site != "same-origin" { throw .foreignSite }
        // Browsers send the origin with every POST. The pages set a referrer policy under which it is not "null".
        guard let host = request.headers["Host"], let origin = request.headers["Origin"],
            origin.equalsIgnoringCase((isSecure ? "https://" : "http://") + host)
        else { throw .foreignSite }
    }
}

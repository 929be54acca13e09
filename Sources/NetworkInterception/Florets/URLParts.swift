import HTTPCore

/// The parts of an absolute URL without normalization (RFC 3986 section 3).
struct URLParts: Hashable {
    var scheme: String
    var userInfo: String?
    /// The host. An IPv6 address is in brackets.
    var host: String
    var port: Int?
    /// The path. Empty if the URL has none.
    var path: String
    /// The query without the `?`; `nil` if there is none.
    var query: String?
    var fragment: String?

    /// Parses a URL. `nil` if it is not absolute, has no host, or has a port that is not a number up to 65535.
    init?(_ url: String) {
        guard let mark = url.firstRange(of: "://"), mark.lowerBound != url.startIndex else { return nil }
        scheme = String(url[..<mark.lowerBound])
        var rest = url[mark.upperBound...]
        if let hash = rest.firstIndex(of: "#") {
            fragment = String(rest[rest.index(after: hash)...])
            rest = rest[..<hash]
        }
        if let question = rest.firstIndex(of: "?") {
            query = String(rest[rest.index(after: question)...])
            rest = rest[..<question]
        }
        let slash = rest.firstIndex(of: "/") ?? rest.endIndex
        path = String(rest[slash...])
        var authority = rest[..<slash]
        if let atSign = authority.lastIndex(of: "@") {
            userInfo = String(authority[..<atSign])
            authority = authority[authority.index(after: atSign)...]
        }
        let afterAddress = authority.hasPrefix("[") ? authority.firstIndex(of: "]") ?? authority.startIndex : nil
        if let colon = authority[(afterAddress ?? authority.startIndex)...].firstIndex(of: ":") {
            let digits = authority[authority.index(after: colon)...]
            guard digits.isEmpty || UInt16(digits) != nil else { return nil }
            port = Int(digits)
            authority = authority[..<colon]
        }
        guard !authority.isEmpty else { return nil }
        host = String(authority)
    }

    var text: String {
        "\(scheme)://\(userInfo.map { "\($0)@" } ?? "")\(authority)\(path)\(query.map { "?\($0)" } ?? "")"
            + (fragment.map { "#\($0)" } ?? "")
    }

    /// The host and port as in a `Host` header.
    var authority: String { host + (port.map { ":\($0)" } ?? "") }

    /// The port of the connection.
    var effectivePort: Int? {
        port ?? (scheme.equalsIgnoringCase("https") ? 443 : scheme.equalsIgnoringCase("http") ? 80 : nil)
    }
}

extension HTTPRequest {
    /// Changes the URL and updates a `Host` header. Without one, the transport adds it.
    mutating func redirect(to url: String) {
        let oldAuthority = authority
        self.url = url
        guard headers.contains("Host"), let authority, authority != oldAuthority else { return }
        headers["Host"] = authority
    }
}

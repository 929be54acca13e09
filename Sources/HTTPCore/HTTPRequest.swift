import Primitives

/// An HTTP request.
public struct HTTPRequest: Sendable {
    /// The request method.
    public var method: Method
    /// For a transport, an absolute URL. For a handler, the request target exactly as it was sent.
    public var url: String
    /// The header fields.
    public var headers: HTTPHeaders
    /// The content.
    public var body: HTTPBody
    /// The timeout of the whole exchange, including the response body; `nil` selects the transport's default, which is
    /// 30 seconds unless it is configured.
    public var timeout: Duration?

    /// Creates a request.
    ///
    /// - Parameters:
    ///   - method: The request method.
    ///   - url: An absolute URL, percent-encoded.
    ///   - headers: The header fields.
    ///   - body: The content.
    ///   - timeout: The timeout of the whole exchange, or `nil` for the transport's default.
    public init(
        method: Method, url: String, headers: HTTPHeaders = [:], body: HTTPBody = .empty, timeout: Duration? = nil
    ) {
        self.method = method
        self.url = url
        self.headers = headers
        self.body = body
        self.timeout = timeout
    }

    /// Creates a request with a JSON body. Sets `Content-Type` unless `headers` contains it.
    ///
    /// - Parameters:
    ///   - method: The request method.
    ///   - url: An absolute URL, percent-encoded.
    ///   - headers: The header fields.
    ///   - json: The document to send.
    ///   - timeout: The timeout of the whole exchange, or `nil` for the transport's default.
    public init(
        method: Method, url: String, headers: HTTPHeaders = [:], json: JSONValue, timeout: Duration? = nil
    ) {
        self.init(method: method, url: url, headers: headers.withContentType("application/json"), body: .json(json))
        self.timeout = timeout
    }

    /// A request method (RFC 9110 section 9). Methods are case-sensitive.
    public struct Method: RawRepresentable, Hashable, Sendable, ExpressibleByStringLiteral, CustomStringConvertible {
        /// The method as it is written in the request.
        public let rawValue: String
        /// Creates a method from `rawValue`.
        public init(rawValue: String) { self.rawValue = rawValue }
        /// Creates a method from `rawValue`.
        public init(_ rawValue: String) { self.rawValue = rawValue }
        /// Creates a method from the literal `value`.
        public init(stringLiteral value: String) { rawValue = value }
        /// The method as it is written in the request.
        public var description: String { rawValue }

        /// The method GET.
        public static let get = Method("GET")
        /// The method HEAD.
        public static let head = Method("HEAD")
        /// The method POST.
        public static let post = Method("POST")
        /// The method PUT.
        public static let put = Method("PUT")
        /// The method PATCH.
        public static let patch = Method("PATCH")
        /// The method DELETE.
        public static let delete = Method("DELETE")
        /// The method OPTIONS.
        public static let options = Method("OPTIONS")
        /// The method TRACE.
        public static let trace = Method("TRACE")
    }
}

extension HTTPRequest {
    /// The percent-encoded path, or `/` when the URL has none.
    public var path: String {
        let text = RequestTarget(url)
        return text.path.isEmpty ? "/" : String(text.path)
    }

    /// The path and query as in a request line.
    public var target: String {
        let text = RequestTarget(url)
        let path = text.path.isEmpty ? "/" : String(text.path)
        return text.query.map { "\(path)?\($0)" } ?? path
    }

    /// The decoded query. It is empty when the URL has none, and `nil` when an escape in it is malformed or not UTF-8.
    public var query: HTTPQuery? {
        RequestTarget(url).query.map { HTTPQuery(parsing: $0) } ?? HTTPQuery()
    }
}

/// The encoded parts of an absolute URL or a request target.
struct RequestTarget {
    let path: Substring
    let query: Substring?

    init(_ url: String) {
        var rest = url.utf8[...]
        if let fragment = rest.firstIndex(of: UInt8(ascii: "#")) { rest = rest[..<fragment] }
        if rest.first != UInt8(ascii: "/"), let scheme = Self.endOfScheme(in: rest) {
            rest = rest[scheme...]
            let end = rest.firstIndex { $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "?") }
            rest = rest[(end ?? rest.endIndex)...]
        }
        if let mark = rest.firstIndex(of: UInt8(ascii: "?")) {
            path = Substring(rest[..<mark])
            query = Substring(rest[rest.index(after: mark)...])
        } else {
            path = Substring(rest)
            query = nil
        }
    }

    private static func endOfScheme(in text: Substring.UTF8View) -> Substring.UTF8View.Index? {
        guard let colon = text.firstIndex(of: UInt8(ascii: ":")), text[colon...].starts(with: "://".utf8) else {
            return nil
        }
        return text.index(colon, offsetBy: 3)
    }
}

extension HTTPHeaders {
    func withContentType(_ type: String) -> HTTPHeaders {
        guard !contains("Content-Type") else { return self }
        var headers = self
        headers.add("Content-Type", type)
        return headers
    }
}

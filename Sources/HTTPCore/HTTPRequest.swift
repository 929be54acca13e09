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
        let target = RequestTarget(url)
        return target.path.isEmpty ? "/" : String(target.path)
    }

    /// The path and query as in a request line.
    public var target: String {
        let target = RequestTarget(url)
        return target.path.isEmpty ? "/\(target.whole)" : String(target.whole)
    }

    /// The decoded query. It is empty when the URL has none, and `nil` when an escape in it is malformed or not UTF-8.
    public var query: HTTPQuery? {
        var url = url
        return url.withUTF8 { url in
            let (_, mark, end) = RequestTarget.offsets(in: url)
            guard let mark else { return HTTPQuery() }
            return HTTPQuery(parsing: UnsafeBufferPointer(rebasing: url[(mark + 1)..<end]))
        }
    }
}

/// The encoded parts of an absolute URL or a request target.
private struct RequestTarget {
    /// The path and, if there is one, `?` and the query.
    let whole: Substring
    let path: Substring

    init(_ url: String) {
        var url = url
        let (start, mark, end) = url.withUTF8(Self.offsets)
        func part(_ first: Int, _ last: Int) -> Substring {
            let bytes = url.utf8
            return Substring(
                bytes[bytes.index(bytes.startIndex, offsetBy: first)..<bytes.index(bytes.startIndex, offsetBy: last)])
        }
        whole = part(start, end)
        path = part(start, mark ?? end)
    }

    /// Returns the offsets of the path's first byte, of the `?` before the query, and of the end, which is before a
    /// fragment.
    static func offsets(in url: UnsafeBufferPointer<UInt8>) -> (start: Int, mark: Int?, end: Int) {
        let end = url.firstIndex(of: UInt8(ascii: "#")) ?? url.count
        var start = 0
        if url.first != UInt8(ascii: "/"), let authority = endOfScheme(in: url[..<end]) {
            start = url[authority..<end].firstIndex { $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "?") } ?? end
        }
        return (start, url[start..<end].firstIndex(of: UInt8(ascii: "?")), end)
    }

    private static func endOfScheme(in text: Slice<UnsafeBufferPointer<UInt8>>) -> Int? {
        guard let colon = text.firstIndex(of: UInt8(ascii: ":")), text[colon...].starts(with: "://".utf8) else {
            return nil
        }
        return colon + 3
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

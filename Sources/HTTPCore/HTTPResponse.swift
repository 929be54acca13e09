import Primitives

/// An HTTP response. The listener writes `Content-Length`, `Transfer-Encoding` and `Date`; it derives the first two
/// from `body`.
public struct HTTPResponse: Sendable {
    /// The status code.
    public var status: Int
    /// The header fields.
    public var headers: HTTPHeaders
    /// The content.
    public var body: HTTPBody

    /// Creates a response.
    ///
    /// - Parameters:
    ///   - status: The status code.
    ///   - headers: The header fields.
    ///   - body: The content.
    public init(status: Int, headers: HTTPHeaders = [:], body: HTTPBody = .empty) {
        self.status = status
        self.headers = headers
        self.body = body
    }

    /// Creates a response with a JSON body. Sets `Content-Type` unless `headers` contains it.
    ///
    /// - Parameters:
    ///   - status: The status code.
    ///   - headers: The header fields.
    ///   - json: The document to send.
    public init(status: Int = 200, headers: HTTPHeaders = [:], json: JSONValue) {
        self.init(status: status, headers: headers.withContentType("application/json"), body: .json(json))
    }

    /// A placeholder for a missing response: the listener closes the connection without one. Proxies return it if the
    /// upstream server sent no response, and tests return it to check how a client handles that.
    public static let connectionClosed = HTTPResponse(status: 0)

    /// Whether the status is 200 to 299.
    public var isSuccess: Bool { (200..<300).contains(status) }
}

/// An error response of RFC 9457, `application/problem+json`.
///
///     HTTPProblem(status: 404, code: "not_found", title: "Not found", detail: "No such customer.").response
public struct HTTPProblem: Error, Hashable {
    /// The status code.
    public var status: Int
    /// A stable identifier of the kind of problem.
    public var code: String
    /// A phrase for the kind of problem.
    public var title: String
    /// A sentence about this occurrence.
    public var detail: String
    /// The field of the request that caused the problem.
    public var field: String?
    /// Whether the same request can succeed later.
    public var isRetryable: Bool

    /// Creates a problem.
    ///
    /// - Parameters:
    ///   - status: The status code.
    ///   - code: A stable identifier of the kind of problem.
    ///   - title: A phrase for the kind of problem.
    ///   - detail: A sentence about this occurrence.
    ///   - field: The field of the request that caused the problem.
    ///   - isRetryable: Whether the same request can succeed later.
    public init(
        status: Int, code: String, title: String, detail: String, field: String? = nil, isRetryable: Bool = false
    ) {
        self.status = status
        self.code = code
        self.title = title
        self.detail = detail
        self.field = field
        self.isRetryable = isRetryable
    }

    /// The problem as a JSON document.
    public var json: JSONValue {
        var members: JSONValue = [
            "type": .string("https://souk.invalid/problems/\(code)"), "title": .string(title),
            "status": .number(status), "detail": .string(detail), "code": .string(code),
        ]
        if let field { members["field"] = .string(field) }
        members["retryable"] = .bool(isRetryable)
        return members
    }

    /// Parses a problem that one of Souk's services sent. Returns `nil` for any other body.
    ///
    /// - Parameter bytes: The body of the response.
    public init?(parsing bytes: [UInt8]) {
        guard let json = try? JSONValue(parsing: bytes), let status = json["status"]?.intValue,
            let code = json["code"]?.stringValue, let detail = json["detail"]?.stringValue
        else { return nil }
        self.init(
            status: status, code: code, title: json["title"]?.stringValue ?? code, detail: detail,
            field: json["field"]?.stringValue, isRetryable: json["retryable"]?.boolValue ?? false)
    }

    /// A response with the problem as its body.
    public var response: HTTPResponse {
        HTTPResponse(status: status, headers: ["Content-Type": "application/problem+json"], body: .json(json))
    }
}

import Primitives

/// An answer. `Content-Length`, `Transfer-Encoding` and `Date` are written by the listener, from `body`.
public struct HTTPResponse: Sendable {
    public var status: Int
    public var headers: HTTPHeaders
    public var body: HTTPBody

    public init(status: Int, headers: HTTPHeaders = [:], body: HTTPBody = .empty) {
        self.status = status
        self.headers = headers
        self.body = body
    }

    /// An answer with a JSON body; sets `Content-Type` unless `headers` has one.
    public init(status: Int = 200, headers: HTTPHeaders = [:], json: JSONValue) {
        self.init(status: status, headers: headers.withContentType("application/json"), body: .json(json))
    }

    /// No answer at all: a listener closes the connection in its place. For proxies whose server gave none, and to try how
    /// a client bears it.
    public static let connectionClosed = HTTPResponse(status: 0)

    /// Whether the status is 200 to 299.
    public var isSuccess: Bool { (200..<300).contains(status) }
}

/// A refusal as RFC 9457 describes it: `application/problem+json`.
///
///     HTTPProblem(status: 404, code: "not_found", title: "Not found", detail: "No such customer.").response
public struct HTTPProblem: Error, Hashable {
    public var status: Int
    public var code: String
    public var title: String
    /// A sentence about this occurrence.
    public var detail: String
    /// The field of the request that was wrong.
    public var field: String?
    public var isRetryable: Bool

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

    public var json: JSONValue {
        var members: JSONValue = [
            "type": .string("https://souk.invalid/problems/\(code)"), "title": .string(title),
            "status": .number(status), "detail": .string(detail), "code": .string(code),
        ]
        if let field { members["field"] = .string(field) }
        members["retryable"] = .bool(isRetryable)
        return members
    }

    /// Reads a refusal of Souk's own services; `nil` for anything else.
    public init?(parsing bytes: [UInt8]) {
        guard let json = try? JSONValue(parsing: bytes), let status = json["status"]?.intValue,
            let code = json["code"]?.stringValue, let detail = json["detail"]?.stringValue
        else { return nil }
        self.init(
            status: status, code: code, title: json["title"]?.stringValue ?? code, detail: detail,
            field: json["field"]?.stringValue, isRetryable: json["retryable"]?.boolValue ?? false)
    }

    public var response: HTTPResponse {
        HTTPResponse(status: status, headers: ["Content-Type": "application/problem+json"], body: .json(json))
    }
}

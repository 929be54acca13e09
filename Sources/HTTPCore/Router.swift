/// A handler that selects a route by method and path.
///
///     var router = Router()
///     router.on(.get, "/v1/customers/{customer}") { request, path in
///         .ready(HTTPResponse(json: ["customer": .string(path["customer"])]))
///     }
///
/// `{name}` matches one non-empty segment, which is percent-decoded. A literal segment takes precedence over a
/// parameter. GET routes also serve HEAD; the listener omits the body. The router responds with 404 to an unknown path,
/// with 405 and `Allow` to an unknown method of a known path, and with 400 to a malformed escape in a parameter.
public struct Router: HTTPHandler {
    /// A function that responds to a request with the parameters of its path.
    public typealias Route = @Sendable (HTTPRequest, PathParameters) -> HTTPReply

    /// The reason why no route was selected.
    public enum Refusal: Sendable, Hashable {
        case notFound
        case methodNotAllowed(allow: [HTTPRequest.Method])
        case malformedPath
    }

    private var table = RouteTable()
    /// Returns the response to a request for which no route was selected. For `methodNotAllowed`, the router adds
    /// `Allow` to it. The default is a problem of RFC 9457.
    public var refuse: @Sendable (Refusal, HTTPRequest) -> HTTPResponse = Router.problem

    /// Creates a router without routes.
    public init() {}

    /// Adds a route. Adding the same method and pattern twice is a programming error.
    ///
    /// - Parameters:
    ///   - method: The request method.
    ///   - pattern: A path that starts with `/`, with `{name}` for each parameter.
    ///   - respond: The function that responds to the requests of this route.
    public mutating func on(_ method: HTTPRequest.Method, _ pattern: String, _ respond: @escaping Route) {
        table.add(method, pattern, respond)
    }

    /// Calls the route that matches `request`, or refuses the request.
    public func respond(to request: HTTPRequest) -> HTTPReply {
        switch table.find(request.method, request.url) {
        case .found(let respond, let parameters): return respond(request, parameters)
        case .refused(let refusal):
            var response = refuse(refusal, request)
            if case .methodNotAllowed(let allow) = refusal {
                response.headers["Allow"] = allow.map(\.rawValue).joined(separator: ", ")
            }
            return .ready(response)
        }
    }

    private static func problem(_ refusal: Refusal, _ request: HTTPRequest) -> HTTPResponse {
        switch refusal {
        case .notFound:
            HTTPProblem(
                status: 404, code: "not_found", title: "Not found", detail: "The server has no resource at this path."
            )
            .response
        case .methodNotAllowed(let allow):
            HTTPProblem(
                status: 405, code: "method_not_allowed", title: "Method not allowed",
                detail: "This path supports only \(allow.map(\.rawValue).joined(separator: ", "))."
            ).response
        case .malformedPath:
            HTTPProblem(
                status: 400, code: "malformed_path", title: "Malformed path",
                detail: "A percent-escape in the path is incomplete or is not UTF-8."
            ).response
        }
    }
}

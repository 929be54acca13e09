/// Chooses a handler by method and path.
///
///     var router = Router()
///     router.on(.get, "/v1/customers/{customer}") { request, path in
///         .ready(HTTPResponse(json: ["customer": .string(path["customer"])]))
///     }
///
/// A `{name}` stands for one non-empty segment and is percent-decoded; a literal segment wins over a parameter. GET
/// routes also serve HEAD (the listener leaves the body out). A path nobody has is answered 404, a method it does not
/// have 405 with `Allow`, a malformed escape in a parameter 400.
public struct Router: HTTPHandler {
    public typealias Route = @Sendable (HTTPRequest, PathParameters) -> HTTPReply

    /// Why no route was taken.
    public enum Refusal: Sendable, Hashable {
        case notFound
        case methodNotAllowed(allow: [HTTPRequest.Method])
        case malformedPath
    }

    private var table = RouteTable()
    /// Makes the answer to what no route takes; `Allow` is added to it. The default speaks RFC 9457.
    public var refuse: @Sendable (Refusal, HTTPRequest) -> HTTPResponse = Router.problem

    public init() {}

    /// Adds a route. The pattern starts with `/`; adding the same method and pattern twice is a programmer's error.
    public mutating func on(_ method: HTTPRequest.Method, _ pattern: String, _ respond: @escaping Route) {
        table.add(method, pattern, respond)
    }

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
            HTTPProblem(status: 404, code: "not_found", title: "Not found", detail: "There is nothing at this path.")
                .response
        case .methodNotAllowed(let allow):
            HTTPProblem(
                status: 405, code: "method_not_allowed", title: "Method not allowed",
                detail: "This path answers \(allow.map(\.rawValue).joined(separator: ", ")) only."
            ).response
        case .malformedPath:
            HTTPProblem(
                status: 400, code: "malformed_path", title: "Malformed path",
                detail: "A percent-escape in the path is incomplete or is not UTF-8."
            ).response
        }
    }
}

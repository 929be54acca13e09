/// The description of one method of one path, with its handler.
///
///     let endpoints = [
///         Endpoint(.get, "/pets/{id}", "getPet", "A pet", tag: .pets, answer: .pet, handler: Handler { … })
///     ]
///     let router = Router(endpoints) { endpoint in { request, path in endpoint.handler.respond(request, path) } }
///
/// A service has one table of endpoints. Its routes and its OpenAPI document are generated from this table, so every
/// route is described.
package struct Endpoint<Handler: Sendable>: Sendable {
    package let method: HTTPRequest.Method
    /// The path, with `{name}` for each path parameter.
    package let path: String
    /// The operation id, which is unique in the service.
    package let id: String
    /// A phrase about the endpoint, without a full stop.
    package let summary: String
    package let tag: OpenAPIDocument.Tag
    /// The query parameters, then the header parameters.
    package let parameters: [OpenAPIDocument.Parameter]
    package let body: OpenAPIDocument.Body?
    /// The status of a successful response.
    package let status: Int
    /// The schema of the response body, or `nil` for a response without a body.
    package let answer: WireSchema?
    /// The media type of the response.
    package let type: String
    /// Error codes by status, in addition to those that the service adds for the path, the body and the credentials.
    package let refusals: [Int: [String]]
    /// Whether the endpoint accepts `Idempotency-Key`.
    package let isIdempotent: Bool
    package let links: [OpenAPIDocument.Link]
    package let handler: Handler

    package init(
        _ method: HTTPRequest.Method, _ path: String, _ id: String, _ summary: String, tag: OpenAPIDocument.Tag,
        parameters: [OpenAPIDocument.Parameter] = [], body: OpenAPIDocument.Body? = nil, status: Int = 200,
        answer: WireSchema?, type: String = "application/json", refusals: [Int: [String]] = [:],
        isIdempotent: Bool = false, links: [OpenAPIDocument.Link] = [], handler: Handler
    ) {
        self.method = method
        self.path = path
        self.id = id
        self.summary = summary
        self.tag = tag
        self.parameters = parameters
        self.body = body
        self.status = status
        self.answer = answer
        self.type = type
        self.refusals = refusals
        self.isIdempotent = isIdempotent
        self.links = links
        self.handler = handler
    }

    /// The names of the path's parameters, in order.
    package var pathParameters: [String] { path.split(separator: "/").compactMap(RouteTable.parameter(in:)) }

    package var query: [OpenAPIDocument.Parameter] { parameters.filter { $0.place == .query } }

    /// Returns the path with each parameter replaced by the percent-encoded string that `value` returns.
    package func path(with value: (_ parameter: String) -> String) -> String {
        path.split(separator: "/", omittingEmptySubsequences: false).map { segment in
            RouteTable.parameter(in: segment).map(value) ?? String(segment)
        }.joined(separator: "/")
    }
}

extension Router {
    /// Creates a router with one route for each endpoint.
    package init<Handler>(_ endpoints: [Endpoint<Handler>], _ route: (Endpoint<Handler>) -> Route) {
        self.init()
        for endpoint in endpoints { on(endpoint.method, endpoint.path, route(endpoint)) }
    }
}

extension OpenAPIDocument.Operation {
    /// Describes an endpoint that can return the error codes of `refusals`, by status.
    package init<Handler>(
        _ endpoint: Endpoint<Handler>, refusals: [Int: [String]],
        pathParameter: (_ name: String) -> OpenAPIDocument.Parameter
    ) {
        var responses = refusals.mapValues { codes in
            OpenAPIDocument.Response(
                codes.joined(separator: ", "), .problem, type: "application/problem+json")
        }
        responses[endpoint.status] = .init(
            endpoint.summary, endpoint.answer, type: endpoint.type, links: endpoint.links)
        self.init(
            endpoint.method, endpoint.path, id: endpoint.id, summary: endpoint.summary, tag: endpoint.tag.name,
            parameters: endpoint.pathParameters.map(pathParameter) + endpoint.parameters, body: endpoint.body,
            responses: responses)
    }
}

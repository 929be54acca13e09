/// One method of one path: what it takes, what it answers, and the handler behind it.
///
///     let endpoints = [
///         Endpoint(.get, "/pets/{id}", "getPet", "A pet", tag: .pets, answer: .pet, handler: Handler { … })
///     ]
///     let router = Router(endpoints) { endpoint in { request, path in endpoint.handler.respond(request, path) } }
///
/// A service has one table of these. Its routes and its OpenAPI document are made of it, so a route that is not
/// described does not compile.
package struct Endpoint<Handler: Sendable>: Sendable {
    package let method: HTTPRequest.Method
    /// With `{name}` for each path parameter.
    package let path: String
    /// A name that no other endpoint of the service has.
    package let id: String
    /// Without a full stop.
    package let summary: String
    package let tag: OpenAPIDocument.Tag
    /// Those of the query, then those of the headers.
    package let parameters: [OpenAPIDocument.Parameter]
    package let body: OpenAPIDocument.Body?
    /// The status of an answer that is no refusal.
    package let status: Int
    /// `nil` for an answer without a body.
    package let answer: WireSchema?
    /// The media type of the answer.
    package let type: String
    /// Error codes by status, beyond those that the service adds for the path, the body and the credentials.
    package let refusals: [Int: [String]]
    /// Whether `Idempotency-Key` works.
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

    /// The path with a percent-encoded value in place of each parameter.
    package func path(with value: (_ parameter: String) -> String) -> String {
        path.split(separator: "/", omittingEmptySubsequences: false).map { segment in
            RouteTable.parameter(in: segment).map(value) ?? String(segment)
        }.joined(separator: "/")
    }
}

extension Router {
    /// A router with one route for each endpoint.
    package init<Handler>(_ endpoints: [Endpoint<Handler>], _ route: (Endpoint<Handler>) -> Route) {
        self.init()
        for endpoint in endpoints { on(endpoint.method, endpoint.path, route(endpoint)) }
    }
}

extension OpenAPIDocument.Operation {
    /// Describes an endpoint that refuses with the codes of `refusals`, by status.
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

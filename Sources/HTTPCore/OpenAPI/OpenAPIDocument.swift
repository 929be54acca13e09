import Primitives

/// An OpenAPI 3.1 document with the operations of a service.
///
///     let document = OpenAPIDocument(title: "Souk", version: "1", description: "A store.", operations: operations)
///     document.json.text(pretty: true)     // for /openapi.json
///     document.json.yaml                   // for /openapi.yaml
package struct OpenAPIDocument: Sendable {
    package let json: JSONValue

    /// One method of one path.
    package struct Operation: Sendable {
        package var method: HTTPRequest.Method
        /// The path, with `{name}` for each path parameter.
        package var path: String
        package var id: String
        /// A phrase about the operation, without a full stop.
        package var summary: String
        package var tag: String
        /// The path parameters in the order of the path, then the query and header parameters.
        package var parameters: [Parameter] = []
        package var body: Body?
        package var responses: [Int: Response]
        /// The alternative ways to authenticate, each with the names of the `Security` values it combines. `nil`
        /// requires no authentication.
        package var security: [[String]]?

        package init(
            _ method: HTTPRequest.Method, _ path: String, id: String, summary: String, tag: String,
            parameters: [Parameter] = [], body: Body? = nil, responses: [Int: Response], security: [[String]]? = nil
        ) {
            self.method = method
            self.path = path
            self.id = id
            self.summary = summary
            self.tag = tag
            self.parameters = parameters
            self.body = body
            self.responses = responses
            self.security = security
        }
    }

    package struct Parameter: Sendable {
        package enum Place: String, Sendable { case path, query, header }

        package var name: String
        package var place: Place
        package var schema: WireSchema
        package var summary: String
        /// Whether the parameter can repeat. The document then describes it as an array.
        package var repeats: Bool
        package var isRequired: Bool

        package init(
            _ name: String, in place: Place, _ schema: WireSchema, _ summary: String, repeats: Bool = false,
            isRequired: Bool = false
        ) {
            self.name = name
            self.place = place
            self.schema = schema
            self.summary = summary
            self.repeats = repeats
            self.isRequired = isRequired || place == .path
        }
    }

    package struct Body: Sendable {
        package var schema: WireSchema
        package var isOptional: Bool

        package init(_ schema: WireSchema, isOptional: Bool = false) {
            self.schema = schema
            self.isOptional = isOptional
        }
    }

    package struct Response: Sendable {
        package var summary: String
        /// The schema of the body, or `nil` for a response without a body.
        package var schema: WireSchema?
        package var type: String
        package var headers: [Header]
        package var links: [Link]

        package init(
            _ summary: String, _ schema: WireSchema? = nil, type: String = "application/json", headers: [Header] = [],
            links: [Link] = []
        ) {
            self.summary = summary
            self.schema = schema
            self.type = type
            self.headers = headers
            self.links = links
        }
    }

    package struct Header: Sendable {
        package var name: String
        package var schema: WireSchema
        package var summary: String

        package init(_ name: String, _ schema: WireSchema, _ summary: String) {
            self.name = name
            self.schema = schema
            self.summary = summary
        }
    }

    /// A follow-up operation and its parameters, taken from a response.
    package struct Link: Sendable {
        package var name: String
        /// The `id` of the linked operation.
        package var operation: String
        /// Runtime expressions such as `$response.body#/customer`, by the parameter name of the linked operation.
        package var parameters: [(name: String, expression: String)]

        package init(_ name: String, to operation: String, _ parameters: [(name: String, expression: String)]) {
            self.name = name
            self.operation = operation
            self.parameters = parameters
        }
    }

    package struct Tag: Hashable, Sendable {
        package var name: String
        package var summary: String

        package init(_ name: String, _ summary: String) {
            self.name = name
            self.summary = summary
        }
    }

    /// A Security Scheme Object with the name that `Operation.security` uses.
    package struct Security: Sendable {
        package var name: String
        package var scheme: JSONValue

        package init(_ name: String, _ scheme: JSONValue) {
            self.name = name
            self.scheme = scheme
        }
    }

    package init(
        title: String, version: String, description: String, tags: [Tag] = [], security: [Security] = [],
        operations: [Operation]
    ) {
        var paths = JSONMembers()
        for operation in operations {
            var path = paths[operation.path] ?? Self.pathItem(operation)
            path[operation.method.rawValue.lowercased()] = Self.description(of: operation)
            paths[operation.path] = path
        }
        var components: JSONValue = ["schemas": .object(Self.schemas(of: operations))]
        if !security.isEmpty {
            components["securitySchemes"] = .object(JSONMembers(security.map { ($0.name, $0.scheme) }))
        }
        json = [
            "openapi": "3.1.0",
            "info": ["title": .string(title), "version": .string(version), "description": .string(description)],
            "servers": [["url": "/"]],
            "tags": .array(tags.map { ["name": .string($0.name), "description": .string($0.summary)] }),
            "paths": .object(paths), "components": components,
        ]
    }
}

extension OpenAPIDocument {
    /// Returns the path item with the path parameters, which apply to all its methods.
    private static func pathItem(_ operation: Operation) -> JSONValue {
        let own = operation.parameters.filter { $0.place == .path }
        return own.isEmpty ? [:] : ["parameters": .array(own.map(json))]
    }

    private static func description(of operation: Operation) -> JSONValue {
        var value: JSONValue = [
            "operationId": .string(operation.id), "summary": .string(operation.summary),
            "tags": [.string(operation.tag)],
        ]
        if let ways = operation.security {
            value["security"] = .array(ways.map { .object(JSONMembers($0.map { ($0, []) })) })
        }
        let parameters = operation.parameters.filter { $0.place != .path }
        if !parameters.isEmpty { value["parameters"] = .array(parameters.map(json)) }
        if let body = operation.body {
            value["requestBody"] = [
                "required": .bool(!body.isOptional), "content": content("application/json", body.schema),
            ]
        }
        value["responses"] = .object(
            JSONMembers(operation.responses.sorted { $0.key < $1.key }.map { ("\($0.key)", json($0.value)) }))
        return value
    }

    private static func json(_ parameter: Parameter) -> JSONValue {
        var value: JSONValue = ["name": .string(parameter.name), "in": .string(parameter.place.rawValue)]
        if parameter.isRequired { value["required"] = true }
        value["schema"] = (parameter.repeats ? .array(parameter.schema) : parameter.schema).json
        value["description"] = .string(parameter.summary)
        return value
    }

    private static func json(_ response: Response) -> JSONValue {
        var value: JSONValue = ["description": .string(response.summary)]
        if !response.headers.isEmpty {
            value["headers"] = .object(
                JSONMembers(
                    response.headers.map { header in
                        (header.name, ["schema": header.schema.json, "description": .string(header.summary)])
                    }))
        }
        if let schema = response.schema { value["content"] = content(response.type, schema) }
        if !response.links.isEmpty {
            value["links"] = .object(JSONMembers(response.links.map { ($0.name, json($0)) }))
        }
        return value
    }

    private static func json(_ link: Link) -> JSONValue {
        [
            "operationId": .string(link.operation),
            "parameters": .object(JSONMembers(link.parameters.map { ($0.name, .string($0.expression)) })),
        ]
    }

    private static func content(_ type: String, _ schema: WireSchema) -> JSONValue {
        let media: JSONValue = ["schema": schema.json]
        return .object(JSONMembers([(type, media)]))
    }

    /// Returns all named schemas that the operations refer to, directly or indirectly, by name.
    private static func schemas(of operations: [Operation]) -> JSONMembers {
        var found: [String: WireSchema] = [:]
        let roots: [WireSchema] = operations.flatMap { operation in
            var roots = operation.parameters.map(\.schema)
            roots += [operation.body?.schema].compactMap(\.self)
            return roots + operation.responses.values.compactMap(\.schema)
        }
        var todo = roots.flatMap(\.named)
        while let named = todo.popLast() {
            guard found[named.name] == nil else { continue }
            let schema = named.schema()
            found[named.name] = schema
            todo += schema.named
        }
        return JSONMembers(found.sorted { $0.key < $1.key }.map { ($0.key, $0.value.json) })
    }
}

extension WireSchema {
    /// The schema of `HTTPProblem`.
    package static let problem = named("Problem") {
        .object([
            .required("type", .text), .required("title", .text), .required("status", .integer(400...599)),
            .required("detail", .text.described("a sentence about this problem")),
            .required("code", .text.described("a stable code for the kind of problem")),
            .optional(
                "field", .text.described("the member of the body, query parameter or header that caused the problem")),
            .required("retryable", .flag.described("whether the same request can succeed later")),
        ])
    }
}

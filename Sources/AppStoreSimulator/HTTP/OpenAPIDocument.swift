import HTTPCore
import Primitives
import StoreModel

/// Operations as OpenAPI 3.1 describes them.
struct OpenAPIDocument: Sendable, Encodable, WireModel {
    static let schemaName = "OpenAPI"
    static let schema = WireSchema.object([
        .required("openapi", .text), .required("info", .object), .required("paths", .object),
    ])

    let json: JSONValue

    func encode(to encoder: any Encoder) throws { try json.encode(to: encoder) }

    init(_ operations: [StoreOperation]) {
        var paths = JSONMembers()
        for operation in operations {
            var path = paths[operation.path] ?? Self.pathItem(operation)
            path[operation.method.rawValue.lowercased()] = Self.description(of: operation)
            paths[operation.path] = path
        }
        json = [
            "openapi": "3.1.0",
            "info": [
                "title": "App Store simulator", "version": "1",
                "description": """
                The store's client side (/store/v1) and its control (/control/v1). JSON in UTF-8, dates of RFC 3339, money as \
                decimal texts. Members that are not known are passed over; what is absent is left out, never null.
                """,
            ],
            "servers": [["url": "/"]],
            "tags": .array(Self.tags.map { ["name": .string($0.name), "description": .string($0.description)] }),
            "paths": .object(paths), "components": ["schemas": .object(Self.schemas(of: operations))],
        ]
    }

    private static let tags = [
        (name: "store", description: "what StoreKit is to an app"),
        (name: "control", description: "what a tester does to the store"),
        (name: "documents", description: "about the store"),
    ]

    private static func pathItem(_ operation: StoreOperation) -> JSONValue {
        guard !operation.pathParameters.isEmpty else { return [:] }
        return [
            "parameters": .array(
                operation.pathParameters.map { name in
                    [
                        "name": .string(name), "in": "path", "required": true, "schema": WireSchema.name.json,
                        "description": .string(StoreOperation.parameters[name]?.summary ?? ""),
                    ]
                })
        ]
    }

    private static func description(of operation: StoreOperation) -> JSONValue {
        var value: JSONValue = [
            "operationId": .string(operation.id), "summary": .string(operation.summary),
            "tags": [.string(tags.contains { $0.name == operation.side } ? operation.side : "documents")],
        ]
        if !operation.query.isEmpty { value["parameters"] = .array(operation.query.map(parameter)) }
        if let body = operation.body {
            value["requestBody"] = [
                "required": .bool(!body.isOptional), "content": content("application/json", body.model),
            ]
        }
        value["responses"] = .object(responses(of: operation))
        return value
    }

    private static func parameter(_ parameter: StoreOperation.QueryParameter) -> JSONValue {
        [
            "name": .string(parameter.name), "in": "query", "description": .string(parameter.summary),
            "schema": (parameter.repeats ? WireSchema.array(parameter.schema) : parameter.schema).json,
        ]
    }

    private static func content(_ type: String, _ model: any WireModel.Type) -> JSONValue {
        let media: JSONValue = ["schema": WireSchema.of(model).json]
        return .object(JSONMembers([(type, media)]))
    }

    private static func responses(of operation: StoreOperation) -> JSONMembers {
        var responses = JSONMembers()
        if (200..<300).contains(operation.status) {
            responses["\(operation.status)"] = [
                "description": .string(operation.summary), "content": content("application/json", operation.answer),
            ]
        }
        for (status, codes) in refusals(of: operation).sorted(by: { $0.key < $1.key }) {
            responses["\(status)"] = [
                "description": .string(codes.joined(separator: ", ")),
                "content": content("application/problem+json", HTTPProblem.self),
            ]
        }
        return responses
    }

    /// The codes of an operation's refusals, by status.
    static func refusals(of operation: StoreOperation) -> [Int: [String]] {
        var codes: [Int: [String]] = [503: ["storage", "closed"]]
        func add(_ status: Int, _ code: String) {
            if codes[status]?.contains(code) != true { codes[status, default: []].append(code) }
        }
        for code in operation.allRefusals { add(Refusal.status(of: code), code.rawValue) }
        if !operation.pathParameters.isEmpty { add(400, "malformed_path") }
        if operation.body != nil { add(413, "tooLarge") }
        // Injected errors reach every operation of a device.
        if operation.maySell || operation.side == "store" {
            add(404, StoreFailure.Code.invalidProduct.rawValue)
            add(422, "any other code of a StoreFailure")
        }
        return codes
    }

    /// The schemas that operations name, and those that these name, by name.
    private static func schemas(of operations: [StoreOperation]) -> JSONMembers {
        var found: [String: WireSchema] = [:]
        var todo: [any WireModel.Type] =
            [HTTPProblem.self]
            + operations.flatMap { operation in
                [operation.answer] + (operation.body.map { [$0.model] } ?? [])
            }
        while let model = todo.popLast() {
            guard found[model.schemaName] == nil else { continue }
            found[model.schemaName] = model.schema
            todo += model.schema.models
        }
        return JSONMembers(found.sorted { $0.key < $1.key }.map { ($0.key, $0.value.json) })
    }
}

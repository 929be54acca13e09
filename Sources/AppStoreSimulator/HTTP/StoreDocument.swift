import HTTPCore
import Primitives
import StoreModel

/// The store's operations as OpenAPI 3.1 describes them.
struct StoreDocument: Sendable, Encodable, WireModel {
    static let schemaName = "OpenAPI"
    static let schema = WireSchema.object([
        .required("openapi", .text), .required("info", .object), .required("paths", .object),
    ])

    let json: JSONValue

    func encode(to encoder: any Encoder) throws { try json.encode(to: encoder) }

    init(_ operations: [StoreOperation]) {
        json =
            OpenAPIDocument(
                title: "App Store simulator", version: "1",
                description: """
                    The store's client side (/store/v1) and its control (/control/v1). JSON in UTF-8, dates of RFC 3339, money as \
                    decimal texts. Members that are not known are passed over; what is absent is left out, never null.
                    """,
                tags: Self.tags, operations: operations.map(Self.description)
            ).json
    }

    private static let tags: [OpenAPIDocument.Tag] = [
        .init("store", "what StoreKit is to an app"), .init("control", "what a tester does to the store"),
        .init("documents", "about the store"),
    ]

    private static func description(of operation: StoreOperation) -> OpenAPIDocument.Operation {
        .init(
            operation.method, operation.path, id: operation.id, summary: operation.summary,
            tag: tags.contains { $0.name == operation.side } ? operation.side : "documents",
            parameters: operation.pathParameters.map { name in
                .init(name, in: .path, .name, StoreOperation.parameters[name]?.summary ?? "")
            }
                + operation.query.map {
                    .init($0.name, in: .query, $0.schema, $0.summary, repeats: $0.repeats)
                },
            body: operation.body.map { .init(.of($0.model), isOptional: $0.isOptional) },
            responses: responses(of: operation))
    }

    private static func responses(of operation: StoreOperation) -> [Int: OpenAPIDocument.Response] {
        var responses: [Int: OpenAPIDocument.Response] = [:]
        if (200..<300).contains(operation.status) {
            responses[operation.status] = .init(operation.summary, .of(operation.answer))
        }
        for (status, codes) in refusals(of: operation) {
            responses[status] = .init(codes.joined(separator: ", "), .problem, type: "application/problem+json")
        }
        return responses
    }

    /// The codes of an operation's refusals, by status.
    static func refusals(of operation: StoreOperation) -> [Int: [String]] {
        var codes: [Int: [String]] = [
            403: ["foreign_host", "foreign_site"], 415: ["unsupported_media_type"], 503: ["storage", "closed"],
        ]
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
}

import HTTPCore
import Primitives
import StoreModel

/// The OpenAPI 3.1 document of the store's endpoints.
struct StoreOpenAPIDocument: Sendable, Encodable, WireModel {
    static let schemaName = "OpenAPI"
    static let schema = WireSchema.object([
        .required("openapi", .text), .required("info", .object), .required("paths", .object),
    ])

    let json: JSONValue

    func encode(to encoder: any Encoder) throws { try json.encode(to: encoder) }

    init(_ endpoints: [Endpoint<StoreHandler>]) {
        json =
            OpenAPIDocument(
                title: "App Store simulator", version: "1",
                description: """
                    The API for devices (/store/v1) and the control API for testers (/control/v1). JSON in UTF-8, \
                    with RFC 3339 dates and money as decimal strings. Unknown members are ignored. Absent values \
                    are left out and never null.
                    """,
                tags: [.store, .control, .documents],
                operations: endpoints.map { endpoint in
                    .init(endpoint, refusals: Self.refusals(of: endpoint)) { name in
                        .init(name, in: .path, .name, StoreEndpoints.pathParameters[name]?.summary ?? "")
                    }
                }
            ).json
    }

    /// The codes of an endpoint's errors, by status. A tester can inject a `StoreFailure` at almost every endpoint for
    /// devices.
    static func refusals(of endpoint: Endpoint<StoreHandler>) -> [Int: [String]] {
        let names = endpoint.pathParameters
        var codes: [Int: [String]] = [
            403: ["foreign_host", "foreign_site"], 415: ["unsupported_media_type"], 503: ["storage", "closed"],
        ]
        func add(_ status: Int, _ code: String) {
            if codes[status]?.contains(code) != true { codes[status, default: []].append(code) }
        }
        for code in names.compactMap({ StoreEndpoints.pathParameters[$0]?.refusal }) {
            add(Refusal.status(of: code), code.rawValue)
        }
        for (status, own) in endpoint.refusals { for code in own { add(status, code) } }
        if endpoint.body != nil || !endpoint.parameters.isEmpty || !names.isEmpty {
            add(400, SimulatorError.Code.malformed.rawValue)
        }
        if !names.isEmpty { add(400, "malformed_path") }
        if endpoint.body != nil { add(413, "tooLarge") }
        if endpoint.handler.canReturnStoreFailure || endpoint.tag == .store {
            add(404, StoreFailure.Code.invalidProduct.rawValue)
            add(422, "any other code of a StoreFailure")
        }
        return codes
    }
}

extension OpenAPIDocument.Tag {
    static let store = Self("store", "the API for devices, which has the role of StoreKit")
    static let control = Self("control", "the control API for testers")
    static let documents = Self("documents", "about the store")
}

import HTTPCore
import Primitives
import StoreModel

/// The endpoints GET `/openapi.json` and `/openapi.yaml`.
struct DocumentRoutes: Sendable {
    let endpoints: [Endpoint<ServerHandler>]

    /// Creates the documents of `others` and of these two endpoints.
    init(describing others: [Endpoint<ServerHandler>], of environments: [StoreEnvironment]) {
        func endpoints(json: [UInt8], yaml: [UInt8]) -> [Endpoint<ServerHandler>] {
            [
                Endpoint(
                    .get, "/openapi.json", "getDocument", "This document (OpenAPI 3.1)", tag: .server,
                    answer: .document,
                    handler: .open { _ in
                        .ready(
                            HTTPResponse(
                                status: 200, headers: ["Content-Type": "application/json"], body: .bytes(json)))
                    }),
                Endpoint(
                    .get, "/openapi.yaml", "getDocumentYAML", "This document as YAML", tag: .server, answer: .document,
                    type: "application/yaml", handler: .open { .ready(HTTPResponse(yaml: yaml, for: $0.request)) }),
            ]
        }
        let document = OpenAPIDocument(others + endpoints(json: [], yaml: []), environments).json
        self.endpoints = endpoints(json: document.encoded(), yaml: Array(document.yaml.utf8))
    }
}

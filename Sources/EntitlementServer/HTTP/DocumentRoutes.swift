import HTTPCore
import Primitives
import StoreModel

/// GET `/openapi.json` and `/openapi.yaml`: what the server answers, for programs.
struct DocumentRoutes: Sendable {
    let endpoints: [Endpoint]

    /// Describes `others` and the two documents themselves.
    init(describing others: [Endpoint], of environments: [StoreEnvironment]) {
        func endpoints(json: [UInt8], yaml: [UInt8]) -> [Endpoint] {
            [
                Endpoint(open: .get, "/openapi.json", "getDocument", "This document (OpenAPI 3.1)") { _ in
                    .ready(
                        HTTPResponse(
                            status: 200, headers: ["Content-Type": "application/json"], body: .bytes(json)))
                },
                Endpoint(open: .get, "/openapi.yaml", "getDocumentYAML", "This document as YAML") { call in
                    .ready(HTTPResponse(yaml: yaml, for: call.request))
                },
            ]
        }
        let document = OpenAPIDocument(others + endpoints(json: [], yaml: []), environments).json
        self.endpoints = endpoints(json: document.encoded(), yaml: Array(document.yaml.utf8))
    }
}

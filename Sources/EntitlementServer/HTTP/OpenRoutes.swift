import HTTPCore
import SQLStorage
import StoreModel

/// What needs no key: whether the server is alive, and what it does not do yet.
struct OpenRoutes: Sendable {
    let database: any SQLDatabase

    var endpoints: [Endpoint] {
        [
            Endpoint(open: .get, "/healthz", "getHealth", "Whether the server is alive") { _ in
                .ready(HTTPResponse(json: ["status": "ok"]))
            },
            Endpoint(open: .get, "/readyz", "getReadiness", "Whether the server can read its ledger") { _ in
                do {
                    _ = try database.read { try $0.first("SELECT 1 AS one") }
                    return .ready(HTTPResponse(json: ["status": "ready"]))
                } catch {
                    throw Refusal.unavailable("The ledger cannot be read.")
                }
            },
        ]
            + Self.notYet.map { method, path, what in
                Endpoint(open: method, path, "notYet", what) { _ in throw Refusal.unsupported(what) }
            }
    }

    private static let notYet: [(HTTPRequest.Method, String, String)] = [
        (.get, "/openapi.yaml", "Describing itself in OpenAPI"),
        (.get, "/openapi.json", "Describing itself in OpenAPI"),
    ]
}

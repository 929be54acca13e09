import HTTPCore
import SQLStorage
import StoreModel

/// Whether the server is alive and can do its work, for whoever watches over it.
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
    }
}

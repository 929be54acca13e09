import AppStorePayloads
import HTTPCore
import StoreModel

/// The function and the rate limit of an endpoint of Apple's App Store Server API.
struct ServerAPIHandler: Sendable {
    /// The requests per second that Apple allows in production (Apple: Identifying rate limits).
    let rate: Int
    let respond: @Sendable (ServerCall) throws -> HTTPReply
}

/// The endpoints of Apple's App Store Server API and Retention Messaging API, on Apple's paths. The id and the summary are the title of Apple's
/// page. Routes, rate limits, tests and the list in `Documentation/ServerAPI.md` use this table.
enum ServerAPIEndpoints {
    /// All endpoints, in the order of the documentation.
    static let all: [Endpoint<ServerAPIHandler>] =
        transactions + history + subscriptions + consumption + extensions + notifications
        + retentionMessaging + seats

    typealias API = AppStoreServerAPI

    /// Creates an endpoint that only reads from the database and responds at once.
    static func get<Fields>(
        _ path: String, _ name: String, rate: Int,
        _ answer: @escaping @Sendable (ServerCall) throws -> AppStorePayload<Fields>
    ) -> Endpoint<ServerAPIHandler> {
        endpoint(.get, path, name, rate) { .ready(HTTPResponse(json: try answer($0).json)) }
    }

    /// Creates an endpoint that performs an action and responds with a payload.
    static func action<Fields>(
        _ method: HTTPRequest.Method, _ path: String, _ name: String, rate: Int,
        _ act: @escaping @Sendable (ServerCall) async throws -> AppStorePayload<Fields>
    ) -> Endpoint<ServerAPIHandler> {
        endpoint(method, path, name, rate) { call in
            later { HTTPResponse(json: try await act(call).json) }
        }
    }

    /// Creates an endpoint that performs an action and responds with a status.
    static func action(
        _ method: HTTPRequest.Method, _ path: String, _ name: String, rate: Int, status: Int = 200,
        _ act: @escaping @Sendable (ServerCall) async throws -> Void
    ) -> Endpoint<ServerAPIHandler> {
        endpoint(method, path, name, rate, status: status) { call in
            later {
                try await act(call)
                return HTTPResponse(status: status)
            }
        }
    }

    private static func endpoint(
        _ method: HTTPRequest.Method, _ path: String, _ name: String, _ rate: Int, status: Int = 200,
        _ respond: @escaping @Sendable (ServerCall) throws -> HTTPReply
    ) -> Endpoint<ServerAPIHandler> {
        Endpoint(
            method, path, name, name,
            tag: .init(path.hasPrefix("/groups/") ? "groups" : "inApps", "Apple's App Store Server API"),
            status: status, answer: nil,
            handler: ServerAPIHandler(rate: rate, respond: respond))
    }

    private static func later(_ act: @escaping @Sendable () async throws -> HTTPResponse) -> HTTPReply {
        .suspended {
            do { return try await act() } catch { return ServerRefusal(answering: error).response }
        }
    }
}

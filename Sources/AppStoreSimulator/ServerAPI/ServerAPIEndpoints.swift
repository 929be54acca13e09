import AppStorePayloads
import HTTPCore
import StoreModel

/// The function behind an endpoint of Apple's App Store Server API.
struct ServerAPIHandler: Sendable {
    /// How many requests a second Apple takes in production (Apple: Identifying rate limits).
    let rate: Int
    let respond: @Sendable (ServerCall) throws -> HTTPReply
}

/// The endpoints of Apple's App Store Server API, on Apple's paths. Id and summary are the name of Apple's page. The
/// routes, the limits, tests and the list in `Documentation/ServerAPI.md` are made of this table.
enum ServerAPIEndpoints {
    /// In the order of the documentation.
    static let all: [Endpoint<ServerAPIHandler>] =
        transactions + history + subscriptions + consumption + extensions + notifications

    typealias API = AppStoreServerAPI

    /// What is answered at once, from the books alone.
    static func get<Fields>(
        _ path: String, _ name: String, rate: Int,
        _ answer: @escaping @Sendable (ServerCall) throws -> AppStorePayload<Fields>
    ) -> Endpoint<ServerAPIHandler> {
        endpoint(.get, path, name, rate) { .ready(HTTPResponse(json: try answer($0).json)) }
    }

    /// What is done, and then answered.
    static func on<Fields>(
        _ method: HTTPRequest.Method, _ path: String, _ name: String, rate: Int,
        _ act: @escaping @Sendable (ServerCall) async throws -> AppStorePayload<Fields>
    ) -> Endpoint<ServerAPIHandler> {
        endpoint(method, path, name, rate) { call in
            later { HTTPResponse(json: try await act(call).json) }
        }
    }

    /// What is done, and answered with a status alone.
    static func on(
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
            method, path, name, name, tag: .init("inApps", "Apple's App Store Server API"), status: status, answer: nil,
            handler: ServerAPIHandler(rate: rate, respond: respond))
    }

    private static func later(_ act: @escaping @Sendable () async throws -> HTTPResponse) -> HTTPReply {
        .suspended {
            do { return try await act() } catch { return ServerRefusal(answering: error).response }
        }
    }
}

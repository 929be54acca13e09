import AppStorePayloads
import HTTPCore
import StoreModel

/// One endpoint of Apple's App Store Server API. The routes, the limits, tests and the list in
/// `Documentation/ServerAPI.md` are made of these.
struct ServerEndpoint: Sendable {
    let method: HTTPRequest.Method
    /// Apple's, with `{name}` for each parameter.
    let path: String
    /// As Apple's page of it is called.
    let name: String
    /// How many requests a second Apple takes in production (Apple: Identifying rate limits).
    let rate: Int
    let respond: @Sendable (ServerCall) throws -> HTTPReply

    /// Every endpoint there is, in the order of the documentation.
    static let all: [ServerEndpoint] =
        transactions + history + subscriptions + consumption + extensions + notifications

    typealias API = AppStoreServerAPI

    /// What is answered at once, from the books alone.
    static func get<Answer: AppStorePayload>(
        _ path: String, _ name: String, rate: Int, _ answer: @escaping @Sendable (ServerCall) throws -> Answer
    ) -> ServerEndpoint {
        ServerEndpoint(method: .get, path: path, name: name, rate: rate) { call in
            .ready(HTTPResponse(json: try answer(call).json))
        }
    }

    /// What is done, and then answered.
    static func on<Answer: AppStorePayload>(
        _ method: HTTPRequest.Method, _ path: String, _ name: String, rate: Int,
        _ act: @escaping @Sendable (ServerCall) async throws -> Answer
    ) -> ServerEndpoint {
        doing(method, path, name, rate) { HTTPResponse(json: try await act($0).json) }
    }

    /// What is done, and answered with a status alone.
    static func on(
        _ method: HTTPRequest.Method, _ path: String, _ name: String, rate: Int, status: Int = 200,
        _ act: @escaping @Sendable (ServerCall) async throws -> Void
    ) -> ServerEndpoint {
        doing(method, path, name, rate) { call in
            try await act(call)
            return HTTPResponse(status: status)
        }
    }

    private static func doing(
        _ method: HTTPRequest.Method, _ path: String, _ name: String, _ rate: Int,
        _ act: @escaping @Sendable (ServerCall) async throws -> HTTPResponse
    ) -> ServerEndpoint {
        ServerEndpoint(method: method, path: path, name: name, rate: rate) { call in
            .suspended {
                do { return try await act(call) } catch { return ServerRefusal(answering: error).response }
            }
        }
    }
}

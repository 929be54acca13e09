import HTTPCore
import StoreModel

/// The App Store Server API on Apple's paths. The order of the checks is Apple's: the token, the path, the rate limits.
struct ServerRoutes: HTTPHandler {
    static let prefixes = ["/inApps/", "/groups/"]

    private let store: SimulatedAppStore
    private let router: Router

    init(store: SimulatedAppStore) {
        var router = Router(ServerAPIEndpoints.all) { endpoint in
            { request, path in
                do {
                    try store.serverAuthenticator.checkLimits(endpoint.id, rate: endpoint.handler.rate)
                    return try endpoint.handler.respond(try ServerCall(request, path, store: store))
                } catch {
                    return .ready(ServerRefusal(answering: error).response)
                }
            }
        }
        router.refuse = { refusal, _ in Self.refusal(refusal).response }
        self.store = store
        self.router = router
    }

    func respond(to request: HTTPRequest) -> HTTPReply {
        do {
            try store.serverAuthenticator.authenticate(request)
        } catch {
            return .ready(ServerRefusal(unauthenticated: error).response)
        }
        let delay = store.serverAuthenticator.delay
        guard delay > 0 else { return router.respond(to: request) }
        return .suspended { [store, router] in
            await store.pause(for: delay)
            return await router.respond(to: request).response()
        }
    }

    private static func refusal(_ refusal: Router.Refusal) -> ServerRefusal {
        switch refusal {
        case .notFound: ServerRefusal(status: 404)
        case .methodNotAllowed: ServerRefusal(status: 405)
        case .malformedPath: ServerRefusal(.generalBadRequest)
        }
    }
}

import HTTPCore
import Primitives
import StoreModel

extension SimulatedAppStore {
    /// Serves the store's client side, its control API, Apple's App Store Server API and `/verifyReceipt`,
    /// `/openapi.json` and the files of `Configuration.content`. Made anew at each call.
    public var handler: any HTTPHandler {
        let (router, server) = (StoreRoutes(store: self).router, ServerRoutes(store: self))
        let receipts = ReceiptEndpoint(store: self)
        return AnyHTTPHandler { [content = configuration.content] request in
            let path = request.path
            if path.hasPrefix(ServerRoutes.prefix) { return server.respond(to: request) }
            if let content, path.hasPrefix(ContentFolder.prefix) { return content.respond(to: request) }
            if ReceiptEndpoint.paths.keys.contains(path) { return receipts.respond(to: request) }
            return router.respond(to: request)
        }
    }
}

/// The operations as routes.
struct StoreRoutes: Sendable {
    let store: SimulatedAppStore

    var router: Router {
        var router = Router()
        for operation in StoreOperation.all {
            router.on(operation.method, operation.path) { [store] request, path in
                .suspended { await Self.respond(to: request, path, operation, store) }
            }
        }
        return router
    }

    private static func respond(
        to request: HTTPRequest, _ path: PathParameters, _ operation: StoreOperation, _ store: SimulatedAppStore
    ) async -> HTTPResponse {
        do {
            let call = try await StoreCall(request, path, of: operation, store: store)
            return HTTPResponse(
                status: operation.status, headers: ["Content-Type": "application/json"],
                body: .bytes(try WireJSON.encode(try await operation.respond(call))))
        } catch {
            return Refusal(error).response
        }
    }
}

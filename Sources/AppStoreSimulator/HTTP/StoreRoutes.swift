import HTTPCore
import Primitives
import StoreModel

extension SimulatedAppStore {
    /// Serves the store's client side, its control API, Apple's App Store Server API and `/verifyReceipt`,
    /// the OpenAPI document, a page at `/` and the files of `Configuration.content`. Made anew at each call.
    ///
    /// Answers only requests that name this machine or one of `Configuration.hostNames`, and none of another site's web
    /// page: most of what it serves asks for no credentials.
    public var handler: any HTTPHandler {
        let (router, server) = (StoreRoutes(store: self).router, ServerRoutes(store: self))
        let (receipts, documents) = (ReceiptEndpoint(store: self), StoreDocuments(of: configuration.bundleID))
        let all = AnyHTTPHandler { [content = configuration.content] request in
            let path = request.path
            if path.hasPrefix(ServerRoutes.prefix) { return server.respond(to: request) }
            if let content, path.hasPrefix(ContentFolder.prefix) { return content.respond(to: request) }
            if ReceiptEndpoint.paths.keys.contains(path) { return receipts.respond(to: request) }
            if let document = documents.answer(to: request) { return .ready(document) }
            return router.respond(to: request)
        }
        return LocalRequestGate(hostNames: configuration.hostNames).guarding(all)
    }
}

/// The endpoints as routes.
struct StoreRoutes: Sendable {
    let store: SimulatedAppStore

    var router: Router {
        Router(StoreEndpoints.all) { [store] endpoint in
            { request, path in .suspended { await Self.respond(to: request, path, endpoint, store) } }
        }
    }

    private static func respond(
        to request: HTTPRequest, _ path: PathParameters, _ endpoint: Endpoint<StoreHandler>,
        _ store: SimulatedAppStore
    ) async -> HTTPResponse {
        if let problem = request.refusalOfMediaType { return problem.response }
        do {
            let call = try await StoreCall(request, path, of: endpoint, store: store)
            return HTTPResponse(
                status: endpoint.status, headers: ["Content-Type": "application/json"],
                body: .bytes(try WireJSON.encode(try await endpoint.handler.respond(call))))
        } catch {
            return Refusal(error).response
        }
    }
}

import HTTPCore
import Primitives
import StoreModel

extension SimulatedAppStore {
    /// The HTTP handler of the store: the device API, the control API, Apple's App Store Server API, `/verifyReceipt`,
    /// the Google Play Developer API, the OpenAPI document, a page at `/`, and the files of `Configuration.content`. Each access creates a new
    /// handler.
    ///
    /// It answers only requests for this machine or for a name in `Configuration.hostNames`, and no requests from web
    /// pages of other sites, because most endpoints need no credentials.
    public var handler: any HTTPHandler {
        let (router, server) = (StoreRoutes(store: self).router, ServerRoutes(store: self))
        let receipts = ReceiptEndpoint(store: self)
        let documents = StoreDocuments(
            of: configuration.bundleID, selling: configuration.playCatalogue?.packageName)
        let play = googlePlay.map { PlayRoutes(self, $0) }
        let all = AnyHTTPHandler { [content = configuration.content] request in
            let path = request.path
            if ServerRoutes.prefixes.contains(where: { path.hasPrefix($0) }) { return server.respond(to: request) }
            if let play, PlayRoutes.serves(path) { return play.respond(to: request) }
            if let content, path.hasPrefix(ContentFolder.prefix) { return content.respond(to: request) }
            if ReceiptEndpoint.paths.keys.contains(path) { return receipts.respond(to: request) }
            if let document = documents.answer(to: request) { return .ready(document) }
            return router.respond(to: request)
        }
        return LocalRequestGate(hostNames: configuration.hostNames).guarding(all)
    }
}

/// The routes of the endpoints.
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

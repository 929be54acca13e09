import HTTPCore
import Primitives
import StoreModel

/// The endpoint POST `/showcase/get-price-points` in Palta's format: the app's products and prices.
struct ShowcaseRoute: Sendable {
    private static let maximumBody = 256 << 10

    let pricePoints: [BundleID: [PricePointInternal]]

    var endpoints: [Endpoint<ServerHandler>] {
        [
            Endpoint(
                .post, "/showcase/get-price-points", "getPricePoints", "List price points", tag: .provisioning,
                body: .init(.getPricePoints), answer: .pricePoints,
                handler: .authorized(.publicKey, by: .apiKeyOrBearer, respond))
        ]
    }

    /// Returns the requested price points in their order, each once. Leaves out what the app does not sell.
    @Sendable private func respond(_ context: RequestContext) throws -> HTTPReply {
        context.later {
            let body = try await RequestBody.bytes(of: context.request, upTo: Self.maximumBody)
            let asked = try RequestBody.decode(GetPricePointsRequestPayload.self, from: body)
            guard let customer = asked.customerId.customerID else {
                throw Refusal.invalid("customerId/value", "should have \(CustomerID.rule)")
            }
            _ = try context.key(of: customer)
            let sold = pricePoints[context.caller.app] ?? []
            var seen: Set<ExactString> = []
            let answer = PricePointsResponse(
                pricePoints: asked.ident.filter { seen.insert(ExactString($0)).inserted }.compactMap { ident in
                    sold.first { $0.ident.hasSameBytes(as: ident) }
                })
            return HTTPResponse(
                status: 200, headers: ["Content-Type": "application/json"],
                body: .bytes(try WireJSON.encode(answer)))
        }
    }
}

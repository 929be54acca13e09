import HTTPCore
import SimulatorControl
import StoreKitAdapter
import StoreModel

extension StoreEndpoints {
    private static let batches = "/control/v1/offer-code-batches"

    /// Offer codes and the conditions of win-back offers.
    static let offers: [Endpoint<StoreHandler>] = [
        endpoint(
            .post, batches, "createOfferCodes", "Create a custom offer code, or one-time codes",
            taking: StoreControlWire.NewOfferCodes.self, status: 201, refusals: [.unknownProduct, .invalidValue]
        ) { call, body in try await call.store.createOfferCodes(body) },
        endpoint(
            .get, batches, "offerCodeBatches", "List the offer codes that were created",
            parameters: [.init("account", in: .query, .name, "the account whose states are returned")],
            refusals: [.unknownAccount]
        ) { call in
            StoreControlWire.OfferCodeBatches(
                offerCodeBatches: try call.store.offerCodeBatches(for: call.identifier("account")))
        },
        endpoint(.get, batches + "/{batch}", "offerCodeBatch", "Get offer codes that were created together") { call in
            try call.store.offerCodeBatch(call.path["batch"])
        },
        endpoint(
            .post, batches + "/{batch}/deactivate", "deactivateOfferCodes",
            "Deactivate offer codes that were created together"
        ) { call in try await call.store.deactivateOfferCodes(call.path["batch"]) },
        endpoint(
            .get, "/control/v1/win-back-offers", "winBackOffers", "List the win-back offers with their conditions",
            parameters: [.init("account", in: .query, .name, "the account whose eligibility is returned")],
            refusals: [.unknownAccount]
        ) { call in
            StoreControlWire.WinBackOffers(
                winBackOffers: try call.store.winBackOffers(for: call.identifier("account")))
        },
        endpoint(
            .put, "/control/v1/products/{product}/win-back-conditions", "setWinBackConditions",
            "Set the conditions of a win-back offer", taking: StoreControlWire.WinBackConditions.self,
            refusals: [.invalidValue]
        ) { call, body in try await call.store.setWinBackConditions(body, of: try call.product) },
    ]
}

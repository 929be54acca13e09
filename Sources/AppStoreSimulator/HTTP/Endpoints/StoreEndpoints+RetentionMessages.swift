import HTTPCore
import SimulatorControl
import StoreKitAdapter
import StoreModel

extension StoreEndpoints {
    private static let path = "/control/v1/retention-messages"

    static let retentionMessages: [Endpoint<StoreHandler>] = [
        endpoint(
            .get, path, "retentionMessages",
            "List what customers saw before they cancelled a subscription, oldest first",
            parameters: [
                .init("account", in: .query, .name, "only what this account saw"),
                .init("after", in: .query, .integer(0...(1 << 53)), "only entries with a higher number"),
                .init("limit", in: .query, .integer(1...1000), "the maximum number of entries (100)"),
            ], refusals: [.unknownAccount]
        ) { call in
            StoreControlWire.RetentionMessages(
                retentionMessages: try call.store.retentionMessages(
                    of: call.identifier("account"), after: call.integer("after") ?? 0,
                    limit: Int(call.integer("limit") ?? 100)))
        },
        endpoint(
            .get, path + "/uploads", "retentionUploads",
            "List the messages and images that the app's server uploaded, with their states, oldest first"
        ) { call in try call.store.retentionUploads() },
        endpoint(
            .post, path + "/review", "reviewRetentionMessage", "Approve or reject an uploaded message or image",
            taking: StoreControlWire.RetentionReview.self, refusals: [.unknownMessage]
        ) { call, body in
            if let message = body.messageIdentifier {
                try await call.store.reviewRetentionMessage(message, body.state)
            }
            if let image = body.imageIdentifier { try await call.store.reviewRetentionImage(image, body.state) }
            return Nothing()
        },
        endpoint(
            .post, "/control/v1/accounts/{account}/retention-message", "showRetentionMessage",
            "Open the screen for cancelling a subscription, without cancelling",
            taking: StoreControlWire.Cancel.self, refusals: [.unknownSubscription]
        ) { call, body in
            try await call.store.showRetentionMessage(of: body.productID, for: try call.account, locale: body.locale)
        },
    ]
}

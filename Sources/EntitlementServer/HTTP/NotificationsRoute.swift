import HTTPCore
import Primitives
import SignedData
import StoreModel

/// POST `/v1/notifications/app-store`: what the App Store tells by itself (App Store Server Notifications V2). Anybody may
/// call; what is not signed by the store for an app of this server changes nothing.
///
/// The App Store sends again whatever is not answered with 200, so nothing is answered so before it is durable.
struct NotificationsRoute: Sendable {
    private static let maximumBody = 512 << 10

    let ledger: Ledger
    let readers: [StoreReader]
    let metrics: ServerMetrics

    var endpoints: [Endpoint<ServerHandler>] {
        [
            Endpoint(
                .post, "/v1/notifications/app-store", "postNotification", "Tell what happened in the App Store",
                tag: .facts, body: .init(.notification), answer: .notified, refusals: [422: Refusal.signedDataCodes],
                handler: .open(respond))
        ]
    }

    @Sendable private func respond(to call: Call) throws -> HTTPReply {
        call.later {
            let body = try await RequestBody.bytes(of: call.request, upTo: Self.maximumBody)
            guard let signed = try RequestBody.object(body)["signedPayload"]?.stringValue, !signed.isEmpty else {
                throw Refusal.invalid("signedPayload", "should be a text, the notification as the store signed it")
            }
            let reader = try reader(of: signed)
            do {
                let (notification, facts) = try reader.notification(signed)
                try await ledger.record(notification, facts, of: reader.app)
                metrics.notifications.add(notification.about)
                return HTTPResponse(json: ["notificationUUID": .string(notification.identity)])
            } catch let error as SignedDataError {
                guard !error.isRetryable else { throw Refusal.unavailable(error.reason) }
                throw Refusal.notTrue(RejectedTransaction(error, at: 0), field: "signedPayload")
            }
        }
    }

    /// The reader of the app a notification is said to be for. One for another app goes to any reader, which finds out
    /// whether it is true at all before it refuses it.
    private func reader(of signed: String) throws -> StoreReader {
        let said = try? UnverifiedJWS(unverified: signed).unverifiedPayload
        let parts = ["data", "summary", "externalPurchaseToken", "appData"]
        let bundle = parts.lazy.compactMap { said?[$0]?["bundleId"]?.stringValue }.first.flatMap(
            BundleID.init(rawValue:))
        guard let reader = readers.first(where: { $0.app == bundle }) ?? readers.first else {
            throw Refusal.unavailable("This server serves no app.")
        }
        return reader
    }
}

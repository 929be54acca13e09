import HTTPCore
import Primitives
import SignedData
import StoreModel

/// The endpoint POST `/v1/notifications/app-store` (App Store Server Notifications V2). It needs no key: a notification
/// that the store did not sign for an app of this server changes nothing.
///
/// The App Store does not repeat a notification after a 200, so the 200 is sent only after the notification is durable.
struct NotificationsRoute: Sendable {
    private static let maximumBody = 512 << 10

    let ledger: Ledger
    let readers: [StoreReader]
    let metrics: ServerMetrics

    var endpoints: [Endpoint<ServerHandler>] {
        [
            Endpoint(
                .post, "/v1/notifications/app-store", "postNotification", "Receive a notification of the App Store",
                tag: .facts, body: .init(.notification), answer: .notified, refusals: [422: Refusal.signedDataCodes],
                handler: .open(respond))
        ]
    }

    @Sendable private func respond(to call: Call) throws -> HTTPReply {
        call.later {
            let body = try await RequestBody.bytes(of: call.request, upTo: Self.maximumBody)
            guard let signed = try RequestBody.object(body)["signedPayload"]?.stringValue, !signed.isEmpty else {
                throw Refusal.invalid("signedPayload", "should be a string, the notification as the store signed it")
            }
            let reader = try reader(of: signed)
            do {
                let (notification, facts, refund) = try await reader.notification(signed)
                try await ledger.record(notification, facts, refund, of: reader.app)
                metrics.notifications.add(notification.about)
                return HTTPResponse(json: ["notificationUUID": .string(notification.identity)])
            } catch let error as SignedDataError {
                guard !error.isRetryable else { throw Refusal.unavailable(error.reason) }
                throw Refusal.rejected(RejectedTransaction(error, at: 0), field: "signedPayload")
            }
        }
    }

    /// Returns the reader of the notification's app. A notification for an unknown app goes to any reader, which
    /// verifies it before refusing it.
    private func reader(of signed: String) throws -> StoreReader {
        if readers.count == 1 { return readers[0] }
        let payload = try? UnverifiedJWS(unverified: signed).unverifiedPayload
        let parts = ["data", "summary", "externalPurchaseToken", "appData"]
        let bundle = parts.lazy.compactMap { payload?[$0]?["bundleId"]?.stringValue }.first.flatMap(
            BundleID.init(rawValue:))
        guard let reader = readers.first(where: { $0.app == bundle }) ?? readers.first else {
            throw Refusal.unavailable("This server serves no app.")
        }
        return reader
    }
}

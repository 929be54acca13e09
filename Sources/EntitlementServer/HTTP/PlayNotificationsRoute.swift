import Foundation
import GooglePlay
import HTTPCore
import Primitives
import SignedData
import StoreModel

/// The endpoint POST `/v1/notifications/google-play`: real-time developer notifications, which Cloud Pub/Sub pushes. It
/// needs no key: the request has a token that Google signed for the push subscription.
///
/// A notification only names a purchase. The purchase is fetched, and stored without a claim. Google sends a notification
/// again until it gets a 200, so the 200 is sent only after the purchase is durable.
struct PlayNotificationsRoute: Sendable {
    private static let maximumBody = 64 << 10

    let ledger: Ledger
    let readers: [PlayReader]
    let metrics: ServerMetrics
    let report: @Sendable (_ context: String, _ error: any Error) -> Void

    var endpoints: [Endpoint<ServerHandler>] {
        [
            Endpoint(
                .post, "/v1/notifications/google-play", "postPlayNotification",
                "Receive a notification of Google Play", tag: .facts, body: .init(.playNotification),
                answer: .playNotified,
                refusals: [
                    401: Refusal.signedDataCodes, 422: Refusal.signedDataCodes, 501: ["unsupported"],
                ], handler: .open(respond))
        ]
    }

    /// Returns whether a text can be the id of a message.
    static func isMessageID(_ text: String) -> Bool {
        (1...255).contains(text.utf8.count) && text.utf8.allSatisfy { (0x21...0x7E).contains($0) }
    }

    @Sendable private func respond(to call: Call) throws -> HTTPReply {
        call.later {
            let body = try await RequestBody.bytes(of: call.request, upTo: Self.maximumBody)
            let push = try RequestBody.decode(PubSubPush.self, from: body)
            guard let id = push.message?.messageId, Self.isMessageID(id) else {
                throw Refusal.invalid("message/messageId", "should be a string of 1 to 255 visible characters of ASCII")
            }
            guard push.message?.data.flatMap({ Base64.decode($0) }) != nil else {
                throw Refusal.invalid("message/data", "should be base64")
            }
            let notification: DeveloperNotification
            do { notification = try push.notification() } catch { throw Refusal.noNotification }
            let name = notification.packageName ?? ""
            let named = readers.first { name.hasSameBytes(as: $0.source.packageName.rawValue) }
            // A notification of an unknown app is refused only after it was verified, as those of the App Store.
            guard let reader = named ?? readers.first(where: { $0.source.notifications != nil }),
                let expected = reader.source.notifications
            else { throw Refusal.noPlayNotifications }
            try await verify(call.request, with: expected)
            guard named != nil else { throw Refusal.unknownPackage }
            try await record(notification, with: reader)
            metrics.playNotifications.add(notification.metricsLabel)
            return HTTPResponse(json: ["messageId": .string(id)])
        }
    }

    private func verify(_ request: HTTPRequest, with expected: GooglePlayApp.Notifications) async throws {
        do {
            try await expected.verifier.verify(request.headers["Authorization"], as: expected.token)
        } catch let error as SignedDataError {
            throw Refusal.notPushed(error)
        } catch let error as GooglePlayPushVerifier.KeysUnavailable {
            report("Google Play", error)
            throw Refusal.unavailable(error.description, retryAfter: 10)
        }
    }

    /// Fetches and stores the purchase that a notification names. A purchase that is not accepted stores nothing: a
    /// repetition would not change that, and Google would repeat it for seven days.
    private func record(_ notification: DeveloperNotification, with reader: PlayReader) async throws {
        if let pending = notification.pendingRefundReviewNotification {
            return try await record(pending, sentAt: notification.eventTimeMillis, with: reader)
        }
        guard let (text, kind) = notification.purchase else { return }
        guard let token = PurchaseToken(rawValue: text) else {
            throw Refusal.invalid("message/data", "should name a purchase by its token")
        }
        let presented: PlayReader.Presented
        do {
            presented = try await reader.fetch(token, as: kind)
        } catch let rejection as PlayReader.Rejection {
            metrics.rejected.add(rejection.code)
            return
        } catch let failure as GooglePlayFailure {
            report("Google Play", failure)
            throw Refusal.unavailable(failure)
        }
        try await ledger.record(
            presented, of: reader.app, by: nil, answering: presented.environment, as: nil
        ) { _, _ in KeptAnswer(status: 200, contentType: "application/json", body: []) }
    }
}

extension PlayNotificationsRoute {
    /// The longest token of a review, in bytes.
    private static let maximumToken = 4096

    /// Stores the review of a chargeback for the refund desk, after the purchase of its order.
    private func record(
        _ pending: DeveloperNotification.PendingRefundReview, sentAt: Int64Text?, with reader: PlayReader
    ) async throws {
        guard let order = pending.orderId.flatMap(TransactionID.init(rawValue:)),
            let token = pending.pendingRefundToken, (1...Self.maximumToken).contains(token.utf8.count),
            token.utf8.allSatisfy({ (0x21...0x7E).contains($0) })
        else { throw Refusal.invalid("message/data", "should name an order, and the token of its review") }
        do {
            let (presented, review) = try await reader.review(
                of: order, token: token, sentAt: sentAt.map { Date(milliseconds: $0.value) })
            try await ledger.record(
                presented, of: reader.app, by: nil, answering: presented.environment, as: nil
            ) { _, _ in KeptAnswer(status: 200, contentType: "application/json", body: []) }
            try await ledger.keep(review, in: LedgerID(app: reader.app, environment: presented.environment))
        } catch let rejection as PlayReader.Rejection {
            metrics.rejected.add(rejection.code)
        } catch let failure as GooglePlayFailure {
            report("Google Play", failure)
            throw Refusal.unavailable(failure)
        }
    }
}

extension DeveloperNotification {
    /// The token of the purchase, and its kind if the notification states it; `nil` for a test notification and for one
    /// of a later version.
    fileprivate var purchase: (token: String, kind: PlayFetch.Kind?)? {
        if let token = subscriptionNotification?.purchaseToken { return (token, .subscription) }
        if let token = oneTimeProductNotification?.purchaseToken { return (token, .product) }
        guard let voided = voidedPurchaseNotification, let token = voided.purchaseToken else { return nil }
        switch voided.productType {
        case 1: return (token, .subscription)
        case 2: return (token, .product)
        default: return (token, nil)
        }
    }

    fileprivate var metricsLabel: String {
        if let type = subscriptionNotification?.notificationType { return "subscription.\(type.rawValue)" }
        if let type = oneTimeProductNotification?.notificationType { return "oneTimeProduct.\(type)" }
        if voidedPurchaseNotification != nil { return "voidedPurchase" }
        if pendingRefundReviewNotification != nil { return "pendingRefundReview" }
        return testNotification != nil ? "test" : "other"
    }
}

extension Refusal {
    fileprivate static func notPushed(_ error: SignedDataError) -> Refusal {
        Refusal(
            HTTPProblem(
                status: 401, code: error.code.rawValue, title: "Not sent by Google", detail: error.reason,
                field: "Authorization"))
    }

    fileprivate static let noNotification = Refusal(
        HTTPProblem(
            status: 422, code: SignedDataError.Code.payloadMalformed.rawValue, title: "Not accepted",
            detail: "The data of the message is no developer notification.", field: "message/data"))

    fileprivate static let unknownPackage = Refusal(
        HTTPProblem(
            status: 422, code: SignedDataError.Code.wrongBundle.rawValue, title: "Not accepted",
            detail: "The notification is not for an app of this server.", field: "message/data"))

    fileprivate static let noPlayNotifications = Refusal(
        HTTPProblem(
            status: 501, code: "unsupported", title: "Not supported",
            detail: "This server accepts no notifications of Google Play; start it with --play-rtdn-audience."))
}

import Foundation
import GooglePlay
import HTTPCore
import Primitives
import StoreModel

/// The endpoints of the Google Play Developer API that are simulated, with the ids of Google's methods. Two methods of
/// one path differ by the verb after the colon.
enum PlayEndpoints {
    typealias Handler = @Sendable (PlayCall) async throws -> HTTPResponse
    private typealias API = AndroidPublisher

    private static let base = "/androidpublisher/v3/applications/{packageName}"
    private static let tag = OpenAPIDocument.Tag("androidpublisher", "the Google Play Developer API")

    static let all: [Endpoint<Handler>] = products + subscriptions + orders

    private static func get(
        _ path: String, _ id: String, _ answer: @escaping @Sendable (PlayCall) async throws -> any PlayResource
    ) -> Endpoint<Handler> {
        Endpoint(.get, base + path, id, id, tag: tag, answer: nil) { call in
            HTTPResponse(json: try WireJSON.document(try await answer(call)))
        }
    }

    /// Creates the endpoint for the actions on one resource, by their verbs. An action without a resource has an empty
    /// response.
    private static func actions(
        _ path: String, _ id: String,
        _ actions: KeyValuePairs<String, @Sendable (PlayCall) async throws -> (any PlayResource)?>
    ) -> Endpoint<Handler> {
        Endpoint(.post, base + path, id, id, tag: tag, answer: nil) { call in
            guard let action = actions.first(where: { $0.key == call.verb })?.value else {
                throw GoogleAPIError(
                    .unimplemented, reason: "notImplemented",
                    "The simulated Google Play does not have this method; it has \(actions.map(\.key)) here.")
            }
            guard let answer = try await action(call) else { return HTTPResponse(status: 204) }
            return HTTPResponse(json: try WireJSON.document(answer))
        }
    }

    // MARK: - One-time products

    private static let productToken = "/purchases/products/{productId}/tokens/{token}"

    private static let products: [Endpoint<Handler>] = [
        get(productToken, "purchases.products.get") { try await product($0, named: true).resource },
        actions(
            productToken, "purchases.products",
            [
                "acknowledge": { call in
                    let body = try await call.body(as: API.AcknowledgeRequest.self)
                    try await changeProduct(call) { try $0.acknowledge(body.developerPayload) }
                    return nil
                },
                "consume": { call in
                    _ = try await call.body(as: API.AcknowledgeRequest.self)
                    try await changeProduct(call) { try $0.consume() }
                    return nil
                },
            ]),
        get("/purchases/productsv2/tokens/{token}", "purchases.productsv2.getproductpurchasev2") {
            try await product($0, named: false).resourceV2
        },
    ]

    /// Returns the purchase of the path's token, which must be of the path's product if `named`.
    private static func product(_ call: PlayCall, named: Bool) async throws -> PlayProductPurchase {
        let token = try call.name
        let product = named ? call.text("productId") : nil
        return try await call.store.changePlayPurchase(token) { entry, _ in
            ([], try productPurchase(entry.purchase, product))
        }
    }

    private static func changeProduct(
        _ call: PlayCall, _ change: @escaping @Sendable (inout PlayProductPurchase) throws -> Void
    ) async throws {
        let (token, product) = (try call.name, call.text("productId"))
        try await call.store.changePlayPurchase(token) { entry, _ in
            var purchase = try productPurchase(entry.purchase, product)
            try change(&purchase)
            entry.purchase = .product(purchase)
            return ([], ())
        }
    }

    private static func productPurchase(_ purchase: PlayPurchase, _ product: String?) throws -> PlayProductPurchase {
        guard case .product(let purchase) = purchase,
            product.map({ $0.hasSameBytes(as: purchase.info.productID.rawValue) }) ?? true
        else {
            throw GoogleAPIError(
                .invalidArgument, reason: "purchaseTokenDoesNotMatchProductId",
                "The purchase token does not match the product ID.", location: "token")
        }
        return purchase
    }

    // MARK: - Subscriptions

    private static let subscriptions: [Endpoint<Handler>] = [
        actions(
            "/purchases/subscriptions/{subscriptionId}/tokens/{token}", "purchases.subscriptions",
            [
                "acknowledge": { call in
                    let body = try await call.body(as: API.AcknowledgeRequest.self)
                    try await changeSubscription(call) { purchase, _ in
                        try purchase.acknowledge(body.developerPayload)
                        if let ids = body.externalAccountIds { purchase.attribute(to: ids) }
                        return []
                    }
                    return nil
                },
                "cancel": { call in
                    try await changeSubscription(call) { try $0.cancel(by: .developer, at: $1) }
                    return nil
                },
                "defer": deferV1,
            ]),
        get("/purchases/subscriptionsv2/tokens/{token}", "purchases.subscriptionsv2.get") { call in
            try await changeSubscription(call) { purchase, now in
                let gone = now.addingTimeInterval(-60 * 86400)
                if purchase.isEnded, purchase.expiryTime <= gone {
                    throw GoogleAPIError(
                        .gone, reason: "purchaseTokenNoLongerValid",
                        "The subscription expired more than 60 days ago; its purchase token is no longer valid.",
                        location: "token")
                }
                return []
            }.resource
        },
        actions(
            "/purchases/subscriptionsv2/tokens/{token}", "purchases.subscriptionsv2",
            ["cancel": cancel, "revoke": revoke, "defer": deferV2]),
    ]

    /// Changes the subscription of the path's token. Returns it after the change.
    @discardableResult
    private static func changeSubscription(
        _ call: PlayCall, _ change: @escaping @Sendable (inout PlaySubscription, Date) throws -> [PlayEffect]
    ) async throws -> PlaySubscription {
        let token = try call.name
        // Google does not require the subscription of the path to match.
        return try await call.store.changePlayPurchase(token) { entry, now in
            guard case .subscription(var purchase) = entry.purchase else {
                throw GoogleAPIError(
                    .invalidArgument, reason: "purchaseTokenDoesNotMatchSubscriptionId",
                    "The purchase token is not of a subscription.", location: "token")
            }
            let effects = try change(&purchase, now)
            entry.purchase = .subscription(purchase)
            return (effects, purchase)
        }
    }

    private static let cancel: @Sendable (PlayCall) async throws -> (any PlayResource)? = { call in
        let body = try await call.body(as: API.CancelRequest.self)
        let canceller: PlaySubscription.Canceller
        switch body.cancellationContext?.cancellationType {
        case .userRequestedStopRenewals?: canceller = .user
        case .developerRequestedStopPayments?: canceller = .developer
        default: throw GoogleAPIError.invalid("cancellationContext", "The cancellationType is missing or unknown.")
        }
        try await changeSubscription(call) { try $0.cancel(by: canceller, at: $1) }
        return NoMembers()
    }

    private static let revoke: @Sendable (PlayCall) async throws -> (any PlayResource)? = { call in
        let body = try await call.body(as: API.RevokeRequest.self)
        let context = body.revocationContext
        let kinds = [context?.fullRefund != nil, context?.proratedRefund != nil, context?.itemBasedRefund != nil]
        guard kinds.count(where: { $0 }) == 1, context?.itemBasedRefund == nil else {
            throw GoogleAPIError.invalid(
                "revocationContext",
                "The revocationContext should have fullRefund or proratedRefund; itemBasedRefund is for add-ons only.")
        }
        try await changeSubscription(call) { purchase, now in
            guard !purchase.isEnded, purchase.state != .pending else {
                throw PlayRefusal("invalidSubscriptionState", "The subscription has ended or is pending.")
            }
            return purchase.revoke(
                at: now, by: .developer, voided: (1, 0), prorated: context?.proratedRefund != nil)
        }
        return NoMembers()
    }

    private static let deferV2: @Sendable (PlayCall) async throws -> (any PlayResource)? = { call in
        let context = try await call.body(as: API.DeferRequest.self).deferralContext
        guard let etag = context?.etag, let text = context?.deferDuration, let seconds = seconds(text),
            (86_400...31_622_400).contains(seconds)
        else {
            throw GoogleAPIError.invalid(
                "deferralContext", "The deferralContext should have an etag, and a deferDuration of a day to a year.")
        }
        let isTrial = context?.validateOnly ?? false
        let purchase = try await changeSubscription(call) { purchase, now in
            guard etag.hasSameBytes(as: purchase.etag) else {
                throw GoogleAPIError(
                    .aborted, reason: "etagMismatch", "The etag is not that of the subscription's present state.",
                    location: "etag")
            }
            return try purchase.defer(to: purchase.paidUntil.addingTimeInterval(Double(seconds)), at: now, isTrial)
        }
        return API.DeferResponse {
            $0.itemExpiryTimeDetails = [
                API.ItemExpiryTime {
                    $0.productId = purchase.info.productID.rawValue
                    $0.expiryTime =
                        isTrial
                        ? purchase.paidUntil.addingTimeInterval(Double(seconds)).wholeMilliseconds
                        : purchase.expiryTime.wholeMilliseconds
                }
            ]
        }
    }

    /// Reads a duration such as `86400s`. Fractions of a second are refused.
    private static func seconds(_ text: String) -> Int64? {
        guard text.hasSuffix("s"), let seconds = Int64(text.dropLast()), "\(seconds)s".hasSameBytes(as: text) else {
            return nil
        }
        return seconds
    }

    private static let deferV1: @Sendable (PlayCall) async throws -> (any PlayResource)? = { call in
        let info = try await call.body(as: API.DeferRequestV1.self).deferralInfo
        guard let expected = info?.expectedExpiryTimeMillis?.value, let desired = info?.desiredExpiryTimeMillis?.value,
            (0...253_402_300_799_999).contains(desired)
        else {
            throw GoogleAPIError.invalid(
                "deferralInfo", "The deferralInfo should have expectedExpiryTimeMillis and desiredExpiryTimeMillis.")
        }
        let purchase = try await changeSubscription(call) { purchase, now in
            guard purchase.expiryTime.playMilliseconds.value == expected else {
                throw GoogleAPIError(
                    .invalidArgument, reason: "expectedExpiryTimeMismatch",
                    "The expected expiry time is not that of the subscription.", location: "deferralInfo")
            }
            return try purchase.defer(to: Date(timeIntervalSince1970: Double(desired) / 1000), at: now)
        }
        return API.DeferResponseV1 { $0.newExpiryTimeMillis = purchase.expiryTime.playMilliseconds }
    }

    // MARK: - Orders and voided purchases

    private static let orders: [Endpoint<Handler>] = [
        get("/orders:batchGet", "orders.batchget") { call in
            let ids = call.query.values("orderIds")
            guard (1...1000).contains(ids.count), Set(ids.map { ExactString($0) }).count == ids.count else {
                throw GoogleAPIError.invalid("orderIds", "There should be 1 to 1000 orderIds, all different.")
            }
            return try await call.store.readPlayDatabase { records, _ in
                try API.BatchGetOrdersResponse { answer in answer.orders = try ids.map { try order($0, records) } }
            }
        },
        get("/orders/{orderId}", "orders.get") { call in
            let id = try call.name
            return try await call.store.readPlayDatabase { records, _ in try order(id, records) }
        },
        actions("/orders/{orderId}", "orders", ["refund": refund, "reviewrefund": reviewRefund]),
        get("/purchases/voidedpurchases", "purchases.voidedpurchases.list", voidedPurchases),
    ]

    private static func order(_ id: String, _ records: PlayDatabase) throws -> AndroidPublisher.Order {
        guard let order = try records.order(id) else { throw SimulatedAppStore.playOrderNotFound }
        return order
    }

    private static let refund: @Sendable (PlayCall) async throws -> (any PlayResource)? = { call in
        let revokes = try call.flag("revoke")
        try await call.store.refundPlayOrder(try call.name, revokes: revokes, source: 1)
        return nil
    }

    private static let reviewRefund: @Sendable (PlayCall) async throws -> (any PlayResource)? = { call in
        let body = try await call.body(as: API.ReviewRefundRequest.self)
        guard let token = body.pendingRefundToken else { throw GoogleAPIError.invalid("pendingRefundToken") }
        guard let preference = body.refundPreference, [.decline, .approve, .neutral].contains(preference) else {
            throw GoogleAPIError.invalid("refundPreference", "The refundPreference is missing or unknown.")
        }
        guard body.sampleContentProvided != nil else {
            throw GoogleAPIError.invalid("sampleContentProvided", "The member sampleContentProvided is missing.")
        }
        guard (0...100_000).contains(body.consumptionPercentageMilliunits ?? 0) else {
            throw GoogleAPIError.invalid(
                "consumptionPercentageMilliunits", "The consumed percentage should be 0 to 100000 thousandths.")
        }
        let events = body.consumptionUsageEvents ?? []
        guard events.count <= 1000, events.allSatisfy({ ($0.consumptionItemDescription ?? "").count <= 5000 }) else {
            throw GoogleAPIError.invalid(
                "consumptionUsageEvents", "There are more than 1000 events, or a text is too long.")
        }
        try await call.store.reviewPlayRefund(of: try call.name, token, preference)
        return nil
    }

    private static let voidedPurchases: @Sendable (PlayCall) async throws -> any PlayResource = { call in
        let limit = Int(try call.number("maxResults", in: 1...1000) ?? 1000)
        guard try call.number("startIndex", in: 0...Int64(UInt32.max)) ?? 0 == 0 else {
            throw GoogleAPIError.invalid("startIndex", "Pages are selected by token.")
        }
        let withSubscriptions = try call.number("type", in: 0...1) == 1
        let withPartial = try call.flag("includeQuantityBasedPartialRefund")
        let (start, end) = (
            try call.number("startTime", in: 0...Int64.max), try call.number("endTime", in: 0...Int64.max)
        )
        let token = try call.query["token"].map { text in
            guard let page = VoidedPage(text) else { throw GoogleAPIError.invalid("token") }
            return page
        }
        return try await call.store.readPlayDatabase { records, now in
            let page = try token ?? VoidedPage(start: start, end: end, at: now)
            let found = try records.voidedPurchases(
                from: page.start, to: page.end, withSubscriptions: withSubscriptions, withPartial: withPartial,
                after: page.after, limit: limit + 1)
            return API.VoidedPurchasesListResponse {
                $0.voidedPurchases = found.isEmpty ? nil : found.prefix(limit).map(\.purchase)
                guard found.count > limit else { return }
                var next = page
                next.after = found[limit - 1].number
                $0.tokenPagination = API.TokenPagination { $0.nextPageToken = next.text }
            }
        }
    }
}

/// A response without members.
private struct NoMembers: PlayResource {}

/// The place of a page in a list of voided purchases, and the text of its token.
private struct VoidedPage {
    var start: Date
    var end: Date
    var after: Int64 = 0

    /// Throws `GoogleAPIError` for times that Google does not allow: from 30 days ago until now.
    init(start: Int64?, end: Int64?, at now: Date) throws {
        let (latest, earliest) = (now.playMilliseconds.value, now.playMilliseconds.value - 30 * 86_400_000)
        guard (start ?? earliest) >= earliest, (start ?? earliest) <= latest else {
            throw GoogleAPIError.invalid("startTime", "The startTime should be within the last 30 days.")
        }
        guard (end ?? latest) <= latest else {
            throw GoogleAPIError.invalid("endTime", "The endTime should not be in the future.")
        }
        self.start = Date(timeIntervalSince1970: Double(start ?? earliest) / 1000)
        self.end = Date(timeIntervalSince1970: Double(end ?? latest) / 1000).addingTimeInterval(0.000999)
    }

    init?(_ text: String) {
        guard text.utf8.count <= 128, let bytes = Base64.decodeURL(text) else { return nil }
        let numbers = String(decoding: bytes, as: UTF8.self).split(separator: ".").compactMap { Int64($0) }
        guard numbers.count == 3, numbers[..<2].allSatisfy(ColumnRange.instant.contains), numbers[2] > 0 else {
            return nil
        }
        start = Date(microseconds: numbers[0])
        end = Date(microseconds: numbers[1])
        after = numbers[2]
    }

    var text: String { Base64.encodeURL("\(start.microseconds).\(end.microseconds).\(after)".utf8) }
}

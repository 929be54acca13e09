import Foundation
import GooglePlay
import HTTPCore
import Primitives
import StoreModel

/// A client of the Google Play Developer API for one app, over any `HTTPTransport`.
///
///     let client = GooglePlayClient(
///         configuration: .init(packageName: "com.example.darkroom", key: key), transport: CurlTransport())
///     let purchase = try await client.subscription(token)
///
/// Purchases are returned as the JSON that Google sent, with unknown members and with `etag`. Failures that may pass
/// are retried with ``Configuration/backoff``, except if Google's `Retry-After` is longer than the backoff allows. All
/// calls are idempotent. The methods throw `GooglePlayFailure`, or `CancellationError` if the task was cancelled.
package struct GooglePlayClient: Sendable {
    /// The URL of the API.
    package static let googleURL = "https://androidpublisher.googleapis.com"

    package struct Configuration: Sendable {
        package var packageName: PackageName
        /// The service account. Its access tokens come from its `tokenURI`.
        package var key: ServiceAccountKey
        /// The URL before Google's paths.
        package var baseURL: String
        /// The timeout of one attempt.
        package var timeout: Duration = .seconds(30)
        /// The number of attempts of a call, and the pauses between them.
        package var backoff = Backoff()
        /// The largest answer in bytes. A longer one is a failure.
        package var maximumAnswerBytes = 4 << 20
        /// The clock of the access tokens: real time, even with a simulator.
        package var clock: any WallClock = SystemClock()
        /// Returns a number from 0 to 1, which varies the pauses of different clients.
        package var random: @Sendable () -> Double = { Double.random(in: 0...1) }

        package init(
            packageName: PackageName, key: ServiceAccountKey, baseURL: String = GooglePlayClient.googleURL
        ) {
            self.packageName = packageName
            self.key = key
            self.baseURL = baseURL
        }
    }

    package let packageName: PackageName
    private let connection: GooglePlayConnection

    package init(configuration: Configuration, transport: any HTTPTransport) {
        packageName = configuration.packageName
        connection = GooglePlayConnection(configuration: configuration, transport: transport)
    }

    // MARK: - Purchases

    /// Gets a subscription (`purchases.subscriptionsv2.get`).
    package func subscription(_ token: PurchaseToken) async throws -> JSONValue {
        try await resource(
            "purchases.subscriptionsv2.get", ["purchases", "subscriptionsv2", "tokens", token.rawValue], token)
    }

    /// Gets a purchase of a one-time product (`purchases.productsv2.getproductpurchasev2`).
    package func product(_ token: PurchaseToken) async throws -> JSONValue {
        try await resource(
            "purchases.productsv2.getproductpurchasev2", ["purchases", "productsv2", "tokens", token.rawValue], token)
    }

    /// Gets an order (`orders.get`).
    package func order(_ id: String) async throws -> JSONValue {
        try await resource("orders.get", ["orders", id], nil)
    }

    /// Refunds an order (`orders.refund`). Google refuses an order that was refunded before.
    ///
    /// - Parameter revokes: Whether the purchase ends at once. Otherwise the customer keeps it.
    package func refund(_ order: String, revokes: Bool) async throws {
        try await connection.send(
            .init(
                id: "orders.refund", method: .post, path: ["orders", order], verb: "refund",
                query: [("revoke", "\(revokes)")]))
    }

    /// Answers the review of a chargeback (`orders.reviewrefund`). Google ignores a second answer.
    ///
    /// - Parameters:
    ///   - answer: The body without its token.
    ///   - token: The `pendingRefundToken` of the notification.
    package func reviewRefund(of order: String, _ answer: JSONValue, token: String) async throws {
        var body = answer
        body["pendingRefundToken"] = .string(token)
        try await connection.send(
            .init(
                id: "orders.reviewrefund", method: .post, path: ["orders", order], verb: "reviewrefund", body: body,
                secret: token))
    }

    private func resource(_ id: String, _ path: [String], _ token: PurchaseToken?) async throws -> JSONValue {
        let json = try await connection.send(.init(id: id, path: path, token: token))
        guard case .object = json else { throw GooglePlayFailure(malformed: "answer") }
        return json
    }

    // MARK: - Acknowledgement

    /// Acknowledges a subscription (`purchases.subscriptions.acknowledge`).
    package func acknowledgeSubscription(_ token: PurchaseToken, of product: ProductID) async throws {
        try await change("subscriptions", "acknowledge", token, product)
    }

    /// Acknowledges a purchase of a one-time product (`purchases.products.acknowledge`).
    package func acknowledgeProduct(_ token: PurchaseToken, of product: ProductID) async throws {
        try await change("products", "acknowledge", token, product)
    }

    /// Consumes a purchase of a one-time product, which also acknowledges it (`purchases.products.consume`). The
    /// customer can buy the product again.
    package func consume(_ token: PurchaseToken, of product: ProductID) async throws {
        try await change("products", "consume", token, product)
    }

    private func change(
        _ kind: String, _ verb: String, _ token: PurchaseToken, _ product: ProductID
    ) async throws {
        try await connection.send(
            .init(
                id: "purchases.\(kind).\(verb)", method: .post,
                path: ["purchases", kind, product.rawValue, "tokens", token.rawValue], verb: verb, token: token))
    }

    // MARK: - Voided purchases

    /// The largest number of voided purchases in one page.
    static let voidedPageSize = 1000

    /// Gets a page of the purchases of both kinds that were voided since `start`, by Google's clock
    /// (`purchases.voidedpurchases.list`). Google refuses a start of over 30 days ago, and lists 30 days without one.
    ///
    /// - Parameters:
    ///   - start: The beginning of the period; the same for all pages.
    ///   - page: The `nextPageToken` of the previous page; `nil` for the first page.
    package func voidedPurchases(
        since start: Date?, page: String? = nil
    ) async throws -> AndroidPublisher.VoidedPurchasesListResponse {
        var query = [
            ("type", "1"), ("maxResults", "\(Self.voidedPageSize)"), ("includeQuantityBasedPartialRefund", "true"),
        ]
        if let start {
            guard let milliseconds = Int64(exactly: (start.timeIntervalSince1970 * 1000).rounded(.down)) else {
                throw GooglePlayFailure(.refused, "The start of the period is not a date.")
            }
            query.append(("startTime", "\(milliseconds)"))
        }
        if let page { query.append(("token", page)) }
        let json = try await connection.send(
            .init(id: "purchases.voidedpurchases.list", path: ["purchases", "voidedpurchases"], query: query))
        do {
            return try WireJSON.decode(AndroidPublisher.VoidedPurchasesListResponse.self, from: json)
        } catch {
            throw GooglePlayFailure(malformed: "list of voided purchases")
        }
    }
}

import AppStorePayloads
import Foundation
import HTTPCore
import Primitives
import SignedData
import StoreModel

/// A client of Apple's App Store Server API and Retention Messaging API over any `HTTPTransport`, for the App Store, its sandbox or a simulator.
///
///     let client = AppStoreServerAPIClient(
///         configuration: .init(key: key, baseURL: AppStoreServerAPIClient.sandboxURL), transport: CurlTransport())
///     for try await transaction in client.transactionHistoryPages(of: "2000000012").items {
///         let verified = try verifier.transaction(transaction)
///     }
///
/// Each asynchronous method is one call of the API. The client does not verify the signed data in responses: use
/// `SignedDataVerifier`. Any transaction of a customer identifies the customer.
///
/// The asynchronous methods throw ``AppStoreServerAPIError``, or `CancellationError` if the task was cancelled.
/// Failures that may pass are retried with ``Configuration/backoff``. Requests for test notifications, extensions
/// without `requestIdentifier`, and most changes of Retention Messaging are not idempotent: they are retried only if the
/// App Store certainly did not act. If
/// the App Store's `Retry-After` is longer than the backoff allows, the call makes no further attempt, and the error's
/// `retryAfter` has that time.
public struct AppStoreServerAPIClient: Sendable {
    /// The URL of the API in production.
    public static let productionURL = "https://api.storekit.apple.com"
    /// The URL of the API in the sandbox.
    public static let sandboxURL = "https://api.storekit-sandbox.apple.com"

    /// The configuration of a client: its key, the URL of the API and the retries.
    public struct Configuration: Sendable {
        /// The key that signs the bearer tokens, each of which is used for at most 19 minutes.
        public var key: AppStoreConnectKey
        /// The URL before Apple's paths: ``AppStoreServerAPIClient/productionURL``,
        /// ``AppStoreServerAPIClient/sandboxURL``, or that of a simulator.
        public var baseURL: String
        /// The timeout of one attempt.
        public var timeout: Duration = .seconds(30)
        /// The number of attempts of a call, and the pauses between them.
        public var backoff = Backoff()
        /// The largest response in bytes. A longer one is an error.
        public var maximumAnswerBytes = 8 << 20
        /// The clock of the tokens: real time, even with a simulator.
        public var clock: any WallClock = SystemClock()
        /// Returns a number from 0 to 1, which varies the pauses of different clients.
        public var random: @Sendable () -> Double = { Double.random(in: 0...1) }

        /// Creates a configuration whose other values are the defaults.
        ///
        /// - Parameters:
        ///   - key: The key that signs the bearer tokens.
        ///   - baseURL: The URL before Apple's paths.
        public init(key: AppStoreConnectKey, baseURL: String = productionURL) {
            self.key = key
            self.baseURL = baseURL
        }
    }

    let connection: AppStoreServerAPIConnection

    /// Creates a client.
    ///
    /// - Parameters:
    ///   - configuration: The key, the URL of the API and the retries.
    ///   - transport: The transport of the requests.
    public init(configuration: Configuration, transport: any HTTPTransport) {
        connection = AppStoreServerAPIConnection(configuration: configuration, transport: transport)
    }

    // MARK: - Purchases

    /// Gets one transaction (Get Transaction Info).
    ///
    /// - Parameter transaction: The transaction.
    /// - Returns: The signed transaction.
    /// - Throws: ``AppStoreServerAPIError``, or `CancellationError`.
    public func transactionInfo(
        _ transaction: TransactionID
    ) async throws -> AppStoreServerAPI.TransactionInfoResponse {
        try await connection.request(.init(method: .get, path: ["v1", "transactions", transaction.rawValue]))
    }

    /// Gets the app transaction of a customer (Get App Transaction Info).
    ///
    /// - Parameter transaction: Any transaction of the customer.
    /// - Returns: The signed app transaction.
    /// - Throws: ``AppStoreServerAPIError``, or `CancellationError`.
    public func appTransactionInfo(
        _ transaction: TransactionID
    ) async throws -> AppStoreServerAPI.AppTransactionInfoResponse {
        try await connection.request(
            .init(method: .get, path: ["v1", "transactions", "appTransactions", transaction.rawValue]))
    }

    /// Gets up to 20 transactions of a customer (Get Transaction History).
    ///
    /// - Parameters:
    ///   - transaction: Any transaction of the customer.
    ///   - request: The filter and order of the transactions. It must be the same for all pages.
    ///   - revision: The revision of the previous page; `nil` for the first page.
    /// - Returns: The page.
    /// - Throws: ``AppStoreServerAPIError``, or `CancellationError`.
    public func transactionHistory(
        of transaction: TransactionID, _ request: AppStoreServerAPI.TransactionHistoryRequest = .init(),
        revision: String? = nil
    ) async throws -> AppStoreServerAPI.HistoryResponse {
        try await history("v2", transaction, request, revision)
    }

    /// Gets up to 20 transactions of a customer, except finished consumables (Get Transaction History V1). Apple
    /// deprecated it.
    ///
    /// - Parameters:
    ///   - transaction: Any transaction of the customer.
    ///   - request: The filter and order of the transactions. It must be the same for all pages.
    ///   - revision: The revision of the previous page; `nil` for the first page.
    /// - Returns: The page.
    /// - Throws: ``AppStoreServerAPIError``, or `CancellationError`.
    public func transactionHistoryV1(
        of transaction: TransactionID, _ request: AppStoreServerAPI.TransactionHistoryRequest = .init(),
        revision: String? = nil
    ) async throws -> AppStoreServerAPI.HistoryResponse {
        try await history("v1", transaction, request, revision)
    }

    private func history(
        _ version: String, _ transaction: TransactionID, _ request: AppStoreServerAPI.TransactionHistoryRequest,
        _ revision: String?
    ) async throws -> AppStoreServerAPI.HistoryResponse {
        try await connection.request(
            .init(
                method: .get, path: [version, "history", transaction.rawValue],
                query: request.query + Self.item("revision", revision)))
    }

    /// Gets the statuses of a customer's subscriptions (Get All Subscription Statuses).
    ///
    /// - Parameters:
    ///   - transaction: Any transaction of the customer.
    ///   - statuses: The statuses to return; all if empty.
    /// - Returns: The subscriptions by group.
    /// - Throws: ``AppStoreServerAPIError``, or `CancellationError`.
    public func subscriptionStatuses(
        of transaction: TransactionID, _ statuses: [AppStoreServerAPI.Status] = []
    ) async throws -> AppStoreServerAPI.StatusResponse {
        try await connection.request(
            .init(
                method: .get, path: ["v1", "subscriptions", transaction.rawValue],
                query: statuses.map { ("status", "\($0)") }))
    }

    /// Gets the transactions of an order (Look Up Order ID). For an unknown order, returns a response with the status
    /// `.invalid` and throws no error.
    ///
    /// - Parameter order: The order id on the customer's receipt.
    /// - Returns: The signed transactions.
    /// - Throws: ``AppStoreServerAPIError``, or `CancellationError`.
    public func lookUpOrder(_ order: String) async throws -> AppStoreServerAPI.OrderLookupResponse {
        try await connection.request(.init(method: .get, path: ["v1", "lookup", order]))
    }

    /// Gets up to 20 refunded transactions of a customer (Get Refund History).
    ///
    /// - Parameters:
    ///   - transaction: Any transaction of the customer.
    ///   - revision: The revision of the previous page, or of one stored earlier; `nil` for the first page.
    /// - Returns: The page.
    /// - Throws: ``AppStoreServerAPIError``, or `CancellationError`.
    public func refundHistory(
        of transaction: TransactionID, revision: String? = nil
    ) async throws -> AppStoreServerAPI.RefundHistoryResponse {
        try await connection.request(
            .init(
                method: .get, path: ["v2", "refund", "lookup", transaction.rawValue],
                query: Self.item("revision", revision)))
    }

    /// Gets up to 50 refunded transactions of a customer (Get Refund History V1). Apple no longer recommends it.
    ///
    /// - Parameter original: An original transaction of the customer.
    /// - Returns: The signed transactions.
    /// - Throws: ``AppStoreServerAPIError``, or `CancellationError`.
    public func refundHistoryV1(
        of original: TransactionID
    ) async throws -> AppStoreServerAPI.RefundLookupResponse {
        try await connection.request(.init(method: .get, path: ["v1", "refund", "lookup", original.rawValue]))
    }

    // MARK: - Changes

    /// Extends the renewal date of a subscription (Extend a Subscription Renewal Date). Repeated calls with the same
    /// `requestIdentifier` extend it only once.
    ///
    /// - Parameters:
    ///   - original: The original transaction of the subscription.
    ///   - request: The extension.
    /// - Returns: The new renewal date.
    /// - Throws: ``AppStoreServerAPIError``, or `CancellationError`.
    public func extendRenewalDate(
        of original: TransactionID, _ request: AppStoreServerAPI.ExtendRenewalDateRequest
    ) async throws -> AppStoreServerAPI.ExtendRenewalDateResponse {
        try await connection.request(
            .init(
                method: .put, path: ["v1", "subscriptions", "extend", original.rawValue], body: request.json,
                mayRepeat: request.requestIdentifier != nil))
    }

    /// Extends the renewal dates of a product's active subscribers (Extend Subscription Renewal Dates for All Active
    /// Subscribers). Repeated calls with the same `requestIdentifier` extend them only once.
    ///
    /// - Parameter request: The product and the extension.
    /// - Returns: The identifier of the request.
    /// - Throws: ``AppStoreServerAPIError``, or `CancellationError`.
    public func extendRenewalDates(
        _ request: AppStoreServerAPI.MassExtendRenewalDateRequest
    ) async throws -> AppStoreServerAPI.MassExtendRenewalDateResponse {
        try await connection.request(
            .init(
                method: .post, path: ["v1", "subscriptions", "extend", "mass"], body: request.json,
                mayRepeat: request.requestIdentifier != nil))
    }

    /// Gets the progress of an extension for all subscribers (Get Status of Subscription Renewal Date Extensions).
    ///
    /// - Parameters:
    ///   - requestIdentifier: The identifier of the extension.
    ///   - product: The product of the extension.
    /// - Returns: The progress.
    /// - Throws: ``AppStoreServerAPIError``, or `CancellationError`.
    public func statusOfExtension(
        _ requestIdentifier: String, of product: ProductID
    ) async throws -> AppStoreServerAPI.MassExtendRenewalDateStatusResponse {
        try await connection.request(
            .init(
                method: .get,
                path: ["v1", "subscriptions", "extend", "mass", product.rawValue, requestIdentifier]))
    }

    /// Sends consumption information, within 12 hours of the notification `CONSUMPTION_REQUEST` (Send Consumption
    /// Information).
    ///
    /// - Parameters:
    ///   - request: The consumption information.
    ///   - transaction: The transaction of the refund request.
    /// - Throws: ``AppStoreServerAPIError``, or `CancellationError`.
    public func sendConsumptionInformation(
        _ request: AppStoreServerAPI.ConsumptionRequest, of transaction: TransactionID
    ) async throws {
        try await connection.send(
            .init(
                method: .put, path: ["v2", "transactions", "consumption", transaction.rawValue], body: request.json))
    }

    /// Sends consumption information about a consumable (Send Consumption Information V1). Apple no longer recommends
    /// it.
    ///
    /// - Parameters:
    ///   - request: The consumption information.
    ///   - transaction: The transaction of the refund request.
    /// - Throws: ``AppStoreServerAPIError``, or `CancellationError`.
    public func sendConsumptionInformationV1(
        _ request: AppStoreServerAPI.ConsumptionRequestV1, of transaction: TransactionID
    ) async throws {
        try await connection.send(
            .init(
                method: .put, path: ["v1", "transactions", "consumption", transaction.rawValue], body: request.json))
    }

    /// Finishes a transaction whose product the customer has received (Finish Transaction).
    ///
    /// - Parameter transaction: The transaction.
    /// - Throws: ``AppStoreServerAPIError``, or `CancellationError`.
    public func finish(_ transaction: TransactionID) async throws {
        try await connection.send(
            .init(method: .post, path: ["v1", "transactions", transaction.rawValue, "finish"]))
    }

    /// Sets the app account token of a purchase (Set App Account Token).
    ///
    /// - Parameters:
    ///   - token: The token of the customer.
    ///   - original: The original transaction of the purchase.
    /// - Throws: ``AppStoreServerAPIError``, or `CancellationError`.
    public func setAppAccountToken(_ token: UUID, of original: TransactionID) async throws {
        try await connection.send(
            .init(
                method: .put, path: ["v1", "transactions", original.rawValue, "appAccountToken"],
                body: AppStoreServerAPI.UpdateAppAccountTokenRequest { $0.appAccountToken = token }.json))
    }

    // MARK: - Notifications

    /// Requests a test notification (Request a Test Notification).
    ///
    /// - Returns: The token for ``testNotificationStatus(_:)``.
    /// - Throws: ``AppStoreServerAPIError``, or `CancellationError`.
    public func requestTestNotification() async throws -> AppStoreServerAPI.SendTestNotificationResponse {
        try await connection.request(.init(method: .post, path: ["v1", "notifications", "test"], mayRepeat: false))
    }

    /// Gets the status of a test notification (Get Test Notification Status).
    ///
    /// - Parameter token: The token that ``requestTestNotification()`` returned.
    /// - Returns: The attempts to send the notification.
    /// - Throws: ``AppStoreServerAPIError``, or `CancellationError`.
    public func testNotificationStatus(
        _ token: String
    ) async throws -> AppStoreServerAPI.CheckTestNotificationResponse {
        try await connection.request(.init(method: .get, path: ["v1", "notifications", "test", token]))
    }

    /// Gets up to 20 notifications (Get Notification History).
    ///
    /// - Parameters:
    ///   - request: The period and filter of the notifications. It must be the same for all pages.
    ///   - paginationToken: The token of the previous page; `nil` for the first page.
    /// - Returns: The page.
    /// - Throws: ``AppStoreServerAPIError``, or `CancellationError`.
    public func notificationHistory(
        _ request: AppStoreServerAPI.NotificationHistoryRequest, paginationToken: String? = nil
    ) async throws -> AppStoreServerAPI.NotificationHistoryResponse {
        try await connection.request(
            .init(
                method: .post, path: ["v1", "notifications", "history"],
                query: Self.item("paginationToken", paginationToken), body: request.json))
    }

    private static func item(_ name: String, _ value: String?) -> [(String, String)] {
        value.map { [(name, $0)] } ?? []
    }
}

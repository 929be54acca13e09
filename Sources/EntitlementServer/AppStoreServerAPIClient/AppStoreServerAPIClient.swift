import AppStorePayloads
import Foundation
import HTTPCore
import Primitives
import SignedData
import StoreModel

/// Apple's App Store Server API, asked over any `HTTPTransport`: the App Store, its sandbox or a simulator.
///
///     let client = AppStoreServerAPIClient(
///         configuration: .init(key: key, baseURL: AppStoreServerAPIClient.sandboxURL), transport: CurlTransport())
///     for try await transaction in client.transactionHistoryPages(of: "2000000012").items {
///         let verified = try verifier.transaction(transaction)
///     }
///
/// Each method is one call, under Apple's name for it; answers are as they came, so what is signed in them is not
/// verified yet (`SignedDataVerifier`). Any transaction of a customer names the customer.
///
/// Throws `AppStoreServerAPIError`, or `CancellationError` when the task is cancelled. What may succeed later is asked
/// again within `backoff`; what must not be done twice, a test notification and an extension without
/// `requestIdentifier`, only when the App Store has surely not done it. When the App Store says how long to wait
/// (`Retry-After`) and that is longer than `backoff` allows, the error says until when.
public struct AppStoreServerAPIClient: Sendable {
    public static let productionURL = "https://api.storekit.apple.com"
    public static let sandboxURL = "https://api.storekit-sandbox.apple.com"

    public struct Configuration: Sendable {
        /// Signs the bearer tokens. One is used for 19 minutes.
        public var key: AppStoreConnectKey
        /// `productionURL`, `sandboxURL`, or a simulator's; Apple's paths are appended to it.
        public var baseURL: String
        /// How long one attempt may take.
        public var timeout: Duration = .seconds(30)
        public var backoff = Backoff()
        /// A longer answer is an error.
        public var maximumAnswerBytes = 8 << 20
        /// Real time, also with a simulator: tokens are judged by it.
        public var clock: any WallClock = SystemClock()
        /// A number from 0 to 1, which spreads the pauses of many clients.
        public var random: @Sendable () -> Double = { Double.random(in: 0...1) }

        public init(key: AppStoreConnectKey, baseURL: String = productionURL) {
            self.key = key
            self.baseURL = baseURL
        }
    }

    private let connection: AppStoreServerAPIConnection

    public init(configuration: Configuration, transport: any HTTPTransport) {
        connection = AppStoreServerAPIConnection(configuration: configuration, transport: transport)
    }

    // MARK: - Purchases

    /// Get Transaction Info.
    public func transactionInfo(
        _ transaction: TransactionID
    ) async throws -> AppStoreServerAPI.TransactionInfoResponse {
        try await connection.ask(.init(method: .get, path: ["v1", "transactions", transaction.rawValue]))
    }

    /// Get App Transaction Info: how the customer got the app itself.
    public func appTransactionInfo(
        _ transaction: TransactionID
    ) async throws -> AppStoreServerAPI.AppTransactionInfoResponse {
        try await connection.ask(
            .init(method: .get, path: ["v1", "transactions", "appTransactions", transaction.rawValue]))
    }

    /// Get Transaction History: up to 20 transactions of a customer. `revision` is the page before's; the request stays
    /// the same from page to page.
    public func transactionHistory(
        of transaction: TransactionID, _ request: AppStoreServerAPI.TransactionHistoryRequest = .init(),
        revision: String? = nil
    ) async throws -> AppStoreServerAPI.HistoryResponse {
        try await history("v2", transaction, request, revision)
    }

    /// Get Transaction History V1, without consumables that were finished. Apple no longer recommends it.
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
        try await connection.ask(
            .init(
                method: .get, path: [version, "history", transaction.rawValue],
                query: request.query + Self.item("revision", revision)))
    }

    /// Get All Subscription Statuses, or those with one of `statuses`.
    public func subscriptionStatuses(
        of transaction: TransactionID, _ statuses: [AppStoreServerAPI.Status] = []
    ) async throws -> AppStoreServerAPI.StatusResponse {
        try await connection.ask(
            .init(
                method: .get, path: ["v1", "subscriptions", transaction.rawValue],
                query: statuses.map { ("status", "\($0)") }))
    }

    /// Look Up Order ID: what was bought in the order that a customer's receipt names. An unknown order is an answer
    /// whose status is `.invalid`, not an error.
    public func lookUpOrder(_ order: String) async throws -> AppStoreServerAPI.OrderLookupResponse {
        try await connection.ask(.init(method: .get, path: ["v1", "lookup", order]))
    }

    /// Get Refund History: up to 20 refunded transactions of a customer. `revision` is the page before's, or one kept
    /// from the last time.
    public func refundHistory(
        of transaction: TransactionID, revision: String? = nil
    ) async throws -> AppStoreServerAPI.RefundHistoryResponse {
        try await connection.ask(
            .init(
                method: .get, path: ["v2", "refund", "lookup", transaction.rawValue],
                query: Self.item("revision", revision)))
    }

    /// Get Refund History V1: up to 50 refunded transactions of a customer. Apple no longer recommends it.
    public func refundHistoryV1(
        of original: TransactionID
    ) async throws -> AppStoreServerAPI.RefundLookupResponse {
        try await connection.ask(.init(method: .get, path: ["v1", "refund", "lookup", original.rawValue]))
    }

    // MARK: - What a server tells the App Store

    /// Extend a Subscription Renewal Date. Asked again, the same `requestIdentifier` extends once.
    public func extendRenewalDate(
        of original: TransactionID, _ request: AppStoreServerAPI.ExtendRenewalDateRequest
    ) async throws -> AppStoreServerAPI.ExtendRenewalDateResponse {
        try await connection.ask(
            .init(
                method: .put, path: ["v1", "subscriptions", "extend", original.rawValue], body: request.json,
                mayRepeat: request.requestIdentifier != nil))
    }

    /// Extend Subscription Renewal Dates for All Active Subscribers. Asked again, the same `requestIdentifier` extends
    /// once.
    public func extendRenewalDates(
        _ request: AppStoreServerAPI.MassExtendRenewalDateRequest
    ) async throws -> AppStoreServerAPI.MassExtendRenewalDateResponse {
        try await connection.ask(
            .init(
                method: .post, path: ["v1", "subscriptions", "extend", "mass"], body: request.json,
                mayRepeat: request.requestIdentifier != nil))
    }

    /// Get Status of Subscription Renewal Date Extensions.
    public func statusOfExtension(
        _ requestIdentifier: String, of product: ProductID
    ) async throws -> AppStoreServerAPI.MassExtendRenewalDateStatusResponse {
        try await connection.ask(
            .init(
                method: .get,
                path: ["v1", "subscriptions", "extend", "mass", product.rawValue, requestIdentifier]))
    }

    /// Send Consumption Information, within 12 hours of the notification `CONSUMPTION_REQUEST`.
    public func sendConsumptionInformation(
        _ request: AppStoreServerAPI.ConsumptionRequest, of transaction: TransactionID
    ) async throws {
        try await connection.send(
            .init(
                method: .put, path: ["v2", "transactions", "consumption", transaction.rawValue], body: request.json))
    }

    /// Send Consumption Information V1, about a consumable. Apple no longer recommends it.
    public func sendConsumptionInformationV1(
        _ request: AppStoreServerAPI.ConsumptionRequestV1, of transaction: TransactionID
    ) async throws {
        try await connection.send(
            .init(
                method: .put, path: ["v1", "transactions", "consumption", transaction.rawValue], body: request.json))
    }

    /// Finish Transaction: the customer has what was bought.
    public func finish(_ transaction: TransactionID) async throws {
        try await connection.send(
            .init(method: .post, path: ["v1", "transactions", transaction.rawValue, "finish"]))
    }

    /// Set App Account Token: whom a purchase belongs to, in the app's own books.
    public func setAppAccountToken(_ token: UUID, of original: TransactionID) async throws {
        try await connection.send(
            .init(
                method: .put, path: ["v1", "transactions", original.rawValue, "appAccountToken"],
                body: AppStoreServerAPI.UpdateAppAccountTokenRequest { $0.appAccountToken = token }.json))
    }

    // MARK: - Notifications

    /// Request a Test Notification.
    public func requestTestNotification() async throws -> AppStoreServerAPI.SendTestNotificationResponse {
        try await connection.ask(.init(method: .post, path: ["v1", "notifications", "test"], mayRepeat: false))
    }

    /// Get Test Notification Status. `token` is the answer's of `requestTestNotification`.
    public func testNotificationStatus(
        _ token: String
    ) async throws -> AppStoreServerAPI.CheckTestNotificationResponse {
        try await connection.ask(.init(method: .get, path: ["v1", "notifications", "test", token]))
    }

    /// Get Notification History: up to 20 notifications. `paginationToken` is the page before's; the request stays the
    /// same from page to page.
    public func notificationHistory(
        _ request: AppStoreServerAPI.NotificationHistoryRequest, paginationToken: String? = nil
    ) async throws -> AppStoreServerAPI.NotificationHistoryResponse {
        try await connection.ask(
            .init(
                method: .post, path: ["v1", "notifications", "history"],
                query: Self.item("paginationToken", paginationToken), body: request.json))
    }

    private static func item(_ name: String, _ value: String?) -> [(String, String)] {
        value.map { [(name, $0)] } ?? []
    }
}

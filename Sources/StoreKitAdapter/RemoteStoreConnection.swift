import Foundation
import HTTPCore
import Primitives
import StoreModel

/// A device at an App Store simulator, over HTTP.
///
/// It signs in to `account` and begins to listen at once. While the simulator is unreachable, requests throw a
/// `StoreFailure` with the code `unreachable`, and the connection tries to listen again with growing pauses. No update
/// is lost.
public final class RemoteStoreConnection: StoreConnection {
    /// The settings of a connection to a simulator.
    public struct Configuration: Sendable {
        /// The base URL of the simulator, for example `http://127.0.0.1:8080`.
        public var url: String
        /// The account at the store. It must exist.
        public var account: String
        /// The transport for all requests.
        public var transport: any HTTPTransport
        /// Waits for a duration, or throws if the task is cancelled.
        public var sleep: @Sendable (Duration) async throws -> Void
        /// The longest time that the simulator may hold a long poll open.
        public var pollWait: Duration
        /// The timeout of every other request.
        public var timeout: Duration

        /// Creates a configuration.
        ///
        /// - Parameters:
        ///   - url: The base URL of the simulator.
        ///   - account: The account at the store.
        ///   - transport: The transport for all requests.
        ///   - sleep: Waits for a duration, or throws if the task is cancelled.
        ///   - pollWait: The longest time that the simulator may hold a long poll open.
        ///   - timeout: The timeout of every other request.
        public init(
            url: String, account: String, transport: any HTTPTransport,
            sleep: @escaping @Sendable (Duration) async throws -> Void = { try await Task.sleep(for: $0) },
            pollWait: Duration = .seconds(20), timeout: Duration = .seconds(10)
        ) {
            self.url = url.hasSuffix("/") ? String(url.dropLast()) : url
            self.account = account
            self.transport = transport
            self.sleep = sleep
            self.pollWait = pollWait
            self.timeout = timeout
        }
    }

    public let updates: AsyncStream<StoreUpdate>
    private let configuration: Configuration
    private let streams: StoreStreams
    private let device: DeviceSession
    private let listener: Task<Void, Never>

    /// Creates a connection with the settings `configuration`. It begins to listen at once.
    public init(configuration: Configuration) {
        self.configuration = configuration
        let device = DeviceSession(configuration: configuration)
        let streams = StoreStreams()
        self.device = device
        self.streams = streams
        let (updates, continuation) = AsyncStream.makeStream(of: StoreUpdate.self)
        self.updates = updates
        listener = Task {
            await Self.listen(to: device, configuration: configuration, into: continuation, sendingTo: streams)
            continuation.finish()
            streams.finish()
        }
    }

    deinit { listener.cancel() }

    public func canMakePayments() async throws -> Bool {
        try await send(.get, "", as: StoreWire.Device.self).canMakePayments
    }

    public func storefront() async throws -> Storefront {
        try await send(.get, "", as: StoreWire.Device.self).storefront
    }

    public var storefrontUpdates: AsyncStream<Storefront> { streams.storefronts }

    public func products(_ ids: Set<ProductID>) async throws -> ProductAnswer {
        // Without ids, no request is sent, because a request without ids returns all products.
        var all = ProductAnswer(products: [])
        for query in Self.queries(for: ids) {
            let answer = try await send(.get, "/products?\(query)", as: ProductAnswer.self)
            all.products += answer.products
            all.invalidProductIDs += answer.invalidProductIDs
        }
        return all
    }

    /// The limit of a query in bytes, because servers limit the length of a request line.
    private static let longestQuery = 4096

    private static func queries(for ids: Set<ProductID>) -> [String] {
        ids.sorted().map { "id=\(PercentEncoding.encode($0.rawValue))" }.reduce(into: []) { queries, id in
            if let last = queries.last, last.utf8.count + id.utf8.count < longestQuery {
                queries[queries.count - 1] += "&" + id
            } else {
                queries.append(id)
            }
        }
    }

    public func add(_ payment: Payment) async throws {
        _ = try await send(.post, "/payments", payment, as: StoreWire.Accepted.self)
    }

    /// Redeems an offer code. Throws `unsupported` without a code, because the simulator has no sheet for it.
    ///
    /// - Parameter redemption: The code, and the customer's token.
    /// - Throws: `StoreFailure`; `CancellationError`.
    public func redeem(_ redemption: OfferCodeRedemption) async throws {
        guard redemption.code != nil else {
            throw StoreFailure(code: .unsupported, reason: "The simulator has no sheet for offer codes. Pass the code.")
        }
        _ = try await send(.post, "/offer-codes", redemption, as: JSONValue.self)
    }

    public var messages: AsyncStream<[StoreMessage]> { streams.messages }
    public var promotedPurchases: AsyncStream<PromotedPurchase> { streams.promotedPurchases }

    public func answer(_ message: StoreMessage.ID, with answer: StoreMessage.Answer) async throws {
        let path = "/messages/\(PercentEncoding.encode(message))"
        _ = try await send(.post, path, StoreWire.MessageAnswer(answer: answer), as: JSONValue.self)
    }

    public func finish(_ transaction: TransactionID) async throws {
        let id = PercentEncoding.encode(transaction.rawValue)
        _ = try await send(.post, "/transactions/\(id)/finish", as: JSONValue.self)
    }

    public func restore() async throws -> [StoreTransaction] {
        try await send(.post, "/restore", as: StoreWire.Transactions.self).transactions
    }

    public func ownedTransactions() async throws -> [StoreTransaction] {
        try await send(.get, "/owned-transactions", as: StoreWire.Transactions.self).transactions
    }

    public func receipt() async throws -> [UInt8]? {
        let answer = try await send(.get, "/receipt", as: StoreWire.Receipt.self)
        guard let receipt = Base64.decode(answer.receipt) else {
            throw StoreFailure(code: .unknown, reason: "The store's receipt is not base64.")
        }
        return receipt
    }

    /// Returns Apple's app transaction, signed for this device, as a JWS: how the customer got the app.
    ///
    /// - Throws: `StoreFailure`; `CancellationError`.
    public func appTransaction() async throws -> String {
        let path = "/app-transaction"
        return try await send(.get, path, as: StoreWire.AppTransaction.self).signedAppTransaction
    }

    public func isEligibleForIntroductoryOffer(subscriptionGroupID: String) async throws -> Bool {
        // The path of an empty group would be another one.
        guard !subscriptionGroupID.isEmpty else { return false }
        let path = "/introductory-offers/\(PercentEncoding.encode(subscriptionGroupID))"
        return try await send(.get, path, as: StoreWire.IntroductoryOfferEligibility.self).isEligible
    }

    public func close() async {
        listener.cancel()
        await listener.value
    }

    private static func path(of device: StoreWire.Device) -> String {
        "/devices/\(PercentEncoding.encode(device.deviceID))"
    }

    /// Sends a request to the device's path. If the simulator was reset and does not know the device, signs in again and
    /// repeats the request once.
    private func send<Answer: Decodable>(
        _ method: HTTPRequest.Method, _ path: String, _ body: (any Encodable & Sendable)? = nil, as type: Answer.Type
    ) async throws -> Answer {
        let known = try await device.current()
        do {
            return try await send(method, path, body, of: known, as: type)
        } catch let failure as StoreFailure where failure.code == .unknownDevice {
            await device.forget(known)
            return try await send(method, path, body, of: try await device.current(), as: type)
        }
    }

    private func send<Answer: Decodable>(
        _ method: HTTPRequest.Method, _ path: String, _ body: (any Encodable & Sendable)?, of device: StoreWire.Device,
        as type: Answer.Type
    ) async throws -> Answer {
        try await configuration.send(
            method, Self.path(of: device) + path, body, as: type, timeout: configuration.timeout)
    }

    private static func listen(
        to device: DeviceSession, configuration: Configuration, into updates: AsyncStream<StoreUpdate>.Continuation,
        sendingTo streams: StoreStreams
    ) async {
        var cursor: String?
        var storefront: Storefront?
        var signedIn: StoreWire.Device?
        var failures = 0
        while !Task.isCancelled {
            do {
                let current = try await device.current()
                if current.deviceID != signedIn?.deviceID {
                    cursor = nil
                    storefront = nil
                }
                signedIn = current
                if storefront == nil {
                    storefront = current.storefront
                    streams.send(current.storefront)
                }
                var query = "wait=\(configuration.pollWait.inSeconds)"
                if let cursor { query += "&after=\(PercentEncoding.encode(cursor))" }
                if let storefront { query += "&storefront=\(PercentEncoding.encode(storefront.id))" }
                let answer = try await configuration.send(
                    .get, "\(path(of: current))/updates?\(query)", nil, as: StoreWire.Updates.self,
                    timeout: configuration.pollWait + configuration.timeout)
                if let now = answer.storefront {
                    storefront = now
                    streams.send(now)
                }
                streams.send(answer.messages ?? [])
                for promoted in answer.promotedPurchases ?? [] {
                    if let taken = try await configuration.take(promoted, at: path(of: current)) { streams.send(taken) }
                }
                for update in answer.updates.compactMap(\.storeUpdate) { updates.yield(update) }
                cursor = answer.cursor
                failures = 0
            } catch {
                if let signedIn, (error as? StoreFailure)?.code == .unknownDevice { await device.forget(signedIn) }
                failures += 1
                try? await configuration.sleep(.milliseconds(100 << min(failures - 1, 6)))
            }
        }
    }
}

extension Duration {
    fileprivate var inSeconds: Double { Double(components.seconds) + Double(components.attoseconds) / 1e18 }
}

extension StoreFailure.Code {
    fileprivate static var unknownDevice: Self { Self(rawValue: "unknownDevice") }
}

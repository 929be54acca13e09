import Foundation
import Primitives
import StoreKitAdapter
import StoreModel

extension SimulatedAppStore {
    /// Signs in a device and connects it without HTTP.
    ///
    /// - Parameter account: The account.
    /// - Returns: The connection.
    /// - Throws: `SimulatorError` (`unknownAccount`).
    public func connection(account: AccountName) async throws -> InProcessStoreConnection {
        InProcessStoreConnection(store: self, device: DeviceID(unchecked: try await signIn(account: account).deviceID))
    }

    /// Connects a device that is already signed in, for example when the app is launched again.
    ///
    /// - Parameter device: The device.
    /// - Returns: The connection.
    /// - Throws: `SimulatorError` (`unknownDevice`).
    public func connection(device: DeviceID) throws -> InProcessStoreConnection {
        _ = try self.device(device)
        return InProcessStoreConnection(store: self, device: device)
    }
}

/// The connection of a device to a simulated store in the same process.
public final class InProcessStoreConnection: StoreConnection {
    /// The id of the device.
    public let device: DeviceID
    /// The updates for the device.
    public let updates: AsyncStream<StoreUpdate>
    private let store: SimulatedAppStore
    private let streams: StoreStreams
    private let listener: Task<Void, Never>

    init(store: SimulatedAppStore, device: DeviceID) {
        self.store = store
        self.device = device
        let (updates, continuation) = AsyncStream.makeStream(of: StoreUpdate.self)
        self.updates = updates
        let streams = StoreStreams()
        self.streams = streams
        if let storefront = try? store.device(device).storefront { streams.send(storefront) }
        listener = Task {
            await Self.listen(to: store, device, into: continuation, reportingTo: streams)
            continuation.finish()
            streams.finish()
        }
    }

    deinit { listener.cancel() }

    public func canMakePayments() async throws -> Bool {
        try await convertingErrors { try await store.state(of: device).canMakePayments }
    }

    public func storefront() async throws -> Storefront {
        try await convertingErrors { try await store.state(of: device).storefront }
    }

    public var storefrontUpdates: AsyncStream<Storefront> { streams.storefronts }
    public var messages: AsyncStream<[StoreMessage]> { streams.messages }
    public var promotedPurchases: AsyncStream<PromotedPurchase> { streams.promotedPurchases }

    public func products(_ ids: Set<ProductID>) async throws -> ProductAnswer {
        guard !ids.isEmpty else { return ProductAnswer(products: []) }
        return try await convertingErrors { try await store.products(ids.sorted(), for: device) }
    }

    public func add(_ payment: Payment) async throws {
        try await convertingErrors { try await store.add(payment, from: device) }
    }

    public func redeem(_ redemption: OfferCodeRedemption) async throws {
        try await convertingErrors { try await store.redeem(redemption, from: device) }
    }

    public func answer(_ message: StoreMessage.ID, with answer: StoreMessage.Answer) async throws {
        try await convertingErrors { try await store.answer(message, with: answer, from: device) }
    }

    public func finish(_ transaction: TransactionID) async throws {
        try await convertingErrors { try await store.finish(transaction, from: device) }
    }

    public func restore() async throws -> [StoreTransaction] {
        try await convertingErrors { try await store.restore(for: device) }
    }

    public func ownedTransactions() async throws -> [StoreTransaction] {
        try convertingErrors { try store.ownedTransactions(of: device) }
    }

    public func receipt() async throws -> [UInt8]? {
        try await convertingErrors {
            try await store.applyInjectedFaults(to: .receipt)
            return try await store.receipt(of: device)
        }
    }

    /// Returns the app transaction of the account, signed for this device.
    ///
    /// - Returns: A JWS of `AppTransaction`.
    /// - Throws: `StoreFailure`.
    public func appTransaction() async throws -> String {
        try convertingErrors { try store.appTransaction(of: device) }
    }

    public func isEligibleForIntroductoryOffer(subscriptionGroupID: String) async throws -> Bool {
        try convertingErrors { try store.isEligibleForIntroductoryOffer(inGroup: subscriptionGroupID, for: device) }
    }

    public func close() async {
        listener.cancel()
        await listener.value
    }

    private func convertingErrors<Value>(_ call: () async throws -> Value) async throws -> Value {
        do { return try await call() } catch { throw Self.failure(error) }
    }

    private func convertingErrors<Value>(_ call: () throws -> Value) throws -> Value {
        do { return try call() } catch { throw Self.failure(error) }
    }

    /// Converts an error of the store to the errors of `StoreConnection`.
    private static func failure(_ error: any Error) -> any Error {
        switch error {
        case is CancellationError, is StoreFailure: error
        case let error as SimulatorError: StoreFailure(code: .init(rawValue: error.code.rawValue), reason: error.reason)
        default: StoreFailure(code: .unreachable, reason: "The store cannot answer: \(error)")
        }
    }

    /// Passes the device's updates on until the task is cancelled, the store is closed or the device is
    /// signed out.
    private static func listen(
        to store: SimulatedAppStore, _ device: DeviceID, into updates: AsyncStream<StoreUpdate>.Continuation,
        reportingTo streams: StoreStreams
    ) async {
        var cursor: String?
        var storefront: Storefront?
        while !Task.isCancelled, !store.signal.isClosed {
            do {
                let answer = try await store.updates(
                    for: device, after: cursor, wait: store.configuration.longestWait, storefront: storefront?.id)
                guard !Task.isCancelled else { return }
                if let current = answer.storefront {
                    storefront = current
                    streams.send(current)
                }
                streams.send(answer.messages ?? [])
                for promoted in answer.promotedPurchases ?? [] {
                    do {
                        streams.send(try await store.takePromotedPurchase(of: promoted.productID, for: device))
                    } catch let error as SimulatorError where error.code == .unknownPromotedPurchase {
                        // Another device of the account has already taken it.
                    }
                }
                for update in answer.updates.compactMap(\.storeUpdate) { updates.yield(update) }
                cursor = answer.cursor
            } catch let error as SimulatorError where error.code == .unknownDevice {
                return
            } catch {
                let base = store.configuration.baseClock
                try? await base.sleep(until: base.now().addingTimeInterval(0.1))
            }
        }
    }
}

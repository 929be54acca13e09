import ContractSuites
import Foundation
import Primitives
import StoreModel
import StoreTestSupport
import Testing

@testable import StoreKitAdapter

struct StoreKitPaymentsTests {
    @Test(arguments: [false, true])
    func `the contract of connections holds over a store that answers the caller`(reportsTwice: Bool) async throws {
        let (store, storage) = (DirectStore(reportsTwice: reportsTwice), MemorySecureStorage())
        let contract = StoreConnectionContract(pack: "pack", coins: "coins") {
            DirectStoreConnection(store: store, storage: storage)
        }
        let leftOut = try await contract.verify()
        #expect(leftOut.first == "renewal" && leftOut.count == 11, "only the app can act on this store")
        #expect(store.unfinished.isEmpty)
    }

    @Test func `a payment that cannot be written to the journal is not bought`() async throws {
        let store = DirectStore()
        let connection = DirectStoreConnection(store: store, storage: FullStorage())
        var updates = connection.updates.makeAsyncIterator()
        try await connection.add(Payment(id: "p", productID: "pack"))
        #expect(await updates.next()?.state == .purchasing)
        guard case .failed(let failure)? = await updates.next()?.state else {
            Issue.record("the payment did not fail")
            return
        }
        #expect(failure.code == .systemError)
        #expect(store.sold.isEmpty)
        await connection.close()
    }

    @Test func `an unreadable journal does not prevent a purchase`() async throws {
        let storage = MemorySecureStorage()
        try storage.set(Array("no journal".utf8), for: "storekit.payments")
        let connection = DirectStoreConnection(store: DirectStore(), storage: storage)
        var updates = connection.updates.makeAsyncIterator()
        try await connection.add(Payment(id: "p", productID: "pack"))
        _ = await updates.next()
        guard case .purchased? = await updates.next()?.state else {
            Issue.record("nothing was bought")
            return
        }
        await connection.close()
    }

    @Test func `a purchase made after its connection closed is found in the next run, under its payment`() async throws
    {
        let (store, storage) = (DirectStore(), MemorySecureStorage())
        let (sheet, opened) = (Promise<Void>(), Gate())
        let first = DirectStoreConnection(
            store: store, storage: storage,
            sheet: {
                opened.open()
                try? await sheet.value()
            })
        var updates = first.updates.makeAsyncIterator()
        try await first.add(Payment(id: "p", productID: "pack"))
        #expect(await updates.next()?.state == .purchasing)
        try await opened.pass()
        await first.close()
        #expect(await updates.next() == nil)
        sheet.resolve(.success(()))
        await store.untilSold()

        let second = DirectStoreConnection(store: store, storage: storage)
        var later = second.updates.makeAsyncIterator()
        let update = try #require(await later.next())
        #expect(update.paymentID == "p")
        guard case .purchased(let transaction, _) = update.state else {
            Issue.record("the purchase was not reported as bought: \(update)")
            return
        }
        try await second.finish(transaction.id)
        #expect(store.unfinished.isEmpty)
        await second.close()
    }
    // MARK: - Files of a release

    private static let releases = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .appendingPathComponent("../../Releases").standardized.path

    /// `SOUK_WRITE_DEVICE_STATE=FOLDER` lets `Scripts/make-fixtures` write the journal of a release.
    @Test(.enabled(if: ProcessInfo.processInfo.environment["SOUK_WRITE_DEVICE_STATE"] != nil))
    func `a journal with one payment bought and one begun is written`() async throws {
        let folder = try #require(ProcessInfo.processInfo.environment["SOUK_WRITE_DEVICE_STATE"])
        let storage = MemorySecureStorage()
        let connection = DirectStoreConnection(store: DirectStore(), storage: storage)
        var updates = connection.updates.makeAsyncIterator()
        try await connection.add(Payment(id: "bought", productID: "coins"))
        _ = await updates.next()
        guard case .purchased? = await updates.next()?.state else {
            Issue.record("nothing was bought")
            return
        }
        await connection.close()
        let waiting = DirectStoreConnection(
            store: DirectStore(), storage: storage, sheet: { try? await untilCancelled() })
        updates = waiting.updates.makeAsyncIterator()
        try await waiting.add(Payment(id: "begun", productID: "pack"))
        #expect(await updates.next()?.state == .purchasing)
        await waiting.close()
        let journal = try #require(try storage.data(for: "storekit.payments"))
        try Data(journal).write(to: URL(fileURLWithPath: folder + "/storekit.payments.json"))
    }

    @Test(arguments: ((try? FileManager.default.contentsOfDirectory(atPath: releases)) ?? []).sorted())
    func `a payment that was begun before an update is found after it, and none is made twice`(
        version: String
    ) async throws {
        let file = "\(Self.releases)/\(version)/device/storekit.payments.json"
        let (store, storage) = (DirectStore(), MemorySecureStorage())
        try storage.set(Array(Data(contentsOf: URL(fileURLWithPath: file))), for: "storekit.payments")
        for product: ProductID in ["coins", "pack"] { store.buy(Payment(id: "elsewhere", productID: product)) }
        _ = store.finish("100")
        let connection = DirectStoreConnection(store: store, storage: storage)
        var updates = connection.updates.makeAsyncIterator()
        let update = try #require(await updates.next())
        #expect(update.paymentID == "begun")
        guard case .purchased = update.state else {
            Issue.record("the purchase was not reported as bought: \(update)")
            return
        }
        try await connection.add(Payment(id: "bought", productID: "coins"))
        _ = await updates.next()
        #expect(store.sold.count == 2, "the coins were paid before the update")
        await connection.close()
    }
}

private struct FullStorage: SecureStorage {
    struct NoRoom: Error {}

    func data(for key: String) throws -> [UInt8]? { nil }
    func set(_ data: [UInt8]?, for key: String) throws { throw NoRoom() }
}

/// A store that returns a purchase to its caller, as StoreKit does, and has no ids for payments.
private final class DirectStore: Sendable {
    private struct State {
        var sold: [StoreTransaction] = []
        var finished: Set<TransactionID> = []
        var listeners: [AsyncStream<StoreTransaction>.Continuation] = []
        var waiting: [CheckedContinuation<Void, Never>] = []
    }

    let reportsTwice: Bool
    private let state = Locked(State())

    init(reportsTwice: Bool = false) { self.reportsTwice = reportsTwice }

    var sold: [StoreTransaction] { state.withLock { $0.sold } }
    var unfinished: [StoreTransaction] {
        state.withLock { state in state.sold.filter { !state.finished.contains($0.id) } }
    }

    /// Sends the unfinished transactions to each listener first, as StoreKit does.
    func listen() -> AsyncStream<StoreTransaction> {
        let (stream, continuation) = AsyncStream.makeStream(of: StoreTransaction.self)
        state.withLock { state in
            for transaction in state.sold where !state.finished.contains(transaction.id) {
                continuation.yield(transaction)
            }
            state.listeners.append(continuation)
        }
        return stream
    }

    func sells(_ product: ProductID) -> Bool { ["pack", "coins"].contains(product) }

    func latest(_ product: ProductID) -> StoreTransaction? {
        product == "pack" ? state.withLock { $0.sold.first { $0.productID == "pack" } } : nil
    }

    @discardableResult
    func buy(_ payment: Payment) -> StoreTransaction {
        let owned = latest(payment.productID)
        let (transaction, waiting) = state.withLock { state in
            let waiting = state.waiting
            state.waiting = []
            if let owned { return (owned, waiting) }
            let id = TransactionID(unchecked: "\(100 + state.sold.count)")
            let bought = StoreTransaction(
                id: id, originalID: id, productID: payment.productID,
                kind: payment.productID == "pack" ? .nonConsumable : .consumable, purchaseDate: .distantPast,
                quantity: payment.quantity, appAccountToken: payment.appAccountToken, reason: .purchase,
                signedTransaction: "signed")
            state.sold.append(bought)
            if reportsTwice { for listener in state.listeners { listener.yield(bought) } }
            return (bought, waiting)
        }
        for continuation in waiting { continuation.resume() }
        return transaction
    }

    func finish(_ id: TransactionID) -> Bool {
        state.withLock { state in
            state.sold.contains { $0.id == id } && state.finished.insert(id).inserted
        }
    }

    /// Consumables are forgotten after they are finished.
    func find(_ id: TransactionID) -> StoreTransaction? {
        state.withLock { state in
            state.sold.first { $0.id == id && ($0.kind == .nonConsumable || !state.finished.contains(id)) }
        }
    }

    func untilSold() async {
        await withCheckedContinuation { continuation in
            let isSold = state.withLock { state in
                if state.sold.isEmpty { state.waiting.append(continuation) }
                return !state.sold.isEmpty
            }
            if isSold { continuation.resume() }
        }
    }
}

/// `StoreKitConnection` with another store instead of StoreKit. The parts that decide and act are the same.
private final class DirectStoreConnection: StoreConnection {
    let updates: AsyncStream<StoreUpdate>
    private let store: DirectStore
    private let payments: StoreKitPayments
    private let listeners: [Task<Void, Never>]
    private let streams = StoreStreams()

    init(
        store: DirectStore, storage: (any SecureStorage)? = nil, list: Gate? = nil,
        sleep: @escaping @Sendable (Duration) async throws -> Void = { _ in try await untilCancelled() },
        sheet: @escaping @Sendable () async -> Void = {}
    ) {
        let (updates, reports) = AsyncStream.makeStream(of: StoreUpdate.self)
        let payments = StoreKitPayments(
            queries: StoreKitQueries(
                product: { payment in
                    guard store.sells(payment.productID) else { return nil }
                    return {
                        await sheet()
                        return .bought(StoreKitTransaction(transaction: store.buy(payment)) { nil })
                    }
                },
                latest: { store.latest($0) },
                find: { store.find($0).map { StoreKitTransaction(transaction: $0) { nil } } },
                finish: { store.finish($0) }),
            storage: storage, reports: reports, timeouts: StoreKitTimeouts(sleep: sleep))
        let (stream, unfinished) = (store.listen(), store.unfinished)
        listeners = [
            Task { for await transaction in stream { await payments.handle(.updated(transaction)) } },
            Task {
                if let list { try? await list.pass() }
                for transaction in unfinished { await payments.handle(.unfinished(transaction)) }
                await payments.handle(.listed)
            },
        ]
        self.updates = updates
        self.store = store
        self.payments = payments
        streams.send(Self.home)
    }

    private static let home = Storefront(countryCode: "USA", id: "143441", locale: "en_US", currency: "USD")

    func canMakePayments() async throws -> Bool { true }
    func storefront() async throws -> Storefront { Self.home }
    var storefrontUpdates: AsyncStream<Storefront> { streams.storefronts }
    func products(_ ids: Set<ProductID>) async throws -> ProductAnswer {
        let sold = ids.intersection(["pack", "coins"]).sorted().map {
            StoreProduct(id: $0, kind: .consumable, price: Price(amount: 1, currency: "USD"))
        }
        return ProductAnswer(products: sold, invalidProductIDs: ids.subtracting(sold.map(\.id)).sorted())
    }
    func add(_ payment: Payment) async throws { await payments.handle(.add(payment)) }
    func finish(_ transaction: TransactionID) async throws { try await payments.finish(transaction) }
    func restore() async throws -> [StoreTransaction] { store.sold.filter { $0.kind == .nonConsumable } }
    func receipt() async throws -> [UInt8]? { nil }
    func close() async {
        for listener in listeners { listener.cancel() }
        await payments.close()
        streams.finish()
    }
}

import Foundation
import Observation
import Primitives
import StoreKitAdapter
import StoreModel

/// An app's store. It sells the products of a product list, and provides the features and products that the customer
/// may use.
///
/// Create one store when the app launches, and share it. The store fetches prices, and presents unacknowledged
/// purchases of earlier launches to the server. Creating a second store on the same storage throws while the first one
/// exists. The entitlement server decides which purchases are valid. A transaction is finished at the App Store only
/// after the server has acknowledged it.
///
///     let store = try Store(configuration: StoreConfiguration(productListPath: "products.json"))
///     try await store.purchaseProduct("com.example.darkroom.pro.monthly")
///     store.allowedProducts
///
/// Read the state at any time, or iterate over `snapshots`. The store is observable: a SwiftUI view that reads
/// `allowedProducts` is updated when they change.
public final class Store: ProductsInfoProvider, ProductsManager, Observable {
    let coordinator: StoreCoordinator
    /// The products that the store manages.
    public let list: ProductList
    let queue: PaymentQueue
    let requests: ProductRequest
    let content: any ContentManager
    let credits: (any CreditService)?
    let offers: (any OfferService)?
    let variants: VariantSelector
    let answerPromotion: @Sendable (PromotedPurchase, ListedProduct, StoreSnapshot) async -> PromotedPurchaseAnswer
    /// The promoted purchases that the app postponed.
    let postponed = Locked<[PromotedPurchase]>([])
    let newlyPostponed = EventBroadcaster<PromotedPurchase>()
    /// Whether the next `currentAnswer()` requests a new answer from the server, even if the last one is still valid.
    let isAnswerInvalid = Locked(false)
    private let connection: any StoreConnection
    private let lock: StoreLock
    private let completions = EventBroadcaster<StoreTransaction>()
    private let work = Locked<[Task<Void, Never>]>([])
    /// The task that presents the purchases that the current customer owns at the App Store.
    private let presenting = Locked<Task<Void, Never>?>(nil)
    /// The products that were already reported because the App Store does not sell them.
    let unsold = Locked<Set<ProductID>>([])

    /// Creates a store with the settings `configuration`, and starts it.
    ///
    /// - Parameter configuration: The settings.
    /// - Throws: `PurchaseError` if a setting is missing, the product list cannot be read or is malformed, or the
    ///   storage is in use or cannot be read.
    public init(configuration: StoreConfiguration) throws {
        let parts = try configuration.resolved()
        list = parts.productList
        lock = try StoreLock(configuration.storageName, storage: parts.storage)
        let coordinator = try StoreCoordinator(
            list: parts.productList, customer: configuration.customer, validator: parts.validator,
            localVerifier: configuration.localVerifier, siblings: parts.siblings, storage: parts.storage,
            clock: configuration.clock, sleep: configuration.sleep, timeLimits: configuration.timeLimits,
            log: configuration.log)
        self.coordinator = coordinator
        connection = parts.connection
        requests = parts.products
        content = parts.contentManager
        credits = parts.credits
        offers = parts.offers
        variants = configuration.variantSelector
        answerPromotion = configuration.promotedPurchases
        queue = PaymentQueue(
            configuration: .init(
                connection: parts.connection, products: parts.products, makePaymentID: configuration.makePaymentID,
                sleep: configuration.sleep, pause: configuration.retryPause)
        ) { await coordinator.deliver($0) }
        let begin = Task { [queue, requests, list] in
            await coordinator.start()
            await queue.start()
            async let owned: Void = coordinator.presentOwned(through: queue)
            await Self.prefetch(list, requests, reportingTo: coordinator)
            await owned
        }
        let relay = Task { [queue, completions] in
            for await completion in queue.completions {
                if let transaction = completion.completedTransaction { completions.send(transaction) }
                if let event = StoreEvent(completion) { coordinator.report(event) }
            }
        }
        let storefronts = Task { [requests] in
            for await storefrontRevision in await requests.storefrontRevisions() {
                await coordinator.setStorefront(storefrontRevision)
            }
        }
        let contents = Task { [content] in
            for await _ in content.changes { await coordinator.updateContent(from: content) }
        }
        let promotions = Task { [weak self, promoted = parts.connection.promotedPurchases] in
            for await promoted in promoted { await self?.handlePromotedPurchase(promoted) }
        }
        work.withLock { $0 = [begin, relay, storefronts, contents, promotions] }
    }

    deinit { for task in tasks { task.cancel() } }

    private var tasks: [Task<Void, Never>] {
        work.withLock { $0 } + (presenting.withLock { $0 }.map { [$0] } ?? [])
    }

    /// Stops the store. Waiting calls end with an error. Unfinished transactions stay at the App Store for the next
    /// launch.
    public func close() async {
        await queue.shutDown()
        await content.close()
        await connection.close()
        for task in tasks {
            task.cancel()
            await task.value
        }
        await coordinator.close()
        completions.finish()
        newlyPostponed.finish()
        lock.release()
    }

    public var snapshot: StoreSnapshot { coordinator.snapshotPublisher.snapshot }
    public var snapshots: AsyncStream<StoreSnapshot> { coordinator.snapshotPublisher.snapshots.stream(keeping: 100) }
    /// The events of the store. The first reader also receives the newest 1000 earlier events.
    public var events: AsyncStream<StoreEvent> { coordinator.events.stream() }
    public var completedTransactions: AsyncStream<StoreTransaction> { completions.stream() }
    /// The customer who owns the purchases.
    public var customer: CustomerID { coordinator.owner.customer }

    public func isMultiAppSubscription(_ productIdentifier: String) -> Bool {
        guard let siblings = coordinator.siblings, let product = ProductID(rawValue: productIdentifier) else {
            return false
        }
        return siblings.isMultiApp(product)
    }

    /// Logs a customer in. Purchases and requests are for this customer from now on. Purchases of this customer that
    /// waited while another one was logged in are presented to the server. Purchases that the customer owns at the App
    /// Store are presented later, without a prompt.
    ///
    /// - Parameter customer: The customer to log in.
    /// - Throws: `PurchaseError`: `operationCancelled`, or `receiptValidationFailed` if the server is unreachable. The
    ///   customer is logged in anyway, and the request is repeated later.
    public func logIn(_ customer: CustomerID) async throws {
        defer { presentOwned() }
        try await coordinator.logIn(customer) { [queue] in await queue.customerChanged() }
    }

    private func presentOwned() {
        let task = Task { [coordinator, queue] in await coordinator.presentOwned(through: queue) }
        presenting.withLock { current in
            current?.cancel()
            current = task
        }
    }

    /// Logs the customer out. Purchases and requests are for the anonymous customer of this device from now on.
    ///
    /// - Throws: `PurchaseError`: `storageFailed` if the id of the anonymous customer cannot be read; `events` reports
    ///   that too.
    public func logOut() async throws {
        do {
            try await coordinator.logOut { [queue] in await queue.customerChanged() }
        } catch {
            coordinator.report(
                StoreEvent(
                    kind: .criticalError, code: .storageFailed,
                    sentence: "The customer could not be logged out on this device: \(error)"))
            throw error
        }
    }

    /// Reports a transaction that no caller waits for.
    func complete(_ transaction: StoreTransaction) { completions.send(transaction) }
}

extension StoreCoordinator {
    /// The features that the customer paid for, computed from the server's last answer and the current time.
    nonisolated var paidFeatures: PaidFeatures {
        state.customer(at: now).map { PaidFeatures($0) } ?? PaidFeatures()
    }
}

import Foundation
import Observation
import Primitives
import StoreKitAdapter
import StoreModel

/// An app's store: sells what is in its product list, and knows what the customer may use.
///
/// Make one, early, and share it: prices are fetched in every run, and purchases of earlier runs that nobody has
/// acknowledged are presented again at once. A second store on the same storage is refused while the first lives.
/// What was bought is true only when the entitlement server says so; a transaction is finished at the store only after
/// the server has acknowledged it.
///
///     let store = try Store(configuration: StoreConfiguration(productListPath: "products.json"))
///     try await store.purchaseProduct("com.example.darkroom.pro.monthly")
///     store.allowedProducts
///
/// What is known can be read at any moment, followed as `snapshots`, and observed: a SwiftUI view that reads
/// `allowedProducts` is drawn again when they change.
public final class Store: ProductsInfoProvider, ProductsManager, Observable {
    let keeper: StoreKeeper
    /// The products that are sold here.
    public let list: ProductList
    let queue: PaymentQueue
    let requests: ProductRequest
    let content: any ContentManager
    let credits: (any CreditService)?
    let variants: VariantSelector
    let answerPromotion: @Sendable (PromotedPurchase, ListedProduct, StoreSnapshot) async -> PromotedPurchaseAnswer
    /// What the customer began in the App Store and the app put off.
    let postponed = Locked<[PromotedPurchase]>([])
    let newlyPostponed = Happenings<PromotedPurchase>()
    /// Whether the server is asked before the next answer, though its last one has not ended.
    let isAnswerInvalid = Locked(false)
    private let connection: any StoreConnection
    private let claim: StoreClaim
    private let completions = Happenings<StoreTransaction>()
    private let work = Locked<[Task<Void, Never>]>([])
    /// Presents what the customer who logged in last owns.
    private let presenting = Locked<Task<Void, Never>?>(nil)
    /// Products that were told of because the store does not sell them.
    let unsold = Locked<Set<ProductID>>([])

    /// Throws `PurchaseError`: a setting is missing, the product list cannot be read or is malformed, the storage is in use.
    public init(configuration: StoreConfiguration) throws {
        let parts = try configuration.resolved()
        list = parts.productList
        claim = try StoreClaim(configuration.storageName, storage: parts.storage)
        let keeper = try StoreKeeper(
            list: parts.productList, customer: configuration.customer, validator: parts.validator,
            localVerifier: configuration.localVerifier, siblings: parts.siblings, storage: parts.storage,
            clock: configuration.clock, sleep: configuration.sleep, patience: configuration.patience,
            log: configuration.log)
        self.keeper = keeper
        connection = parts.connection
        requests = parts.products
        content = parts.contentManager
        credits = parts.credits
        variants = configuration.variantSelector
        answerPromotion = configuration.promotedPurchases
        queue = PaymentQueue(
            configuration: .init(
                connection: parts.connection, products: parts.products, makePaymentID: configuration.makePaymentID,
                sleep: configuration.sleep, pause: configuration.retryPause)
        ) { await keeper.deliver($0) }
        let begin = Task { [queue, requests, list] in
            await keeper.start()
            await queue.start()
            async let owned: Void = keeper.presentOwned(through: queue)
            await Self.prefetch(list, requests, telling: keeper)
            await owned
        }
        let relay = Task { [queue, completions] in
            for await completion in queue.completions {
                if let transaction = completion.completedTransaction { completions.send(transaction) }
                if let event = StoreEvent(completion) { keeper.report(event) }
            }
        }
        let storefronts = Task { [requests] in
            for await visit in await requests.visited() { await keeper.enter(visit) }
        }
        let contents = Task { [content] in
            for await _ in content.changes { await keeper.look(at: content) }
        }
        let promotions = Task { [weak self, promoted = parts.connection.promotedPurchases] in
            for await promoted in promoted { await self?.meet(promoted) }
        }
        work.withLock { $0 = [begin, relay, storefronts, contents, promotions] }
    }

    deinit { for task in tasks { task.cancel() } }

    private var tasks: [Task<Void, Never>] {
        work.withLock { $0 } + (presenting.withLock { $0 }.map { [$0] } ?? [])
    }

    /// Ends listening; whoever waits is answered, what is unfinished stays at the store for the next launch.
    public func close() async {
        await queue.shutDown()
        await content.close()
        await connection.close()
        for task in tasks {
            task.cancel()
            await task.value
        }
        await keeper.close()
        completions.finish()
        newlyPostponed.finish()
        claim.release()
    }

    // MARK: - What is known

    public var snapshot: StoreSnapshot { keeper.board.snapshot }
    public var snapshots: AsyncStream<StoreSnapshot> { keeper.board.snapshots.stream(keeping: 100) }
    /// What happened; the first reader also gets what happened before, from the making of the store on.
    public var events: AsyncStream<StoreEvent> { keeper.happenings.stream() }
    public var completedTransactions: AsyncStream<StoreTransaction> { completions.stream() }
    /// Whose purchases these are.
    public var customer: CustomerID { keeper.owner.customer }

    public func isMultiAppSubscription(_ productIdentifier: String) -> Bool {
        guard let siblings = keeper.siblings, let product = ProductID(rawValue: productIdentifier) else { return false }
        return siblings.isMultiApp(product)
    }

    /// Somebody logs in: purchases are made for, and answers asked about, this customer from now on. What of theirs had
    /// to wait while somebody else was there is presented to the server. What they own at the App Store is presented
    /// later, by itself, without asking them anything.
    ///
    /// Throws `receiptValidationFailed` when the server cannot be asked about them now; they are logged in all the same,
    /// and the server is asked again by itself.
    public func logIn(_ customer: CustomerID) async throws {
        defer { presentOwned() }
        try await keeper.logIn(customer) { [queue] in await queue.customerChanged() }
    }

    private func presentOwned() {
        let task = Task { [keeper, queue] in await keeper.presentOwned(through: queue) }
        presenting.withLock { current in
            current?.cancel()
            current = task
        }
    }

    /// The customer leaves; the anonymous one of this device takes over. Throws `storageFailed` when that one has no
    /// readable id; `events` has that too.
    public func logOut() async throws {
        do {
            try await keeper.logOut { [queue] in await queue.customerChanged() }
        } catch {
            keeper.report(
                StoreEvent(
                    kind: .criticalError, code: .storageFailed,
                    sentence: "The customer who logged out could not be forgotten on this device: \(error)"))
            throw error
        }
    }

    /// Tells of a transaction that nobody waits for.
    func complete(_ transaction: StoreTransaction) { completions.send(transaction) }
}

extension StoreKeeper {
    /// What the customer paid for, as the server's last answer and the clock say.
    nonisolated var paidFeatures: PaidFeatures {
        state.customer(at: now).map { PaidFeatures($0) } ?? PaidFeatures()
    }
}

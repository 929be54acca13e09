import Foundation
import Primitives
import Purchases
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
public final class Store: ProductsInfoProvider, ProductsManager {
    let keeper: StoreKeeper
    let list: ProductList
    private let queue: PaymentQueue
    private let requests: ProductRequest
    private let connection: any StoreConnection
    private let claim: StorageClaim
    private let completions = Broadcast<StoreTransaction>()
    private let work = Locked<[Task<Void, Never>]>([])

    /// Throws `StoreError`: a setting is missing, the product list cannot be read or is malformed, the storage is in use.
    public init(configuration: StoreConfiguration) throws {
        list = try configuration.resolvedProductList()
        claim = try StorageClaim(configuration.storageName)
        let connection = try configuration.resolvedConnection()
        let keeper = try StoreKeeper(
            state: StoreState(
                list: list, grace: configuration.gracePeriod.inSeconds,
                validationInterval: configuration.validationInterval.inSeconds),
            customer: configuration.customer, validator: configuration.resolvedValidator(),
            storage: configuration.resolvedStorage(), clock: configuration.clock)
        self.connection = connection
        self.keeper = keeper
        let requests = ProductRequest(connection: connection)
        self.requests = requests
        queue = PaymentQueue(
            configuration: .init(
                connection: connection, products: requests, makePaymentID: configuration.makePaymentID,
                sleep: configuration.sleep,
                pause: configuration.retryPause)
        ) { await keeper.deliver($0) }
        let begin = Task { [queue, list] in
            await keeper.start()
            await queue.start()
            // Prices are fetched in every run; who asks for them later shares this request or repeats it.
            let sold = Set(list.products.filter { !$0.isSubscribersOnly }.map(\.id))
            _ = try? await Self.ask(requests, for: sold, telling: keeper)
        }
        let relay = Task { [queue, completions] in
            for await completion in queue.completions {
                if let transaction = completion.completedTransaction { completions.send(transaction) }
                if let event = StoreEvent(completion) { keeper.report(event) }
            }
        }
        let locale = Task { [storefronts = connection.storefrontUpdates] in
            for await storefront in storefronts { await keeper.set(locale: storefront.locale) }
        }
        work.withLock { $0 = [begin, relay, locale] }
    }

    deinit { for task in work.withLock({ $0 }) { task.cancel() } }

    /// Ends listening; whoever waits is answered, what is unfinished stays at the store for the next launch.
    public func close() async {
        await queue.shutDown()
        await connection.close()
        for task in work.withLock({ $0 }) {
            task.cancel()
            await task.value
        }
        await keeper.close()
        completions.finish()
        claim.release()
    }

    // MARK: - What is known

    public var snapshot: StoreSnapshot { keeper.snapshot() }
    public var snapshots: AsyncStream<StoreSnapshot> { keeper.snapshots.stream(keeping: 100) }
    /// What happened without anybody having asked; what was found when the store was made comes first.
    public var events: AsyncStream<StoreEvent> { keeper.events }
    public var completedTransactions: AsyncStream<StoreTransaction> { completions.stream() }
    /// Whose purchases these are.
    public var customer: CustomerID { keeper.owner.customer }

    /// Somebody logs in: purchases are made for, and answers asked about, this customer from now on. What of theirs had
    /// to wait while somebody else was there is presented to the server.
    ///
    /// Throws `receiptValidationFailed` when the server cannot be asked about them now; they are logged in all the same,
    /// and the server is asked again by itself.
    public func logIn(_ customer: CustomerID) async throws {
        try await keeper.logIn(customer) { [queue] in await queue.customerChanged() }
    }

    /// The customer leaves; the anonymous one of this device takes over. Throws `storageFailed` when that one has no
    /// readable id.
    public func logOut() async throws {
        try await keeper.logOut { [queue] in await queue.customerChanged() }
    }

    // MARK: - Buying

    public func purchaseProduct(_ productIdentifier: String) async throws {
        try await purchase(productIdentifier, quantity: 1, offer: nil)
    }

    public func purchaseConsumableProduct(_ productIdentifier: String, quantity: Int) async throws {
        try await purchaseConsumable(productIdentifier, quantity: quantity)
    }

    @discardableResult
    func purchaseConsumable(_ productIdentifier: String, quantity: Int) async throws -> StoreTransaction? {
        guard (1...10).contains(quantity) else {
            throw StoreError(.invalidQuantityForPurchasing, "A purchase is of 1 to 10, not of \(quantity).")
        }
        guard try listed(productIdentifier).productType == .consumable else {
            throw StoreError(.invalidProductForPurchasing, "\"\(productIdentifier)\" is not a consumable.")
        }
        return try await purchase(productIdentifier, quantity: quantity, offer: nil)
    }

    /// Buys, and returns the store's transaction; `nil` when a subscription gave the product and nothing was paid.
    @discardableResult
    func purchase(_ productIdentifier: String, quantity: Int, offer: PaymentOffer?) async throws -> StoreTransaction? {
        let product = try listed(productIdentifier)
        if product.isSubscribersOnly {
            try await keeper.acquire(product.id)
            return nil
        }
        let owner = keeper.owner
        let answer = await queue.purchase(
            product.id, quantity: quantity,
            appAccountToken: owner.isAnonymous ? nil : owner.customer.appAccountToken, offer: offer)
        if case .failed(let error) = answer.outcome { throw Self.purchaseError(error) }
        return answer.transaction
    }

    private func listed(_ identifier: String) throws -> ListedProduct {
        guard let product = ProductID(rawValue: identifier).flatMap({ list[$0] }) else {
            throw StoreError(.invalidProductForPurchasing, "\"\(identifier)\" is not in the product list.")
        }
        return product
    }

    private static func purchaseError(_ error: any Error) -> any Error {
        if error is ProductRequestError { return error }
        guard let error = error as? PaymentError else {
            return StoreError(.purchaseFailed, "The purchase failed.", underlying: error)
        }
        let refusal = (error.underlying as? StoreFailure)?.code
        let code: StoreError.Code =
            switch error.code {
            case .cancelled, .customerChanged: .operationCancelled
            case .deferred: .purchaseDeferred
            case .acknowledgementPending: .acknowledgementPending
            case _ where refusal == .notAllowed: .purchaseNotAllowed
            default: .purchaseFailed
            }
        let detail = (error.underlying as? StoreError)?.sentence
        return StoreError(code, detail ?? error.sentence, underlying: error)
    }

    // MARK: - Restoring and validating

    public func refreshReceipt() async throws { try await restorePurchases() }

    @discardableResult
    public func restorePurchases() async throws -> RestoreResult {
        do {
            let transactions = try await queue.restore()
            // That there is nothing is the store's answer; what the server says besides is welcome, not needed.
            if transactions.isEmpty { try? await keeper.refresh() }
            return RestoreResult(
                restored: Array(Set(transactions.map(\.productID.rawValue))).sorted(),
                paidFeatures: keeper.paidFeatures, nothingToRestore: transactions.isEmpty)
        } catch let error as PaymentError {
            let code: StoreError.Code =
                error.code == .cancelled || error.code == .customerChanged
                ? .operationCancelled
                : error.code == .acknowledgementPending ? .acknowledgementPending : .restorePurchasesFailed
            throw StoreError(code, error.sentence, underlying: error)
        }
    }

    public func validateReceipt() async throws { try await keeper.refresh() }

    public func validateTransaction(_ transactionIdentifier: String) async throws {
        guard let id = TransactionID(rawValue: transactionIdentifier) else {
            throw Self.unknownTransaction(transactionIdentifier)
        }
        do {
            try await queue.redeliver(id)
        } catch let error as PaymentError where error.code == .unknownTransaction {
            throw Self.unknownTransaction(transactionIdentifier)
        } catch {
            throw Self.purchaseError(error)
        }
    }

    private static func unknownTransaction(_ identifier: String) -> StoreError {
        StoreError(.invalidTransactionIdentifier, "\"\(identifier)\" is not an unfinished transaction.")
    }

    public func acquireAllEnabledProducts() async throws {
        try await keeper.acquireAll()
    }

    // MARK: - Products

    public func productList() async throws -> [StoreProduct] {
        let sold = Set(list.products.filter { !$0.isSubscribersOnly && $0.fullPriceProduct == nil }.map(\.id))
        return try await Self.ask(requests, for: sold, telling: keeper).products
    }

    public func fetchProductsInfo(_ productIdentifiers: Set<String>) async throws -> [String: StoreProduct] {
        let unknown = productIdentifiers.filter { ProductID(rawValue: $0).flatMap { list[$0] } == nil }
        guard unknown.isEmpty else {
            throw StoreError(
                .invalidProductIdentifier, "Not in the product list: \(unknown.sorted().joined(separator: ", ")).")
        }
        let asked = Set(productIdentifiers.compactMap(ProductID.init(rawValue:)))
        let sold = asked.filter { list[$0]?.isSubscribersOnly == false }
        let products = try await Self.ask(requests, for: sold, telling: keeper).products
        return Dictionary(products.map { ($0.id.rawValue, $0) }, uniquingKeysWith: { first, _ in first })
    }

    /// Asks for products, and tells the keeper in which storefront they are sold.
    private static func ask(
        _ requests: ProductRequest, for ids: Set<ProductID>, telling keeper: StoreKeeper
    ) async throws -> ProductAnswer {
        let answer = try await requests.products(ids)
        if let storefront = await requests.storefront { await keeper.set(locale: storefront.locale) }
        return answer
    }

    public func fetchProductContent(_ productIdentifier: String) -> AsyncThrowingStream<ContentProgress, any Error> {
        AsyncThrowingStream { $0.finish(throwing: Self.contentUnsupported) }
    }

    public func deleteProductContent(_ productIdentifier: String) async throws { throw Self.contentUnsupported }

    private static let contentUnsupported = StoreError(
        .unsupported, "Fetching the content of products is not built yet; sell products without content.")
}

extension StoreKeeper {
    /// What the customer paid for, as the server's last answer and the clock say.
    nonisolated var paidFeatures: PaidFeatures {
        state.customer(at: now).map { PaidFeatures($0) } ?? PaidFeatures()
    }
}

/// The right to be the one store on a storage, held while the store lives.
private final class StorageClaim: Sendable {
    private static let taken = Locked<Set<String>>([])
    private let name: String
    private let isHeld = Locked(true)

    init(_ name: String) throws {
        self.name = name
        guard Self.taken.withLock({ $0.insert(name).inserted }) else {
            isHeld.withLock { $0 = false }
            throw StoreError(
                .alreadyInUse, "A store named \"\(name)\" is running already; share it, or give this one another name.")
        }
    }

    deinit { release() }

    func release() {
        let wasHeld = isHeld.withLock { held in
            defer { held = false }
            return held
        }
        if wasHeld { Self.taken.withLock { _ = $0.remove(name) } }
    }
}

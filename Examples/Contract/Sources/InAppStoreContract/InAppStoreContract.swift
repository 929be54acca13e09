import InAppStore

func store() throws -> Store {
    var configuration = StoreConfiguration(productListPath: "products.json")
    configuration.connection = nil
    configuration.validator = nil
    configuration.storage = nil
    configuration.transport = nil
    configuration.environment["SOUK_STORE_URL"] = "http://127.0.0.1:8080"
    return try Store(configuration: configuration)
}

func information(_ provider: any ProductsInfoProvider) async {
    let sets: [Set<String>] = [
        provider.allowedProducts, provider.purchasedProducts, provider.acquiredViaSubscriptionProducts,
        provider.acquiredProducts, provider.downloadedContentProducts,
    ]
    _ = (sets, provider.subscriptionInfo, provider.receiptValidationStatus, provider.appStoreLocale)
    for await snapshot in provider.snapshots { _ = snapshot }
}

func management(_ manager: any ProductsManager) async throws {
    try await manager.purchaseProduct("a")
    try await manager.purchaseConsumableProduct("b", quantity: 2)
    _ = try await manager.refreshReceipt()
    let restored: RestoreResult = try await manager.restorePurchases()
    let (products, nothing): ([String], Bool) = (restored.restored, restored.nothingToRestore)
    _ = try await manager.validateReceipt()
    _ = try await manager.validateTransaction("1")
    _ = try await manager.acquireAllEnabledProducts()
    let progress: AsyncThrowingStream<ContentProgress, any Error> = manager.fetchProductContent("a")
    for try await step in progress { _ = step }
    try await manager.deleteProductContent("a")
    let list: [StoreProduct] = try await manager.productList()
    let info: [String: StoreProduct] = try await manager.fetchProductsInfo(["a"])
    for await transaction: StoreTransaction in manager.completedTransactions { _ = transaction }
    _ = (products, nothing, list, info)
}

func provides(_ store: Store) -> (any ProductsInfoProvider, any ProductsManager) { (store, store) }

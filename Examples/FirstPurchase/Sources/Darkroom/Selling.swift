import InAppStore

/// Prints each product with its price, or with a note if the customer may use it.
func showShop(_ store: Store) async throws {
    try? await store.validateReceipt()
    for product in try await store.productList() {
        let isOurs = store.allowedProducts.contains(product.id.rawValue)
        print("\(product.displayName): \(isOurs ? "yours" : product.displayPrice)")
    }
}

func buy(_ product: String, from store: Store) async throws {
    try await store.purchaseProduct(product)
    print("\(product) was bought.")
}

func unlockEverything(in store: Store) async throws {
    try await store.acquireAllEnabledProducts()
    print("Unlocked: \(store.acquiredViaSubscriptionProducts.sorted().joined(separator: ", ")).")
}

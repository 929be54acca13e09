import InAppStore

/// Prints the products that the customer may use, and the subscription, also offline.
func showWhatIsOurs(_ store: Store) async {
    try? await store.validateReceipt()
    let snapshot = store.snapshot
    for product in snapshot.allowedProducts.sorted() { print("open: \(product)") }
    if let subscription = snapshot.subscriptionInfo, !subscription.isExpired {
        print("subscribed: \(subscription.productID)")
    }
    if snapshot.receiptValidationStatus?.failingSince != nil { print("offline: this is what was last known") }
}

func restore(_ store: Store) async throws {
    let result = try await store.restorePurchases()
    if result.nothingToRestore {
        print("There is nothing to restore.")
    } else {
        print("Restored: \(result.restored.joined(separator: ", ")).")
    }
}

/// Waits until the server has acknowledged a purchase of an earlier run.
func completePurchase(of product: String, in store: Store) async {
    for await transaction in store.completedTransactions where transaction.productID.rawValue == product {
        print("\(product) is complete now.")
        break
    }
}

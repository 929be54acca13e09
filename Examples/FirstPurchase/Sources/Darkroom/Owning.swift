import InAppStore

/// What the customer may use now, whether or not anybody can be asked.
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

/// Waits for a purchase of an earlier run that the server could not acknowledge then.
func completePurchases(_ store: Store) async {
    for await transaction in store.completedTransactions {
        print("\(transaction.productID) is complete now.")
        break
    }
}

import StoreModel

/// The product sets of seed 001, computed from what is known at one instant. Pure: nobody is asked, nothing is kept.
///
/// All of them name products as they count (`ProductList.base(of:)`): a variant as its product, a discount as the product
/// at full price.
package struct ProductSets: Sendable, Equatable {
    /// Bought, and not taken back.
    package let purchased: Set<String>
    /// Acquired on this device through a subscription, and what comes with a subscription by itself. Not all of it need be
    /// allowed.
    package let acquiredViaSubscription: Set<String>
    /// The union of the two.
    package let acquired: Set<String>
    /// What the app must give access to: what was bought, what is acquired from the start, and of what was acquired
    /// through a subscription that which the active one enables.
    package let allowed: Set<String>
    /// Products with all their content on the device, those without any content included.
    package let downloadedContent: Set<String>

    /// - Parameters:
    ///   - list: `nil` when no list could be had. Then a subscriber keeps all that was ever acquired: a fault of the list
    ///     must not lock out who pays. With an empty list only what was bought is allowed.
    ///   - purchased: what the customer bought and still owns.
    ///   - acquiredViaSubscription: what was acquired on this device.
    ///   - subscription: the product of the active subscription; `nil` without one.
    ///   - downloadedContent: the products whose content was downloaded.
    package init(
        list: ProductList?, purchased: Set<ProductID>, acquiredViaSubscription: Set<ProductID>,
        subscription: ProductID?, downloadedContent: Set<ProductID> = []
    ) {
        let known = list ?? ProductList([])
        let acquired = acquiredViaSubscription.union(known.preAcquiredViaSubscription)
        var allowed = purchased.union(known.preAcquired)
        if let subscription {
            allowed.formUnion(list?.enabled(among: acquired, by: subscription) ?? acquired)
        }
        func names(_ ids: Set<ProductID>) -> Set<String> { Set(ids.lazy.map { known.base(of: $0).rawValue }) }
        self.purchased = names(purchased)
        self.acquiredViaSubscription = names(acquired)
        self.acquired = self.acquiredViaSubscription.union(self.purchased)
        self.allowed = names(allowed)
        self.downloadedContent = known.withoutContent.union(names(downloadedContent))
    }
}

import StoreModel

/// The sets of products that the store reports, computed from the state at one instant, without side effects.
///
/// In place of variants and discounts, all sets contain their base products (`ProductList.base(of:)`).
package struct ProductSets: Sendable, Equatable {
    /// Products that were bought and not revoked.
    package let purchased: Set<String>
    /// Products that were acquired on this device through a subscription, and those that subscribers acquire
    /// automatically. An acquired product is allowed only while a subscription enables it.
    package let acquiredViaSubscription: Set<String>
    /// The union of `purchased` and `acquiredViaSubscription`.
    package let acquired: Set<String>
    /// The products that the app must give access to: bought products, products that are acquired from the start, and
    /// products acquired through a subscription while the active subscription enables them.
    package let allowed: Set<String>
    /// Products whose content is completely on the device, including those without content.
    package let downloadedContent: Set<String>

    /// Computes the sets.
    ///
    /// - Parameters:
    ///   - list: The product list; `nil` if it is unavailable. A subscriber then keeps all acquired products, so that a
    ///     missing list takes no access from a paying customer. With an empty list, only bought products are allowed.
    ///   - purchased: The products that the customer bought and still owns.
    ///   - acquiredViaSubscription: The products that were acquired on this device.
    ///   - subscription: The product of the active subscription; `nil` without one.
    ///   - downloadedContent: The products whose content was downloaded.
    package init(
        list: ProductList?, purchased: Set<ProductID>, acquiredViaSubscription: Set<ProductID>,
        subscription: ProductID?, downloadedContent: Set<ProductID> = []
    ) {
        let known = list ?? ProductList([])
        let acquired = acquiredViaSubscription.union(known.preAcquiredViaSubscription)
        func names(_ ids: Set<ProductID>) -> Set<String> { Set(ids.lazy.map { known.base(of: $0).rawValue }) }
        let always = names(purchased.union(known.preAcquired))
        if let subscription {
            // Without a list, a subscription enables everything.
            let bases = list?.bases(of: acquired, enabledBy: subscription)
            self.acquiredViaSubscription = bases?.all ?? names(acquired)
            allowed = (bases?.enabled ?? self.acquiredViaSubscription).union(always)
        } else {
            self.acquiredViaSubscription = names(acquired)
            allowed = always
        }
        self.purchased = names(purchased)
        self.acquired = self.acquiredViaSubscription.union(self.purchased)
        self.downloadedContent = known.withoutContent.union(names(downloadedContent))
    }
}
